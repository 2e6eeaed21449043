"""What the tests share: small tokenizers, and the real ones where they are."""

import importlib.util
import os
import sys
from pathlib import Path

# Before numpy is imported: on a busy machine, several threads for a small product take a hundred times as long as one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import maskwright
import numpy as np
import pytest

SHARED = Path(os.environ.get("MASKWRIGHT_SHARED") or Path(__file__).parents[2] / ".." / "shared")

#: Single bytes, some of them joined, then the end of the text.
WORDS = [b"yes", b"no", b"true", b"false", b"null", b'{"', b'":', b'"}', b", ", b": ", b"12", b"ab", b'"a"', b"\xc3\xa9"]


def count_skipped(test, path):
    """Lists a test that lacks real data; `cargo xtask test` prints how many there are."""
    if "MASKWRIGHT_SKIPPED" in os.environ:
        with open(os.environ["MASKWRIGHT_SKIPPED"], "a", encoding="utf-8") as file:
            file.write(f"{test}\t{path}\n")


def pytest_runtest_logreport(report):
    if report.skipped and "MASKWRIGHT_SHARED" in str(report.longrepr):
        count_skipped(report.nodeid, SHARED)


def pytest_terminal_summary(terminalreporter):
    if importlib.util.find_spec("torch") is None:
        terminalreporter.write_line("torch is not installed: the tests of tensors were skipped")
    # It is loaded if pages were tested.
    if (runner := sys.modules.get("page_runner")) and runner.OUTCOMES:
        terminalreporter.write_line(runner.summary())


@pytest.fixture(scope="session")
def tokenizer():
    return maskwright.Tokenizer.from_tokens([bytes([b]) for b in range(256)] + WORDS + [b"</s>"], eos=[270])


@pytest.fixture(scope="session")
def compiler(tokenizer):
    return maskwright.Compiler(tokenizer)


@pytest.fixture(scope="session")
def tokenizer_file(tmp_path_factory):
    """A real tokenizer.json, or one trained here."""
    real = SHARED / "tokenizers" / "llama3_1" / "tokenizer.json"
    if real.is_file():
        return real
    count_skipped("tests of real tokenizers", real)
    import tokenizers

    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    trained.train_from_iterator(['{"name": "Ada", "age": 36}', "the quick brown fox"] * 20, trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    trained.save(str(path))
    return path


@pytest.fixture(scope="session")
def real_tokenizer(tokenizer_file):
    return maskwright.Tokenizer.from_file(tokenizer_file)


@pytest.fixture(scope="session")
def real_compiler(real_tokenizer):
    return maskwright.Compiler(real_tokenizer)


@pytest.fixture
def counted_samples(monkeypatch, tmp_path):
    """Gives what was counted in this test, as a page of Prometheus shows it."""
    multiprocess = pytest.importorskip("prometheus_client.multiprocess")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    return lambda: [sample for metric in multiprocess.MultiProcessCollector(None).collect() for sample in metric.samples]


@pytest.fixture
def counted(counted_samples):
    """Sums what was counted in this test, by the name of a sample and labels."""

    def total(name, **labels):
        return sum(each.value for each in counted_samples() if each.name == name and labels.items() <= each.labels.items())

    return total


def allowed(matcher, vocab_size):
    """The tokens of a matcher's mask."""
    mask = maskwright.allocate_token_bitmask(1, vocab_size)
    matcher.fill_next_token_bitmask(mask)
    return unpack(mask[0], vocab_size)


def unpack(row, vocab_size):
    """The tokens of a row, none of which may be beyond the vocabulary."""
    tokens = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
    assert all(token < vocab_size for token in tokens)
    return tokens


def brute_force(matcher, vocab_size):
    """The tokens that a matcher would accept, tried one by one."""
    return [token for token in range(vocab_size) if matcher.validate_tokens([token]) == 1]
