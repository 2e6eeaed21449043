"""A server in one process: threads that compile hard schemas while others fill masks. Run by `test_serving.py` for a
few seconds each, and by `cargo xtask bench serving` for minutes.

    python serving.py SCENARIO --data DIR --tokenizer FILE [--seconds N] [--compile-threads N]

Scenarios: `one` (the main thread replays instances), `eight` (eight threads do), `batch` (batches of 256 sequences),
`cancel` (compilations are cancelled at random), `interrupt` (SIGINT at random, as from Ctrl-C), `fork` (the process
forks while it works; each child fills masks with the sessions of its parent).

DIR holds the .jsonl files of MaskBench. Prints one line of JSON: how many calls of each kind there were and the slowest
of each, in seconds. Exits with 1 if a call took longer than `--slowest`, and if nothing moves for `--watchdog`
seconds, prints where every thread is and exits with 1 as well.
"""

import argparse
import faulthandler
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import maskwright
import tokenizers

COMPILED = ["Github_ultra", "Github_hard", "JsonSchemaStore"]
REPLAYED = "Github_medium"
#: Sequences of a batch.
BATCH = 256


class Calls:
    """How many calls of each kind there were, and the slowest."""

    def __init__(self, watchdog):
        self.n, self.slowest, self.total, self.watchdog = {}, {}, {}, watchdog
        self.last_rearmed = 0.0

    def __call__(self, kind, call):
        start = time.perf_counter()
        try:
            return call()
        finally:
            took = time.perf_counter() - start
            self.n[kind] = self.n.get(kind, 0) + 1
            self.total[kind] = self.total.get(kind, 0.0) + took
            self.slowest[kind] = max(self.slowest.get(kind, 0.0), took)

    def is_alive(self):
        """Puts the watchdog off: called by a thread that masks."""
        now = time.monotonic()
        if now - self.last_rearmed > 1:
            self.last_rearmed = now
            faulthandler.dump_traceback_later(self.watchdog, exit=True)


