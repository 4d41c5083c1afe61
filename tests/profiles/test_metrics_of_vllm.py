"""What is known of vLLM's metrics against those that a running vLLM served."""

import json
from pathlib import Path

from inferfleet.profiles.metrics.vllm import VLLM


def test_every_metric_that_vllm_served_is_known_by_its_type() -> None:
    table = json.loads(Path(__file__).with_name("vllm_metrics.json").read_text(encoding="utf-8"))
    types = {
        "gauge": VLLM.gauges.keys() | VLLM.fixed,
        "counter": VLLM.counters,
        "histogram": VLLM.histograms,
    }
    assert [row for row in table["families"] if row["name"] not in types[row["type"]]] == []
    assert table["version"] == VLLM.read
