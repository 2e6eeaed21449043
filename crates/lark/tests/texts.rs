//! Real texts under the published and the built-in grammars, with Lark's verdicts where it has some.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it did"
)]

mod common;

use std::path::Path;

use common::{Checker, load};
use maskwright_automata::Fuel;
use maskwright_lark::{Indentation, LarkConfig, builtin, parse_lark};

/// Programs on which Lark's LALR parser resolves a conflict in silence and errs: its Earley parser accepts
/// them, with the same lexer.
const LALR_ERRS: [&str; 2] = ["Java_22", "Go_104"];

/// Texts of the data that are not in the language of a built-in grammar: grammar, text, why.
const REFUSED: &str = include_str!("../../../testdata/lark/refused.tsv");

fn checker(name: &str) -> Checker {
    let grammar = builtin(name).unwrap();
    let config = LarkConfig { indentation: grammar.indentation, ..LarkConfig::default() };
    Checker::new(parse_lark(grammar.text, name, &config, &Fuel::new(1 << 24)).unwrap())
}

/// The files of a folder, with their names, sorted.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn programs_are_judged_as_lark_judges_them() {
    let Some(shared) = maskwright_oracle::shared_folder("data/programs/syncode_lark_verdicts.tsv") else {
        return;
    };
    let verdicts = std::fs::read_to_string(shared.join("data/programs/syncode_lark_verdicts.tsv")).unwrap();
    let (mut n_same, mut excepted) = (0, Vec::new());
    for language in ["go", "java", "python"] {
        let indentation = (language == "python").then(Indentation::python);
        let grammar = load(&shared.join(format!("data/grammars/{language}.lark")), indentation).unwrap();
        let checker = Checker::new(grammar);
        for line in verdicts.lines() {
            let [which, kind, file, verdict] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            if which != language {
                continue;
            }
            let path = shared.join(format!("data/programs/{which}/{kind}/{file}"));
            let mut text = std::fs::read_to_string(path).unwrap();
            if language == "python" {
                text.push('\n');
            }
            let (ours, lark) = (checker.accepts(&text), !verdict.starts_with("reject"));
            if LALR_ERRS.iter().any(|name| file.starts_with(&format!("{name}."))) && ours && !lark {
                excepted.push(format!("{kind}/{file}"));
            } else {
                assert_eq!(ours, lark, "{kind}/{file}");
                n_same += 1;
            }
        }
    }
    eprintln!("{n_same} programs judged alike; only Lark's Earley parser accepts {excepted:?}");
    assert!(n_same > 400 && excepted.len() <= 4);
}

#[test]
fn json_is_that_of_the_rfc() {
    let checker = checker("json");
    for text in ["{}", "[1, -0.5e+3, \"a\\u00e9\\n\", [true, null]]", " {\"a\" : {}}\n"] {
        assert!(checker.accepts(text), "{text}");
    }
    for text in ["", "[1,]", "{a: 1}", "01", "[\"\u{1}\"]", "+1", "1 2", "nul"] {
        assert!(!checker.accepts(text), "{text}");
    }
    let Some(shared) = maskwright_oracle::shared_folder("data/json-test-suite") else { return };
    let mut n_judged = 0;
    for (name, bytes) in files(&shared.join("data/json-test-suite")) {
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        if name.starts_with("i_") || !name.ends_with(".json") {
            continue;
        }
        assert_eq!(checker.accepts(text), name.starts_with("y_"), "{name}");
        n_judged += 1;
    }
    assert!(n_judged > 200, "{n_judged}");
}

#[test]
fn arithmetic() {
    let checker = checker("arithmetic");
    for text in ["1", "-x ^ 2 * (3 + .5e-3)", "max(a, b) % 2", "2 ** -1"] {
        assert!(checker.accepts(text), "{text}");
    }
    for text in ["", "1 +", "(1", "a b", "f(1,)", "1 ^ ^ 2"] {
        assert!(!checker.accepts(text), "{text}");
    }
}

#[test]
fn smiles() {
    let checker = checker("smiles");
    for text in [
        "C",
        "c1ccccc1",
        "[13CH4]",
        "F/C=C/F",
        "[Na+].[Cl-]",
        "C(=O)([O-])N%12CC%12",
        "N[C@@H](C)C(=O)O",
        "[2H]C",
        "[H+]",
    ] {
        assert!(checker.accepts(text), "{text}");
    }
    for text in ["", "C(", "C)", "[C", "Q", "C=", "=C", "C..C", "[CH4+-]", "C%1", "[H@]", "[HH]"] {
        assert!(!checker.accepts(text), "{text}");
    }
    let Some(shared) = maskwright_oracle::shared_folder("data/smiles.txt") else { return };
    let molecules = std::fs::read_to_string(shared.join("data/smiles.txt")).unwrap();
    for (index, line) in molecules.lines().enumerate() {
        let is_refused = REFUSED.contains(&format!("smiles\tline {}\t", index + 1));
        assert_eq!(checker.accepts(line), !is_refused, "{line}");
    }
}

