"""Judges programs: a list of [language, text] as JSON on standard input, an answer as JSON on standard output.

Python is judged by `ast.parse`, SQL by sqlite, which explains the statement in an empty database. That a name is not
known there, or used as it cannot be, is found behind the parser and is no objection. An answer has an `objection`, or names
what in it is `beyond` sqlite's syntax, or neither.
"""

import ast
import json
import re
import sqlite3
import sys
import warnings

# What sqlite says of statements that its parser has read to their end.
BEHIND_THE_PARSER = re.compile(
    "no such (table|column|function|collation sequence|window)\\b|ambiguous column name\\b|misuse of|"
    "wrong number of arguments to function|DISTINCT aggregates must have|DISTINCT is not supported for window|"
    "Incorrect number of bindings|Binding \\d+ has no name|You did not supply a value for binding|"
    "table .* has \\d+ columns but|\\d+ values for \\d+ columns|row value misused|sub-select returns|"
    "no tables specified|a GROUP BY clause is required|.* may not be used as a window function|"
    "SELECTs to the left and right of|all VALUES must have the same number|circular reference|"
    "cannot join using column|a NATURAL join may not have|recursive reference in a subquery|"
    "(\\d+(st|nd|rd|th) )?(ORDER|GROUP) BY term|HAVING clause on a non-aggregate|multiple recursive references|"
    "aggregate functions are not allowed|IN\\(...\\) element has"
)


def python(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            return {"objection": f"{type(error).__name__}: {error}"}
    return {}


def sql(text):
    if ";" in [match[0] for match in TOKEN.finditer(text) if not match["blank"]][:-1]:
        return {"objection": "more than one statement"}
    objection = sqlite(text)
    if objection is None:
        return {}
    rewritten, beyond = without_what_sqlite_lacks(text)
    if beyond and sqlite(rewritten) is None:
        return {"beyond": beyond}
    return {"objection": objection}


def sqlite(text):
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("EXPLAIN " + text)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        return None if BEHIND_THE_PARSER.match(str(error)) else str(error)
    finally:
        connection.close()
    return None


TOKEN = re.compile(
    r"(?P<blank>\s+|--[^\n]*|/\*.*?\*/)|'(?:[^']|'')*'|"
    r"(?P<name>\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|[^\W\d]\w*)|[\d.]*\d[\w.]*|.",
    re.DOTALL,
)
SET_OPERATORS = {"UNION", "INTERSECT", "EXCEPT"}


def without_what_sqlite_lacks(text):
    """`text` in sqlite's words, and the names of what it has that sqlite does not know.

    A query in parentheses where a query must be becomes `SELECT*FROM` and the same; of a name of three parts two stay.
    """
    tokens = [match for match in TOKEN.finditer(text) if not match["blank"]]
    words = [match[0].upper() for match in tokens]
    word = lambda index: words[index] if 0 <= index < len(words) else ""
    closing, open_ones = {}, []
    for index, one in enumerate(words):
        if one == "(":
            open_ones.append(index)
        elif one == ")" and open_ones:
            closing[open_ones.pop()] = index
    edits, beyond, members = [], set(), set()
    for index, one in enumerate(words):
        if one == "(":
            first = index
            while word(first) == "(":
                first += 1
            before, behind = word(index - 1), word(closing.get(index, len(words)) + 1)
            target = index - 1
            while word(target - 1) == ".":
                target -= 2
            is_member = word(first) in {"SELECT", "WITH", "VALUES"} and (
                before in SET_OPERATORS | {"", ")", "ALL"}
                or word(target - 1) == "INTO"
                or before == "(" and (index - 1 in members or behind in SET_OPERATORS | {"ORDER", "LIMIT"})
                or before == "(" and word(index - 2) in {"AS", "EXISTS"}
            )
            if is_member:
                members.add(index)
                edits.append((tokens[index].start(), tokens[index].start(), " SELECT*FROM"))
                beyond.add("a query in parentheses where a query must be")
        elif tokens[index]["name"] and word(index + 1) == word(index + 3) == "." and word(index - 1) != ".":
            edits.append((tokens[index].start(), tokens[index + 2].start(), ""))
            beyond.add("a name of three parts")
    for start, end, by in reversed(edits):
        text = text[:start] + by + text[end:]
    return text, sorted(beyond)


def main():
    judges = {"python": python, "sql": sql}
    verdicts = [judges[language](text) for language, text in json.load(sys.stdin)]
    versions = {"python": sys.version_info[:2], "sqlite": sqlite3.sqlite_version}
    json.dump({"versions": versions, "verdicts": verdicts}, sys.stdout)


if __name__ == "__main__":
    main()
