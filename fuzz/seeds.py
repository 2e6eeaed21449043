"""Writes the first inputs of each target, out of the test data, to `corpus/TARGET`: `python3 seeds.py`.

The form of an input is at the head of its target. `cargo xtask fuzz` calls this.
"""

import hashlib
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "testdata"
BETWEEN = b"\xff"
CHOICES = bytes(range(0, 256, 19))
LARGEST = 4096
DIALECTS = {"rust_ascii": 0, "rust": 1, "ecma": 2, "python": 3}
WORD = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def add(target, *parts):
    seed = b"".join(parts)
    if len(seed) <= LARGEST:
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{hashlib.sha256(seed).hexdigest()[:16]}").write_bytes(seed)


def joined(*parts):
    return BETWEEN.join(part if isinstance(part, bytes) else part.encode() for part in parts)


def lines(path):
    return [json.loads(line) for line in path.read_text().split("\n") if line.strip()]


def written(parts):
    """A source of `testdata/hostile/cases.jsonl` (see `crates/maskwright/tests/support/hostile.rs`)."""
    if isinstance(parts, str):
        return parts.encode()
    if isinstance(parts, list):
        return b"".join(map(written, parts))
    if "bytes" in parts:
        return bytes(parts["bytes"])
    if "repeat" in parts:
        return written(parts["repeat"]) * min(parts["times"], LARGEST)
    return parts["between"].join(parts["each"].replace("{}", str(i)) for i in range(min(parts["count"], 99))).encode()


def grammar(target, text, read, first=b""):
    add(target, first, joined(text, read, CHOICES))


def saved(kind, text, read):
    """What is saved: a grammar or its rows, of a notation (0 GBNF, 1 Lark, 2 a schema, 3 choices, 4 a pattern)."""
    for what in (0, 1):
        add("saved", bytes([3 * (5 + kind) + what]), joined(text, b"\x07\x00\x01\x10\x00\x20", read))


def tokenizer_files():
    vocab = {token: index for index, token in enumerate(["a", "b", "c", "Ġ", "Ã", "©", "ab", "Ġa", "ĠĠ", "abc"])}
    added = [WORD | {"id": 10, "content": "</s>", "special": True}, WORD | {"id": 11, "content": "<x>", "special": False}]
    merges = ["a b", "Ġ a", "Ġ Ġ", "ab c"]
    split = {"type": "Split", "pattern": {"Regex": "\\p{L}+|\\s+|[^\\s\\p{L}]+"}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": vocab, "merges": merges}
    yield {"model": model, "decoder": {"type": "ByteLevel"}, "pre_tokenizer": level, "added_tokens": added}
    two = {"type": "Sequence", "pretokenizers": [split, level | {"use_regex": False}]}
    yield {"model": model | {"ignore_merges": True}, "decoder": level, "pre_tokenizer": two, "added_tokens": added}
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["▁", "a", "b", "▁a", "ab"]
    sentence = {
        "type": "BPE", "vocab": {piece: index for index, piece in enumerate(pieces)}, "merges": [["▁", "a"], ["a", "b"]],
        "byte_fallback": True, "unk_token": "<unk>", "fuse_unk": True,
    }
    steps = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]
    normal = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    yield {
        "model": sentence, "decoder": {"type": "Sequence", "decoders": steps}, "added_tokens": added[:0],
        "normalizer": {"type": "Sequence", "normalizers": normal},
    }
    yield {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁", -1.0], ["a", -2.5], ["▁ab", -3.0]]}}
    yield {"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}, "unk_token": "[UNK]"}}
    yield {"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}}


def gguf(entries, tensors=()):
    def text(value):
        return struct.pack("<Q", len(value.encode())) + value.encode()

    def value(of):
        if isinstance(of, str):
            return 8, text(of)
        if isinstance(of, bool):
            return 7, struct.pack("<?", of)
        if isinstance(of, int):
            return 4, struct.pack("<I", of)
        if isinstance(of, float):
            return 6, struct.pack("<f", of)
        kind = value(of[0])[0]
        return 9, struct.pack("<IQ", kind, len(of)) + b"".join(value(item)[1] for item in of)

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries))
    for key, of in entries.items():
        kind, content = value(of)
        head += text(key) + struct.pack("<I", kind) + content
    for name, shape in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, 0)
    return head + bytes(64)