#[test]
fn sql() {
    let checker = checker("sql");
    for text in [
        "select a, t.* from t left join u as v on t.x = v.y where a in (1, 2) and not b like 'x%' order by 1 desc limit 3;",
        "WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c",
        "INSERT INTO t (a, b) VALUES (1, 'it''s'), (NULL, ?)",
        "UPDATE t SET a = a + 1 WHERE EXISTS (SELECT * FROM u)",
        "DELETE FROM t",
        "(SELECT a FROM b.c.d) UNION ((SELECT 1) EXCEPT VALUES (2)) ORDER BY 1",
        "UPDATE t AS u SET a = 1e5, b = CURRENT_DATE, indexes = .5",
        // Long s, which is no `s` of a key word.
        "SELECT \u{17f}elect FROM t",
    ] {
        assert!(checker.accepts(text), "{text}");
    }
    for text in [
        "",
        "SELECT",
        "SELECT FROM t",
        "SELECT a b c FROM t",
        "UPDATE t",
        "DELETE t",
        "SELECT 'a",
        "SELECT index FROM t",
        "SELECT 1a",
        "SELECT 1e5a",
        "SELECT 1e",
        "VALUES (1) LIMIT 1",
        "\u{17f}ELECT a",
        "SELECT 'a\0'",
    ] {
        assert!(!checker.accepts(text), "{text}");
    }
    let Some(shared) = maskwright_oracle::shared_folder("data/sql.jsonl") else { return };
    let queries = std::fs::read_to_string(shared.join("data/sql.jsonl")).unwrap();
    for line in queries.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let query = case["query"].as_str().unwrap();
        assert!(checker.accepts(query), "{query}");
    }
}

#[test]
fn python() {
    let checker = checker("python");
    for text in [
        "",
        "def f(a, /, b: int = 1, *args, c, **kw) -> None:\n    # why\n\n    return [x for x in a if x]\n",
        "if x:\n  if y:\n    pass\nelse: print(f\"{x}\", '''a\nb''')\n",
        "x = {\n  1: 2,\n**y}\nmatch x:\n  case {1: _, **r} if r: match = 1\n",
        "async def f():\n  async with a as b, c: await d[1:, ...]\n",
        "(a, [*b.c, d[0]]), e = *f, g = 1, (yield)\nx: int = 1\n(y.z) : int\ndel (a, b[1]), c\n",
        "def f(a, b=1, /, c=2, *, d, e=3): return lambda x, *, y: g(1, *a, b=2, *c, **d, e=3)\n",
        "print(f'{a.b[\"c\"]!r:>{width}} {{}} {len(x) + 1=}', rb'\\d' b'\\x00', '\\u00e9', x \\\n  if y else z)\n",
        "match x, *y:\n  case [1, *_] | A(b, c=d) | -1+2j | (e as f,): pass\n  case *_, {'a': g}: pass\n",
        // Tabs indent, and stand between tokens.
        "if x:\n\ty\n\tif z:\n\t\ty\t=\t1 # why\n\n \t# so\n\tz(a,\n\t  b)\n",
        "if x:\n\tif y:\n\t  if z:\n\t\t  pass\n\t  pass\nx\n",
        "if x:\n  y\nif x:\n\ty\n",
        // A backslash in the first column, after blanks, and twice.
        "if x:\n\\\n  y\n",
        "\\\nx\n",
        "x\n\\\n\\\ny\n",
        "if x:\n  \\\n y\n  z\n",
        "x = \\\n\\\n  1\n",
        // A number touches a key word.
        "[0for x in y]\n",
        "0if 1else 2and 0b1or 00or 0xfor x\n",
    ] {
        assert!(checker.accepts(text), "{text}");
    }
    for text in [
        "x = = 1\n",
        "def f():\npass\n",
        "if x:\n    a\n  b\n",
        "x = (1\n",
        "for x in : pass\n",
        "a b\n",
        "x = 'a\n",
        "f() = 1\n",
        "a, b += 1\n",
        "a, b: int\n",
        "x = 1 = y\n",
        "del f()\n",
        "for f() in x: pass\n",
        "(*a)\n",
        "[*a for a in b]\n",
        "def f(a=1, b): pass\n",
        "def f(*, **k): pass\n",
        "f(a=1, b)\n",
        "f(**a, *b)\n",
        "f(x for x in y, 1)\n",
        "try: pass\nexcept A: pass\nexcept* B: pass\n",
        "match x:\n  case *a: pass\n",
        "match x:\n  case 1 as _: pass\n",
        "x = '\\x1'\n",
        "x = b'é'\n",
        "x = 'a' b'b'\n",
        "x = f'{y'\n",
        "x = f'{y z}'\n",
        "raise 1from x\n",
        // Python takes these: twenty spaces are more than a tab, and what stands before the tab is the same.
        "if x:\n\tif y:\n                    z\n",
        "if x:\n \ty\n \ty\n",
        // The rest it does not.
        "if x:\n\ty\n        y\n",
        "if x:\n        y\n\ty\n",
        "if x:\n  if y:\n\tz\n",
        "if x:\n\ty\n\t\\\n  y\n        y\n",
        "\tx\n",
        "0or 1\n",
        "0Or\n",
        "x\n\\\n",
        "\\\n",
        "x \\\n",
        " x\n",
        "\\\n x\n",
        "x\n\\\n y\n",
        "x = '\0'\n",
    ] {
        assert!(!checker.accepts(text), "{text}");
    }
    programs("python", &checker, "\n");
}