class Server:
    """The compiler that all threads share, the schemas they compile, and the texts they replay."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.calls = Calls(arguments.watchdog)
        tokenizer = maskwright.Tokenizer.from_file(arguments.tokenizer)
        self.vocab_size = tokenizer.vocab_size
        self.compiler = maskwright.Compiler(tokenizer)
        self.encoder = tokenizers.Tokenizer.from_file(str(arguments.tokenizer))
        lines = [line for name in COMPILED for line in read(arguments.data / f"{name}.jsonl")]
        self.schemas = [json.dumps(line["schema"]) for line in lines]
        self.replayed = read(arguments.data / f"{REPLAYED}.jsonl")
        self.end = time.monotonic() + arguments.seconds
        self.failures = []
        self.cancels = {}

    def is_over(self):
        return time.monotonic() > self.end or bool(self.failures)

    def compile_in_a_loop(self, seed):
        order = random.Random(seed)
        while not self.is_over():
            schema = order.choice(self.schemas)
            cancel = maskwright.CancelToken()
            if self.arguments.scenario == "cancel":
                self.cancels[seed] = cancel
            try:
                self.calls("compile", lambda: self.compiler.compile_json_schema(schema, property_order="any", strict=False, cancel=cancel))
            except maskwright.WorkCancelled:
                self.calls("cancelled", lambda: None)
            except maskwright.Error:
                self.calls("refused", lambda: None)
            except Exception as error:
                self.failures.append(f"a compilation raised {error!r}")

    def cancel_in_a_loop(self, seed):
        pause = random.Random(seed)
        while not self.is_over():
            time.sleep(pause.uniform(0.0005, 0.02))
            for cancel in list(self.cancels.values()):
                cancel.cancel()

    def session(self, order):
        """A new session of some schema and the tokens of one of its instances."""
        while True:
            line = order.choice(self.replayed)
            valid = [test["data"] for test in line["tests"] if test["valid"]]
            if not valid:
                continue
            schema = json.dumps(line["schema"])
            try:
                grammar = self.calls("compile", lambda: self.compiler.compile_json_schema(schema, property_order="any", strict=False))
            except ValueError:
                continue
            text = json.dumps(order.choice(valid), ensure_ascii=False)
            return maskwright.Matcher(grammar), self.encoder.encode(text, add_special_tokens=False).ids

    def replay(self, order):
        """One instance, mask by mask."""
        mask = maskwright.allocate_token_bitmask(1, self.vocab_size)
        matcher, ids = self.session(order)
        for token in ids:
            self.calls.is_alive()
            if self.is_over():
                return
            self.calls("mask", lambda: matcher.fill_next_token_bitmask(mask))
            is_allowed = bool(mask[0, token >> 5] >> (token & 31) & 1)
            if self.calls("accept", lambda: matcher.accept_token(token)) != is_allowed:
                self.failures.append("a mask and accept_token disagree")
            if not is_allowed:
                return

    def replay_in_a_loop(self, seed):
        order = random.Random(seed)
        while not self.is_over():
            self.replay(order)

    def batches_in_a_loop(self, seed):
        order = random.Random(seed)
        mask = maskwright.allocate_token_bitmask(BATCH, self.vocab_size)
        sessions = [self.session(order) for _ in range(16)]
        running = []
        while not self.is_over():
            while len(running) < BATCH:
                if order.random() < 0.05:
                    sessions[order.randrange(16)] = self.session(order)
                matcher, ids = sessions[order.randrange(16)]
                running.append((matcher.fork(), iter(ids)))
            self.calls.is_alive()
            matchers = [matcher for matcher, _ in running]
            self.calls("batch", lambda: maskwright.fill_next_token_bitmask_batch(matchers, mask))
            left = []
            for row, (matcher, ids) in enumerate(running):
                token = next(ids, None)
                if token is None:
                    continue
                is_allowed = bool(mask[row, token >> 5] >> (token & 31) & 1)
                if self.calls("accept", lambda: matcher.accept_token(token)) != is_allowed:
                    self.failures.append("a mask and accept_token disagree")
                if is_allowed:
                    left.append((matcher, ids))
            running = left

    def interrupt_in_a_loop(self, seed):
        pause = random.Random(seed)
        while not self.is_over():
            time.sleep(pause.uniform(0.02, 0.2))
            self.interrupted_at = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)

    def replay_with_interruptions(self, seed):
        """Ctrl-C comes out of whatever call it meets, soon, and what comes after it works."""
        order = random.Random(seed)
        while True:
            try:
                if self.is_over():
                    return
                self.replay(order)
                schema = order.choice(self.schemas)
                self.compiler.compile_json_schema(schema, property_order="any", strict=False)
            except ValueError:
                pass
            except KeyboardInterrupt:
                self.calls.is_alive()
                took = time.perf_counter() - self.interrupted_at
                self.calls.n["interrupt"] = self.calls.n.get("interrupt", 0) + 1
                self.calls.slowest["interrupt"] = max(self.calls.slowest.get("interrupt", 0.0), took)

    def fork_in_a_loop(self, seed):
        """Each child replays what is left of a text with its parent's session, and a text of a new schema."""
        order = random.Random(seed)
        while not self.is_over():
            matcher, ids = self.session(order)
            half = matcher.accept_tokens(ids[: len(ids) // 2])
            self.calls.is_alive()
            child = self.calls("fork", os.fork)
            if child == 0:
                # The thread of faulthandler's timer is gone; a child that hangs is ended by a signal.
                self.calls.is_alive = lambda: None
                signal.alarm(int(self.arguments.watchdog))
                status = 1
                try:
                    self.end = time.monotonic() + 60
                    mask = maskwright.allocate_token_bitmask(1, self.vocab_size)
                    for token in ids[half:]:
                        matcher.fill_next_token_bitmask(mask)
                        if not matcher.accept_token(token):
                            break
                    self.replay(order)
                    status = 2 if self.failures else 0
                finally:
                    os._exit(status)
            _, status = self.calls("child", lambda: os.waitpid(child, 0))
            if status != 0:
                self.failures.append(f"a child ended with status {os.waitstatus_to_exitcode(status)}")

    def run(self):
        scenario, n_compile = self.arguments.scenario, self.arguments.compile_threads
        others = [(self.compile_in_a_loop, 100 + i) for i in range(n_compile)]
        if scenario == "cancel":
            others.append((self.cancel_in_a_loop, 200))
        if scenario == "interrupt":
            others.append((self.interrupt_in_a_loop, 300))
        if scenario == "eight":
            others += [(self.replay_in_a_loop, seed) for seed in range(1, 8)]
        threads = [threading.Thread(target=work, args=[seed]) for work, seed in others]
        main = {
            "batch": self.batches_in_a_loop,
            "interrupt": self.replay_with_interruptions,
            "fork": self.fork_in_a_loop,
        }.get(scenario, self.replay_in_a_loop)
        self.calls.is_alive()
        for thread in threads:
            thread.start()
        main(0)
        while any(thread.is_alive() for thread in threads):
            try:
                for thread in threads:
                    thread.join()
            except KeyboardInterrupt:  # The last one may come when all is over.
                pass


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", choices=["one", "eight", "batch", "cancel", "interrupt", "fork"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--compile-threads", type=int, default=2)
    parser.add_argument("--slowest", type=float, default=5, help="the most seconds that a call may take")
    parser.add_argument("--watchdog", type=float, default=30, help="seconds without a mask that are a freeze")
    arguments = parser.parse_args()
    faulthandler.enable()
    # A shell starts what runs in the background with this signal ignored, and Python leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    server = Server(arguments)
    server.run()
    faulthandler.cancel_dump_traceback_later()
    calls = server.calls
    slowest = {kind: round(took, 4) for kind, took in calls.slowest.items()}
    mean = {kind: round(calls.total[kind] / calls.n[kind], 7) for kind in calls.total}
    print(json.dumps({"scenario": arguments.scenario, "calls": calls.n, "slowest_s": slowest, "mean_s": mean}))
    too_slow = {kind: took for kind, took in slowest.items() if took > arguments.slowest and kind != "child"}
    if too_slow:
        server.failures.append(f"calls over {arguments.slowest} s: {too_slow}")
    for failure in server.failures[:5]:
        print(failure, file=sys.stderr)
    sys.exit(bool(server.failures))


if __name__ == "__main__":
    main()
