"""A `tokenizer.json` of chosen tokens, for tests that need names of added tokens."""

import json


def write_tokenizer(path, words, special, added=()):
    """Writes a byte-level tokenizer: its tokens are `words` (bytes), then `added` and `special` (names).

    Tokens of `added` are text as well, those of `special` never are. The last of them ends a text.
    """
    shown = _byte_level()
    vocabulary = {"".join(shown[byte] for byte in word): id for id, word in enumerate(words)}
    options = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
    names = [
        {"id": len(words) + n, "content": name, "special": name in special, **options}
        for n, name in enumerate([*added, *special])
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    file = {
        "version": "1.0",
        "added_tokens": names,
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }
    path.write_text(json.dumps(file), encoding="utf-8")
    # What ends a text is said beside it, as in models' folders.
    config = {"eos_token": special[-1]}
    (path.parent / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def _byte_level():
    """The character that stands for each byte in files of byte-level tokenizers."""
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (byte for byte in range(256) if byte not in printed)
    return {byte: chr(byte) for byte in printed} | {byte: chr(256 + n) for n, byte in enumerate(others)}