#[test]
fn cpp() {
    let checker = checker("cpp");
    for text in [
        "",
        "#include <vector>\nint main() { std::vector<std::vector<int>> v; return v.size() >> 1; }",
        "template <typename T> T f(const T& a, int* b = nullptr) { for (auto& [k, x] : m) x++; return a ? T{} : T(1); }",
        "struct S : public B { S(int a) : a(a) {} int a; }; auto g = [&](int x) -> int { return x; };",
        "#define A 1 \\\n + 2\n\n \t#include <a>\r\nint f() {\n#ifdef A\n return 1;\n  #endif\n}\n#undef A",
        "\n\n#if 1\n// a\n#endif /* b */\n",
        "#ifndef A_H\n#define A_H\nint x;\n#endif // A_H\n",
        "#if defined(A) && !defined B\nint x;\n#elif C >= 3\n#else\n#error no such thing\n#endif",
        "#define M(a, b) (a / b) // c\nint x;",
        "class A { public:\n#ifdef X\n A(); \n#endif\n ~A() = default; virtual int f() const = 0; bool operator<(const A& o) const { return 1 < 2; } };",
        "A& A::operator=(const A& o) { return *this; }",
        "int f() { x >>= 1; vector<vector<vector<int>>> v; return 09.5 + 1'000 + 0x1Fu; }",
        "int f() { return static_cast<vector<int>>(x).size() > 1 and not y bitand 3; }",
        "int f() { switch (x) { case 1: case 2: return 1; default: ; } try { throw 1; } catch (int& e) {} catch (...) {} }",
        "template <typename T, typename U = std::vector<T>> using P = std::pair<T, U>;",
        "unsigned long long f(long int a, unsigned b, long double c, short unsigned int d);",
        "int (*p); std::function<int(int)> g; auto s = \"a\\x41\" \"b\" R\"(x)\"; const volatile int z = '\\n';",
        // A backslash at the end of a comment joins the next line to it.
        "// a \\\n b c ( \nint x;",
    ] {
        assert!(checker.accepts(text), "{text}");
    }
    for text in [
        "int",
        "int f( {}",
        "int f() { return 1 }",
        "int f() { if x; }",
        "int f() { \"a }",
        // A preprocessor line begins a line, and is no statement.
        "int a; #undef A",
        "int f() { for (;;)#if\n}",
        "int f() { if (a)\n#undef A\n}",
        "#\\\nint x;",
        "#include <a> int x;",
        "#include a\n",
        "#define A /*\nint x;",
        "#define A \"\nint x;",
        // Conditional parts have an end.
        "#if 1\nint x;",
        "int x;\n#endif",
        "#if\n#endif",
        // A type is not any row of its words, and a name before `operator` needs `::`.
        "int int x;",
        "int f() { int int(); }",
        "ng nstr operator%=() {}",
        // `>>` and `>>=` are one word each.
        "int f() { return a > > b; }",
        "int f() { a > >= b; }",
        // A number ends where C++ ends it.
        "int f() { x = 1or 2; }",
        "int f() { x = 12abc; }",
        "int f() { return 09; }",
        "int f() { 1.x; }",
        "int x = \"\\x\";",
        "int x = u\"a\" U\"b\";",
        "int register;",
        "int x; // \0",
        "auto x = \"\0\";",
        "#pragma a\0",
        "int f() = 0 {}",
        "struct S { S() : a(1); };",
        "int f() { case 1: }",
        "int f() { try {} catch (...) {} catch (int) {} }",
        "auto x = [&, =] {};",
        "auto x = [] mutable {};",
        "template <int x = []{}> int f();",
        "template <class T> enum A {};",
    ] {
        assert!(!checker.accepts(text), "{text}");
    }
    programs("cpp", &checker, "");
}

/// All programs of a language must be accepted.
fn programs(language: &str, checker: &Checker, end: &str) {
    let Some(shared) = maskwright_oracle::shared_folder("data/programs") else { return };
    for kind in ["full", "solution"] {
        for (name, bytes) in files(&shared.join(format!("data/programs/{language}/{kind}"))) {
            let text = String::from_utf8(bytes).unwrap() + end;
            assert!(checker.accepts(&text), "{kind}/{name}");
        }
    }
}
