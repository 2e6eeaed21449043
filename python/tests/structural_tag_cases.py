"""The cases of `testdata/structural-tags`: structural tags, and texts that they accept or refuse.

Read by `test_structural_tags.py`, which judges this package alone, and by `hosts/structural_tags/compare.py`, which
asks xgrammar as well. `testdata/structural-tags/README.md` says how a case is written.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from tokenizer_file import write_tokenizer

FOLDER = Path(__file__).parents[2] / "testdata" / "structural-tags"
FILES = ["envelope", "text", "combinators", "tags", "tokens", "json", "arguments"]

#: Every format and field, each the subject of at least `AT_LEAST` cases.
FIELDS = """
    structural_tag.type structural_tag.format legacy.structures legacy.triggers
    const_string.value regex.pattern grammar.grammar any_text any_text.excludes any_text.max_tokens any_text.max_chars
    json_schema.json_schema json_schema.style json_schema.any_order json_schema.max_whitespace_cnt
    json_schema.style=qwen_xml json_schema.style=minimax_xml json_schema.style=deepseek_xml json_schema.style=glm_xml
    json_schema.style=cohere_xml json_schema.style=kimi_k3_xml json_schema.style=minimax_m3_xml
    json_schema.style=deepseek_v4_1_xml json_schema.excludes qwen_xml_parameter.json_schema
    sequence.elements or.elements optional.content plus.content star.content repeat.min repeat.max repeat.content
    tag.begin tag.content tag.end
    triggered_tags.triggers triggered_tags.tags triggered_tags.at_least_one triggered_tags.stop_after_first
    triggered_tags.excludes
    tags_with_separator.tags tags_with_separator.separator tags_with_separator.at_least_one
    tags_with_separator.stop_after_first
    dispatch.rules dispatch.loop dispatch.excludes
    token.token exclude_token.exclude_tokens any_tokens.exclude_tokens any_tokens.max_tokens
    token_triggered_tags.trigger_tokens token_triggered_tags.tags token_triggered_tags.exclude_tokens
    token_triggered_tags.at_least_one token_triggered_tags.stop_after_first
    token_dispatch.rules token_dispatch.loop token_dispatch.exclude_tokens
""".split()
AT_LEAST = 5

#: Tokens of several bytes, some of which cross the borders of tags or are no UTF-8 alone.
LONGER = [b"</", b"<fun", b"ction", b'{"', b'":', b'"}', b": ", b", ", b"12", b"ab", b"hello", b" world", "é".encode()]
LONGER += [b"</think", b">x", b"\n\n", b"><", b"ing", b"\x9c\x93", b"x</a", b"x<", b"</a>", b'{"a', b"y</a>z"]
#: Added tokens that are text as well, as Qwen's are; special ones, which never are; and what ends a text.
ADDED = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
SPECIAL = ["<|tool|>", "<|end|>"]
EOS = "</s>"
VOCABULARY = [bytes([byte]) for byte in range(256)] + LONGER + [name.encode() for name in [*ADDED, *SPECIAL, EOS]]
IDS = {token: id for id, token in enumerate(VOCABULARY)}
EOS_ID = IDS[EOS.encode()]

#: The styles of `arguments.jsonl`; `minimax_m3_xml`, in which elements nest, has cases of its own.
STYLES = ["qwen_xml", "minimax_xml", "deepseek_xml", "deepseek_v4_1_xml", "glm_xml", "cohere_xml", "kimi_k3_xml"]
CLOSING = {
    "qwen_xml": "</parameter>",
    "minimax_xml": "</parameter>",
    "deepseek_xml": "</｜DSML｜parameter>",
    "deepseek_v4_1_xml": "</｜DSML｜ parameter>",
    "glm_xml": "</arg_value>",
    "cohere_xml": "</cofl:value>",
    "kimi_k3_xml": "<|close|>argument<|sep|>",
}


@dataclass
class Text:
    """A text, what it should be, and the argument where xgrammar answers otherwise."""

    pieces: list
    accepted: bool
    why: str | None = None

    def ids(self):
        """The tokens: text byte by byte, unless the case names the token."""
        ids = []
        for piece in self.pieces:
            if isinstance(piece, str):
                ids += piece.encode()
            else:
                (token,) = piece
                ids.append(token if isinstance(token, int) else IDS[token.encode()])
        return ids

    def __str__(self):
        """As the table shows it: a named token in brackets."""
        shown = [piece if isinstance(piece, str) else f"⟨{piece[0]}⟩" for piece in self.pieces]
        return "".join(shown) or "(nothing)"


@dataclass
class Case:
    """A structural tag with its texts, or with the place of its error."""

    name: str
    field: str
    document: object
    error: str | None
    #: Why xgrammar does not compile what this package does, or the reverse.
    why: str | None
    #: Whether xgrammar refuses to compile it.
    refused_there: bool
    legacy: bool
    texts: list[Text] = field(default_factory=list)


def read_cases():
    """All cases, those of the argument styles once for each style."""
    cases = []
    for file in FILES:
        lines = (FOLDER / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            read = json.loads(line)
            if "schema" in read:
                for style in _alike(read.get("styles", STYLES)):
                    cases.append(_case(f"{file}:{number}:{style}", _in_style(read, style)))
            else:
                cases.append(_case(f"{file}:{number}", read))
    return cases


def n_judged(case):
    """How many cases (tag and text) this is: an error is one."""
    return len(case.texts) or 1


def make_tokenizer(folder):
    """The vocabulary, in a file that names the added tokens."""
    import maskwright

    path = Path(folder) / "tokenizer.json"
    write_tokenizer(path, VOCABULARY[: 256 + len(LONGER)], [*SPECIAL, EOS], ADDED)
    tokenizer = maskwright.Tokenizer.from_file(path)
    assert tokenizer.vocab_size == len(VOCABULARY) and tokenizer.eos_token_ids == [EOS_ID]
    return tokenizer


def _case(name, read):
    document = read.get("document", read.get("legacy"))
    if document is None:
        document = {"type": "structural_tag", "format": read["format"]}
    elif "legacy" in read:
        document = {"type": "structural_tag", **document}
    case = Case(
        name,
        read["field"],
        document,
        read.get("error"),
        read.get("why"),
        read.get("there") == "error",
        "legacy" in read,
    )
    for accepted, texts in [(True, read.get("yes", [])), (False, read.get("no", []))]:
        for text in texts:
            why = text["why"] if isinstance(text, dict) else None
            pieces = text["text"] if isinstance(text, dict) else text
            case.texts.append(Text([pieces] if isinstance(pieces, str) else pieces, accepted, why))
    assert case.texts or case.error is not None, f"{name} judges nothing"
    return case


def _in_style(read, style):
    """A case of the argument styles in one of them."""
    made = {**read, "format": {"type": "json_schema", "json_schema": read["schema"], "style": style, **read.get("options", {})}}
    if read["field"] == "json_schema.style":
        made["field"] = f"json_schema.style={style}"
    for key in ("yes", "no"):
        made[key] = [_text_in_style(text, style) for text in read.get(key, [])]
    return made


def _alike(styles):
    """Styles, with the one that differs from DeepSeek's only in a blank."""
    more = ["deepseek_v4_1_xml"] if "deepseek_xml" in styles and "deepseek_v4_1_xml" not in styles else []
    return [*styles, *more]


