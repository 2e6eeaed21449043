"""How near the length of a completion that is easily found comes to the least number of tokens.

    python research/limits/witness.py TOKENIZER MASKBENCH [--every 20] [--bytes]

For schemas of MaskBench, at the start of a text and at a quarter, half and three quarters of a valid instance, the numbers of tokens that complete
the text, the end-of-sequence token included:

* exact: the least, over all ways to cut all texts into tokens;
* aligned: the least where tokens end where terminals do (a compiler without work for the exact search);
* respelled: the aligned text, cut into the fewest tokens;
* fewest bytes: the shortest text in bytes, cut into the fewest tokens;
* best: the least of the last three.

`--bytes` takes the vocabulary of single bytes. Prints how often each is the least number, at most 3 more, and the worst.

`--masks least` compares masks instead: at these places, with as many tokens left as the least number and a slack more, which of the allowed tokens
would be lost if a token were allowed only where the best number after it fits. (Of the tokens that aligned numbers lose, 40 a mask are looked at.)
`--masks text` is the same with as many tokens left as the instance takes, and a slack more.
"""

import argparse
import contextlib
import json
import random
import time
import warnings
from pathlib import Path

import maskwright
import numpy as np

warnings.simplefilter("ignore")
BYTES = maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)] + [b"</s>"], eos_token_ids=[256])


class Fewest:
    """The fewest tokens that spell a text."""

    def __init__(self, tokenizer):
        special = set(tokenizer.special_tokens.values()) | set(tokenizer.eos_token_ids)
        self.tokens = {tokenizer.token_bytes(token) for token in range(tokenizer.vocab_size) if token not in special} - {None, b""}
        self.longest = max(map(len, self.tokens))

    def __call__(self, text):
        fewest = [0] + [1 << 30] * len(text)
        for start in range(len(text)):
            for end in range(start + 1, min(len(text), start + self.longest) + 1):
                if fewest[start] + 1 < fewest[end] and text[start:end] in self.tokens:
                    fewest[end] = fewest[start] + 1
        return fewest[-1]


def rest_of(matcher):
    """The text that `finish` would write."""
    ends = set(matcher.grammar.tokenizer.eos_token_ids)
    return b"".join(matcher.grammar.tokenizer.token_bytes(token) for token in matcher.finish() if token not in ends)


def masks(exact, aligned, shortest, fewest, prefix, n_rest, lost):
    """Adds to `lost`, by slack: masks, masks that lose tokens, the sum of the shares lost, and how many of the 40 tokens were looked at."""
    n_words = (exact.tokenizer.vocab_size + 31) // 32
    rows = np.zeros((2, n_words), np.int32)
    n_rest = n_rest or stepped(exact, prefix).tokens_to_finish()
    free, free_bytes = stepped(aligned, prefix), maskwright.Matcher(shortest)
    ends = set(exact.tokenizer.eos_token_ids)
    for slack in SLACKS:
        n_left = n_rest + slack
        for row, grammar in enumerate((exact, aligned)):
            try:
                stepped(grammar, prefix, len(prefix) + n_left).fill_next_token_bitmask(rows, row)
            except ValueError:  # By aligned numbers nothing fits.
                rows[row] = 0
        allowed = np.flatnonzero(np.unpackbits((rows[0]).view(np.uint8), bitorder="little"))
        doubtful = np.flatnonzero(np.unpackbits((rows[0] & ~rows[1]).view(np.uint8), bitorder="little"))
        doubtful = [token for token in doubtful.tolist() if token not in ends]
        looked_at = random.Random(slack).sample(doubtful, min(40, len(doubtful)))
        n_lost = 0
        for token in looked_at:
            after, after_bytes = free.fork(), free_bytes.fork()
            assert after.accept_token(token)
            assert after_bytes.accept_bytes(b"".join(map(exact.tokenizer.token_bytes, [*prefix, token])))
            best = min(after.tokens_to_finish(), *(fewest(rest_of(each)) + 1 for each in (after, after_bytes)))
            n_lost += best > n_left - 1
        share = n_lost / max(1, len(looked_at)) * len(doubtful) / max(1, len(allowed))
        lost[slack] += np.array([1, n_lost > 0, share, len(looked_at)])


def stepped(grammar, tokens, max_tokens=None):
    matcher = maskwright.Matcher(grammar, max_tokens)
    if matcher.accept_tokens(tokens) < len(tokens):
        raise ValueError("a token is refused")
    return matcher


