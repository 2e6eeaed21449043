"""The tables of the pages are those of the published results, and no published result has a violation."""

import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"


@pytest.fixture(autouse=True)
def _experiments(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "research" / "papers"))
    # A peer that only measurements need.
    monkeypatch.setitem(sys.modules, "outlines_core", types.ModuleType("outlines_core"))
    yield
    for name in [name for name in sys.modules if name.startswith(("lab", "page", "paper1", "paper2", "paper3", "paper4", "jsonschemabench"))]:
        del sys.modules[name]


def test_pages_show_the_published_results():
    import page

    for name in page.PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert text == page.rendered(text), f"{name}: run `cargo xtask papers --page`"
    assert (ROOT / "docs/papers.md").read_text(encoding="utf-8").count("<!-- results:") > 10


def test_no_published_result_has_what_must_never_be():
    from lab.results import Result

    n_texts = 0
    for path in sorted(RESULTS.glob("*.json")):
        result = Result.read(path)
        assert result.violations() == [], path.name
        n_texts += sum(n for _, n in result.never.values())
    assert n_texts > 5_000, "the results hold too few texts to claim anything"


def test_a_sample_is_compared_with_the_published_result():
    from lab.results import Result
    from lab.statistics import agree, wilson

    published = Result("x", {}, shares={"a": [90, 100]}, facts={"f": ["a"]}, ratios={"r": 10.0})
    assert published.differences(Result("x", {}, shares={"a": [8, 10]}, facts={"f": ["a"]}, ratios={"r": 20.0})) == []
    different = Result("x", {}, shares={"a": [1, 10], "b": [1, 1]}, facts={"f": ["b"]}, ratios={"r": 50.0})
    assert len(published.differences(different)) == 4
    assert Result("x", {}, never={"n": [1, 9]}).violations() == ["n: 1 of 9"]
    low, high = wilson(9, 10)
    assert low == pytest.approx(0.596, abs=1e-3) and high == pytest.approx(0.982, abs=1e-3)
    assert agree((9, 10), (40, 100)) is False


def test_a_log_continues_after_a_cut_line(tmp_path):
    from lab.log import Log

    path = tmp_path / "log.jsonl"
    log = Log(path, {"seed": 0})
    log.append("a", {"value": 1})
    with path.open("a") as file:
        file.write('{"key": "b", "val')
    again = Log(path, {"seed": 0})
    assert "a" in again and "b" not in again
    again.append("b", {"value": 2})
    assert Log(path, {"seed": 0}).entries["b"]["value"] == 2
    assert Log(path, {"seed": 1}).entries == {}
