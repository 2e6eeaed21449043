"""The counters of a server, and the alerts and the dashboard over them. `cargo xtask hosts vllm` runs their queries."""

import re
from pathlib import Path
from typing import get_args

import pytest
from maskwright.integrations._serving import metrics, specs

OPERATING = Path(__file__).parents[2] / "docs/operating"


@pytest.mark.parametrize("name", ["alerts.yml", "dashboard.json"])
def test_what_is_asked_for_is_counted(name):
    text = (OPERATING / name).read_text(encoding="utf-8").replace('\\"', '"')
    asked = set(re.findall(r"\bmaskwright_\w+", text))
    samples = {"maskwright_info", "maskwright_grammar_bytes"} | {f"{counter}_total" for counter in metrics._LABELS}
    samples |= {f"{histogram}_{part}" for histogram in metrics._BOUNDS for part in ("bucket", "sum", "count")}
    assert len(asked) > 8 and asked <= samples, asked - samples
    values = {label: set(given) for labels in metrics._LABELS.values() for label, given in labels.items()}
    for label, value in re.findall(r'(\w+)=~?"([^"$]+)"', text):
        assert label == "job" or set(value.split("|")) <= values[label], (label, value)


def test_kinds_are_those_of_requests():
    assert metrics._LABELS["maskwright_compilations"]["kind"] == get_args(specs.Kind)


def test_counters_begin_with_0(counted_samples):
    metrics.started()
    samples = {(each.name, *sorted(each.labels.values())): each.value for each in counted_samples()}
    assert samples["maskwright_requests_refused_total", "work"] == 0
    assert samples["maskwright_masks_total", "bound", "known"] == samples["maskwright_texts_failed_total",] == 0
    metrics.count("maskwright_requests_refused", reason="work")
    assert {(each.name, *each.labels.values()): each.value for each in counted_samples()}["maskwright_requests_refused_total", "work"] == 1
