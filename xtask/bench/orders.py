"""Objects in the order of their schema beside objects in any order: the time of masks, and the share of exact ones under limits.

usage: orders.py TOKENIZER MASKBENCH_FOLDER [EVERY]

Times are of masks over valid texts that both orders accept, read token by token, with one compiler for each order. Under limits, texts are
written by random choices from the masks, with the least number of tokens and up to 40 more; each such text must be accepted in time.
"""

from __future__ import annotations

import glob
import json
import os
import random
import sys
import time
import warnings
from typing import Any

import maskwright
import numpy as np

ORDERS = ("schema", "any")
SPARES = (0, 1, 2, 4, 8, 16, 40)
SLOW = 0.020


class Order:
    """What was measured with one property order."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        self.name = name
        self.compiler = maskwright.Compiler(tokenizer)
        self.mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
        self.seconds = 0.0
        self.n_masks = 0
        #: The slowest mask of each text, and the schema.
        self.slowest: list[tuple[float, str]] = []
        #: By spare tokens: masks that are exact, and masks.
        self.shares = {spare: [0, 0] for spare in SPARES}
        self.bounds: dict[str, int] = {}

    def compile(self, schema: str) -> Any:
        return self.compiler.compile_json_schema(schema, numbers="any", property_order=self.name)

    def read(self, grammar: Any, ids: list[int], schema_id: str) -> None:
        """Times the masks of a text."""
        matcher = maskwright.Matcher(grammar)
        slowest = 0.0
        for token in ids:
            begin = time.perf_counter()
            matcher.fill_next_token_bitmask(self.mask)
            seconds = time.perf_counter() - begin
            self.seconds += seconds
            slowest = max(slowest, seconds)
            matcher.accept_token(token)
        self.n_masks += len(ids)
        self.slowest.append((slowest, schema_id))

    def write(self, grammar: Any, spare: int, schema_id: str, choice: random.Random) -> None:
        """Writes a text within a limit."""
        matcher = maskwright.Matcher(grammar)
        limit = min(matcher.tokens_to_finish() + spare, 400)
        try:
            matcher = maskwright.Matcher(grammar, max_tokens=limit)
        except ValueError:  # a text of more than 400 tokens
            return
        counts = self.shares[spare]
        while not matcher.is_terminated():
            matcher.fill_next_token_bitmask(self.mask)
            is_exact = matcher.mask_status == "exact"
            counts[0] += is_exact
            counts[1] += 1
            if not is_exact:
                self.bounds[schema_id] = self.bounds.get(schema_id, 0) + 1
            allowed = np.flatnonzero(np.unpackbits(np.asarray(self.mask)[0].view(np.uint8), bitorder="little"))
            assert len(allowed) and matcher.accept_token(int(choice.choice(allowed))), f"{schema_id} with {limit} tokens"

    def report(self) -> None:
        n_slow = sum(seconds > SLOW for seconds, _ in self.slowest)
        seconds, schema_id = max(self.slowest)
        mean = self.seconds / self.n_masks * 1e6
        print(f"{self.name}: {self.n_masks} masks, mean {mean:.1f} us; {n_slow} of {len(self.slowest)} texts have one over 20 ms")
        print(f"    the slowest {seconds * 1e3:.0f} ms ({schema_id})")
        n_exact, n_masks = map(sum, zip(*self.shares.values(), strict=True))
        each = ", ".join(f"+{spare} {100 * exact / max(n, 1):.2f}%" for spare, (exact, n) in self.shares.items())
        print(f"    exact within limits: {100 * n_exact / max(n_masks, 1):.3f}% of {n_masks} masks ({each})")
        for schema_id, n in sorted(self.bounds.items(), key=lambda item: -item[1])[:8]:
            print(f"        {n} bounds: {schema_id}")


def main() -> None:
    warnings.simplefilter("ignore")
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    tokenizer = maskwright.Tokenizer.from_file(sys.argv[1])
    records = []
    for file in sorted(glob.glob(os.path.join(sys.argv[2], "*.jsonl"))):
        with open(file, encoding="utf-8") as lines:
            records += map(json.loads, lines)
    records.sort(key=lambda record: record["id"])
    orders = [Order(tokenizer, name) for name in ORDERS]
    told = time.monotonic()
    for at, record in enumerate(records[::every]):
        if time.monotonic() - told > 2:
            told = time.monotonic()
            print(f"{at} of {len(records[::every])}: {record['id']}", file=sys.stderr, flush=True)
        schema = json.dumps(record["schema"])
        try:
            grammars = [order.compile(schema) for order in orders]
        except maskwright.Error:
            continue
        for test in record["tests"]:
            ids = tokenizer.encode(json.dumps(test["data"], ensure_ascii=False))
            # No mask is made by that.
            if all(maskwright.Matcher(grammar).validate_tokens(ids) == len(ids) for grammar in grammars):
                for order, grammar in zip(orders, grammars, strict=True):
                    order.read(grammar, ids, record["id"])
        for order, grammar in zip(orders, grammars, strict=True):
            try:
                order.write(grammar, SPARES[at % len(SPARES)], record["id"], random.Random(at))
            except maskwright.LimitError as error:
                print(f"{record['id']}, {order.name}: {error}", flush=True)
    if not orders[0].slowest:
        sys.exit("no text of the schemas is accepted in both orders: is that the folder of MaskBench?")
    for order in orders:
        order.report()


if __name__ == "__main__":
    main()
