"""How sessions of one grammar share two cores.

    python parallel.py TOKENIZER

Cold: a batch of 64 sessions of one grammar, each in front of a pattern that nothing is known of yet, on one thread and on
two; a fresh compiler each time. Warm: batches of 256 known masks of one grammar, from one thread and from two at
once. Prints the medians of alternating runs. Masks are compared with those of a single thread.
"""

import statistics
import sys
import threading
import time

import maskwright


#: The kinds that schemas have: anchored, searched for, counted, with alternatives.
PATTERNS = [
    r"%s",
    r"^https?://%s[a-z0-9./-]*$",
    r"^%s-[0-9a-f]{8}-[0-9a-f]{4}$",
    r"^([A-Za-z0-9+/]{4})*%s$",
    r"^[a-z0-9._-]+@%s\.(com|org)$",
    r"^[0-9]{1,3}(\.[0-9]{1,3})*-%s$",
    r"^(%s|[A-Z][a-z]+)( [A-Z][a-z]+)*$",
    r"^v?[0-9]+\.[0-9]+(-%s[0-9A-Za-z.-]+)?$",
]
WORDS = ["north", "river", "stone", "amber", "cloud", "maple", "delta", "orbit"]
N_COLD = len(PATTERNS) * len(WORDS)
RUNS = 7


def cold_batch(tokenizer, n_threads):
    """Seconds that the batch takes, and its masks."""
    compiler = maskwright.Compiler(tokenizer, threads=n_threads)
    patterns = [pattern % word for word in WORDS for pattern in PATTERNS]
    properties = {f"p{i}": {"type": "string", "pattern": patterns[i]} for i in range(N_COLD)}
    grammar = compiler.compile_json_schema({"type": "object", "properties": properties, "additionalProperties": False})
    matchers = []
    for i in range(N_COLD):
        matcher = maskwright.Matcher(grammar)
        assert matcher.accept_bytes(b'{"p%d": "' % i)
        matchers.append(matcher)
    mask = maskwright.allocate_token_bitmask(N_COLD, tokenizer.vocab_size)
    start = time.perf_counter()
    maskwright.fill_next_token_bitmask_batch(matchers, mask)
    return time.perf_counter() - start, mask


def warm_throughput(tokenizer, n_threads, seconds=1.0):
    """Masks per second of `n_threads` threads, each with batches of its own."""
    compiler = maskwright.Compiler(tokenizer, threads=1)
    grammar = compiler.compile_json_schema({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}})
    texts = [b"[", b'[{"a": 1', b'[{"b": "x', b'[{"a": 12, "b": "', b"[{}, "]
    counts = [0] * n_threads
    start = threading.Barrier(n_threads)

    def fill(index):
        matchers = []
        for i in range(256):
            matcher = maskwright.Matcher(grammar)
            assert matcher.accept_bytes(texts[i % len(texts)])
            matchers.append(matcher)
        mask = maskwright.allocate_token_bitmask(256, tokenizer.vocab_size)
        maskwright.fill_next_token_bitmask_batch(matchers, mask)
        start.wait()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            maskwright.fill_next_token_bitmask_batch(matchers, mask)
            counts[index] += 256

    threads = [threading.Thread(target=fill, args=[index]) for index in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def main():
    tokenizer = maskwright.Tokenizer.from_file(sys.argv[1])
    _, expected = cold_batch(tokenizer, 1)
    cold, warm = {1: [], 2: []}, {1: [], 2: []}
    for _ in range(RUNS):
        for n_threads in (1, 2):
            seconds, mask = cold_batch(tokenizer, n_threads)
            assert (mask == expected).all(), "masks differ"
            cold[n_threads].append(seconds)
            warm[n_threads].append(warm_throughput(tokenizer, n_threads))
    cold = {n: statistics.median(seconds) for n, seconds in cold.items()}
    warm = {n: statistics.median(rates) for n, rates in warm.items()}
    print(f"{N_COLD} cold sessions: one thread {cold[1] * 1e3:.1f} ms, two {cold[2] * 1e3:.1f} ms: {cold[2] / cold[1]:.2f} of it")
    print(f"warm masks a second: one thread {warm[1]:,.0f}, two {warm[2]:,.0f}: {warm[2] / warm[1]:.2f} times as many")


if __name__ == "__main__":
    main()