def _text_in_style(text, style):
    if isinstance(text, dict):
        shown = _text_in_style(text["text"], style)
        return {"text": shown, "why": text["why"]} if style in _alike(text.get("in", STYLES)) else shown
    if isinstance(text, str):
        return text
    return "".join(piece if isinstance(piece, str) else parameter(style, *piece) for piece in text)


def parameter(style, name, kind, value):
    """How a style writes one argument. `kind` is the type that the styles tell apart."""
    if not isinstance(value, str):
        value = _nested(value) if style == "cohere_xml" else json.dumps(value)
    value = value.replace("{close}", CLOSING[style])
    if style == "cohere_xml":
        cohere = {"string": "raw", "array": "list", "object": "dict"}.get(kind, "json")
        start = f'<cofl:value name="{_escaped(name, "&<>" + chr(34))}" type="{cohere}">'
    elif style == "kimi_k3_xml":
        kimi = "object" if kind == "const" else kind
        start = f'<|open|>argument key="{_escaped(name, "&" + chr(34))}" type="{kimi}"<|sep|>'
    elif style in ("deepseek_xml", "deepseek_v4_1_xml"):
        blank = " " if style == "deepseek_v4_1_xml" else ""
        start = f'<｜DSML｜{blank}parameter name="{name}" string="{"true" if kind == "string" else "false"}">'
    elif style == "glm_xml":
        start = f"<arg_key>{name}</arg_key><arg_value>"
    else:
        start = f"<parameter={name}>" if style == "qwen_xml" else f'<parameter name="{name}">'
    return start + value + CLOSING[style]


def _nested(value):
    """Cohere writes the parts of lists and dictionaries as values too."""
    named = value.items() if isinstance(value, dict) else [(None, part) for part in value]
    return "".join(_cohere_value(name, part) for name, part in named)


def _cohere_value(name, value):
    kind = {str: "raw", list: "list", dict: "dict"}.get(type(value), "json")
    text = value if kind == "raw" else json.dumps(value) if kind == "json" else _nested(value)
    named = "" if name is None else f' name="{name}"'
    return f'<cofl:value{named} type="{kind}">{text}</cofl:value>'


def _escaped(name, characters):
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
    return "".join(entities[c] if c in characters else c for c in name)