SLACKS = (0, 1, 2, 3, 5, 8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("maskbench", type=Path)
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--first", type=int, default=3)
    parser.add_argument("--bytes", action="store_true")
    parser.add_argument("--worst", type=int, default=12)
    parser.add_argument("--masks", choices=["least", "text"])
    arguments = parser.parse_args()
    tokenizer = BYTES if arguments.bytes else maskwright.Tokenizer.from_file(arguments.tokenizer)
    fewest = Fewest(tokenizer)
    exact, aligned = maskwright.Compiler(tokenizer), maskwright.Compiler(tokenizer, {"budget_items": 1})
    shortest = maskwright.Compiler(BYTES)
    records = [json.loads(line) for file in sorted(arguments.maskbench.glob("*.jsonl")) for line in file.open()]
    records = sorted(records, key=lambda record: record["id"])[arguments.first :: arguments.every]
    found, spent, lost = {"start": [], "inside": []}, {}, {slack: np.zeros(4) for slack in SLACKS}

    def timed(name, call):
        start = time.thread_time()
        answer = call()
        spent[name] = spent.get(name, 0.0) + time.thread_time() - start
        return answer

    for record in records:
        schema = json.dumps(record["schema"])
        try:
            grammars = [each.compile_json_schema(schema) for each in (exact, aligned, shortest)]
        except maskwright.Error:
            continue
        prefixes = [b""]
        valid = next((test["data"] for test in record["tests"] if test["valid"]), None)
        if valid is not None:
            text = json.dumps(valid, ensure_ascii=False).encode()
            ids = list(text) if arguments.bytes else tokenizer.encode(text.decode())
            for share in (1, 2, 3):
                prefixes.append(b"".join(map(tokenizer.token_bytes, ids[: len(ids) * share // 4])))
        if arguments.masks:
            for share in range(4) if valid is not None else (0,):
                prefix = ids[: len(ids) * share // 4] if share else []
                n_rest = len(ids) - len(prefix) + 1 if arguments.masks == "text" and valid is not None else None
                with contextlib.suppress(maskwright.Error, ValueError):
                    masks(*grammars, fewest, prefix, n_rest, lost)
            continue
        for prefix in prefixes:
            try:
                matchers = [maskwright.Matcher(grammar) for grammar in grammars]
                if not all(matcher.accept_bytes(prefix) for matcher in matchers):
                    continue
                least = timed("exact", matchers[0].tokens_to_finish)
                status = matchers[0].tokens_to_finish_status()
                upper = timed("aligned", matchers[1].tokens_to_finish)
                texts = [timed("aligned text", lambda: rest_of(matchers[1])), timed("fewest bytes", lambda: rest_of(matchers[2]))]
            except maskwright.Error:
                continue
            respelled, of_bytes = (fewest(text) + 1 for text in texts)
            row = {"exact": least, "aligned": upper, "respelled": respelled, "fewest bytes": of_bytes}
            row |= {"best": min(upper, respelled, of_bytes), "id": record["id"], "status": status, "texts": texts, "prefix": prefix}
            found["inside" if prefix else "start"].append(row)
    for slack, (n, n_less, share, n_looked_at) in lost.items() if arguments.masks else ():
        print(f"slack {slack}: {n:.0f} masks, {n_less / n:.1%} lose tokens, {share / n:.2%} of the allowed tokens; {n_looked_at:.0f} looked at")
    for where, rows in found.items() if not arguments.masks else ():
        n = len(rows)
        print(f"{where}: {n} places, {sum(row['status'] == 'exact' for row in rows)} exact")
        for name in ("aligned", "respelled", "fewest bytes", "best"):
            more = sorted(row[name] - row["exact"] for row in rows)
            near = sum(row[name] - row["exact"] <= max(3, row["exact"] / 10) for row in rows)
            print(f"  {name}: least {more.count(0) / n:.1%}, at most 3 more {sum(each <= 3 for each in more) / n:.1%}, ", end="")
            print(f"within 3 or a tenth {near / n:.1%}, worst {more[-1]}")
        for row in sorted(rows, key=lambda row: row["exact"] - row["best"])[: arguments.worst]:
            print("   ", {key: value for key, value in row.items() if key != "texts"} | {"texts": [text[:300] for text in row["texts"]]})
    print({name: round(seconds, 2) for name, seconds in spent.items()}, "s of processor time")


if __name__ == "__main__":
    main()
