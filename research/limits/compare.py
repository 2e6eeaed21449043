"""Limits on tokens in two versions of the package, side by side: the numbers of tokens that complete a text, and the masks close to a limit.

    pip install --target BEFORE ./python  # of one commit, and AFTER of another
    python research/limits/compare.py BEFORE AFTER TOKENIZER MASKBENCH [--every 20] [--slacks 0,1,3]

For schemas of MaskBench, at the start of a text and at a quarter, half and three quarters of a valid instance: how often the second version's
`tokens_to_finish` is that of the first, is at most 3 more, and at most 3 or a tenth more. With `--slacks`: along each instance, under limits of as many
tokens as it takes and so many more, which share of the first version's allowed tokens the second's masks lack.

The version before completions were chosen (2026-11-28, 3414bd53) searched for the least number over all ways to spell all texts.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path


def work(package, tokenizer, maskbench, every, first, slacks):
    """Prints an object for each schema: the numbers, and the sizes of the masks by slack; at last the seconds of processor time for both."""
    sys.path.insert(0, package)
    import maskwright
    import numpy as np

    assert Path(maskwright.__file__).is_relative_to(Path(package).resolve()), maskwright.__file__
    warnings.simplefilter("ignore")
    if tokenizer == "bytes":
        tokenizer = maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)] + [b"</s>"], eos_token_ids=[256])
    else:
        tokenizer = maskwright.Tokenizer.from_file(tokenizer)
    records = [json.loads(line) for file in sorted(Path(maskbench).glob("*.jsonl")) for line in file.open()]
    compiler, spent = maskwright.Compiler(tokenizer), {"numbers": 0.0, "masks": 0.0}
    row = np.zeros((1, (tokenizer.vocab_size + 31) // 32), np.int32)

    def timed(name, call):
        start = time.thread_time()
        try:
            return call()
        finally:
            spent[name] += time.thread_time() - start

    def sizes(grammar, ids, limit):
        """The sizes of the masks along a text; "refused" if the limit is too small, and at the end if a token is."""
        try:
            matcher, found = maskwright.Matcher(grammar, limit), []
            for token in [*ids, None]:
                timed("masks", lambda: matcher.fill_next_token_bitmask(row, 0))
                found.append(int(np.unpackbits(row.view(np.uint8)).sum()))
                if token is not None and not matcher.accept_token(token):
                    return [*found, "refused"]
            return found
        except (maskwright.Error, ValueError):
            return "refused"

    for record in sorted(records, key=lambda record: record["id"])[first::every]:
        try:
            grammar = compiler.compile_json_schema(json.dumps(record["schema"]))
        except maskwright.Error:
            continue
        valid, ids = next((test["data"] for test in record["tests"] if test["valid"]), None), []
        if valid is not None:
            text = json.dumps(valid, ensure_ascii=False)
            ids = list(text.encode()) if tokenizer.vocab_size == 257 else tokenizer.encode(text)
        numbers = []
        for share in range(4 if ids else 1):
            matcher, prefix = maskwright.Matcher(grammar), ids[: len(ids) * share // 4]
            try:
                known = matcher.accept_tokens(prefix) == len(prefix)
                numbers.append(timed("numbers", matcher.tokens_to_finish) if known else None)
            except maskwright.Error as error:
                numbers.append(str(error))
        masks = {slack: sizes(grammar, ids, len(ids) + 1 + slack) for slack in slacks if ids}
        print(json.dumps({"id": record["id"], "numbers": numbers, "masks": masks}), flush=True)
    print(json.dumps(spent))


def report(before, after, slacks):
    for where, places in (("start", slice(0, 1)), ("inside", slice(1, None))):
        pairs = []
        for name, record in before.items():
            for old, new in zip(record["numbers"][places], after[name]["numbers"][places], strict=True):
                if isinstance(old, int):
                    assert isinstance(new, int), (name, old, new)
                    pairs.append((new - old, old, name))
        shares = [sum(map(near, pairs)) / max(1, len(pairs)) for near in (lambda p: p[0] == 0, lambda p: p[0] <= 3, lambda p: p[0] <= max(3, p[1] / 10))]
        equal, at_most_3, near = shares
        print(f"{where}: {len(pairs)} places; equal {equal:.1%}, at most 3 more {at_most_3:.1%}, 3 or a tenth {near:.1%}; most: {sorted(pairs)[-4:]}")
    for slack in map(str, slacks):
        texts = [(record["masks"][slack], after[name]["masks"][slack]) for name, record in before.items() if slack in record["masks"]]
        n_masks = n_less = n_late = 0
        lost = 0.0
        for old, new in texts:
            if old == "refused" or new == "refused":
                continue
            for n_old, n_new in zip(old, new, strict=False):
                if n_old == "refused" or n_new == "refused":
                    n_late += n_new == "refused"
                    break
                n_masks, n_less, lost = n_masks + 1, n_less + (n_new < n_old), lost + (n_old - n_new) / max(1, n_old)
        n_refused = sum(new == "refused" != old for old, new in texts)
        print(f"slack {slack}: {len(texts)} texts, {n_refused} refused at once, {n_late} later; ", end="")
        print(f"{n_masks} masks, {n_less / max(1, n_masks):.2%} lose tokens, {lost / max(1, n_masks):.3%} of the allowed tokens")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("tokenizer", help='a tokenizer.json, or "bytes" for the vocabulary of single bytes')
    parser.add_argument("maskbench", help="the folder with the .jsonl files")
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--first", type=int, default=3)
    parser.add_argument("--slacks", default="", help="such as 0,1,3")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    slacks = [int(slack) for slack in arguments.slacks.split(",") if slack]
    if arguments.work:
        return work(arguments.work, arguments.tokenizer, arguments.maskbench, arguments.every, arguments.first, slacks)
    found = []
    processes = [subprocess.Popen([sys.executable, *sys.argv, "--work", each], stdout=subprocess.PIPE, text=True) for each in (arguments.before, arguments.after)]
    for process in processes:
        *lines, spent = map(json.loads, process.stdout)
        found.append({line["id"]: line for line in lines})
        print({name: round(seconds, 2) for name, seconds in spent.items()}, "s of processor time")
    return report(*found, slacks)


if __name__ == "__main__":
    main()