def main():
    for path in [*(DATA / "syntax").glob("*.gbnf"), DATA / "infill/smiles.gbnf", *(HERE.parent / "examples").glob("*.gbnf")]:
        grammar("gbnf", path.read_bytes(), "[1, {\"a\": true}]")
        saved(0, path.read_bytes(), "[1]")
    for rules in ('root ::= "a" root "b" | "ab"', "root ::= root root | [a-c] | \"\"", "root ::= ([0-9]{2,3} | <call>)* \"é\"?"):
        grammar("gbnf", rules, "aabb")
        saved(0, rules, "ab")
        add("canvas", b"\x0a", joined(rules, b"\x80\x01\x80", bytes(range(20))))
    for case in lines(DATA / "syntax/regexes.jsonl"):
        first = bytes([DIALECTS.get(case.get("dialect", "rust_ascii"), 0)])
        for read in [*case.get("yes", [])[:2], *case.get("no", [])[:1], ""][:2]:
            grammar("regex", case["pattern"], read, first)
    for path in [*(DATA / "lark").glob("*.lark"), HERE.parent / "examples/tasks.lark"]:
        for lexer in range(3):
            grammar("lark", path.read_bytes(), "a b", bytes([lexer]))
        saved(1, path.read_bytes(), "a")
    for case in json.loads((DATA / "lark/ignored_ends.json").read_text()):
        for lexer in range(3):
            grammar("lark", case["source"], case["accepted"][0], bytes([lexer]))
    blocks = 'start: (_NL | line)*\nline: "a" _NL | "b:" _NL _INDENT line+ _DEDENT\n_NL: /(\\r?\\n[\\t ]*)+/\n'
    grammar("lark", blocks + '%declare _INDENT _DEDENT\n%ignore " "', "b:\n a\n", b"\x40")
    grammar("lark", 'start: "f(" %json {"type": "integer"} ")"', "f(1)", b"\x02")
    for path in sorted((DATA / "json-schema").glob("*.jsonl")):
        for case in lines(path):
            schema = json.dumps(case.get("schema"), ensure_ascii=False)
            for read in case.get("yes", [])[:1]:
                read = read if isinstance(read, str) else json.dumps(read)
                first = bytes([int(case.get("property_order") == "any")])
                add("json_schema", first, joined(schema, read.encode("utf-8", "replace"), CHOICES))
    saved(2, '{"type": "array", "uniqueItems": true, "items": {"type": "string", "maxLength": 20}}', '["a"]')
    for seed in range(600):
        # Schemas of the generator.
        content = b"".join(hashlib.sha256(f"{seed} {block}".encode()).digest() for block in range(seed % 12 + 1))
        add("json_schema", bytes([0x20 | seed % 32]), content)
    for case in lines(DATA / "hostile/cases.jsonl"):
        source = written(case["source"])
        target = {"regex": "regex", "gbnf": "gbnf", "schema": "json_schema", "tokenizer.json": "tokenizer", "gguf": "gguf"}
        kind = target.get(case["kind"], case["kind"].split()[0])
        if kind in ("regex", "json_schema", "lark"):
            grammar(kind, source, "a", b"\x00")
        elif kind in ("gbnf", "tokenizer"):
            grammar(kind, source, "a")
        elif kind == "gguf":
            add("gguf", b"\x01a", source)
    for file in tokenizer_files():
        for read in ("ab abc  é", ""):
            add("tokenizer", joined(json.dumps(file, ensure_ascii=False), read))
    saved(3, "yes\nno", "no")
    saved(4, "[a-z]{2,40}\\d", "ab1")
    add("saved", b"\x02", joined("", b"\x01\x00\x01\x30\x00\x20", "ab"))
    for kind in range(10):
        for more in range(0, 48, 16):
            add("canvas", bytes([kind + more]), joined("", b"\x80\x01\x80\x80", bytes(range(3, 23))))
    tokens = {"tokenizer.ggml.tokens": ["<unk>", "</s>", "a", "b", "ab", "Ġ", "Ġa"], "tokenizer.ggml.eos_token_id": 1}
    bpe = tokens | {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.merges": ["a b", "Ġ a"]}
    add("gguf", b"\x02ab", gguf({"general.architecture": "llama"} | bpe | {"tokenizer.ggml.token_type": [2, 3, 1, 1, 1, 1, 1]}))
    pieces = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "▁a"]
    kinds = [2, 3, *[6] * 256, 1, 1, 1]
    scores = [-float(index) for index in range(len(pieces))]
    spm = {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": pieces, "tokenizer.ggml.scores": scores}
    add("gguf", b"\x02 a", gguf(spm | {"tokenizer.ggml.token_type": kinds}))
    add("gguf", b"\x00", gguf({"general.alignment": 32, "a": 1.5, "b": True}, [("t", (4, 2)), ("u", (3,))]))


main()
