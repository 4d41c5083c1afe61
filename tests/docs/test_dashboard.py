"""The dashboard asks for metrics and labels that there are, and for each in the way of its type."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from known_metrics import KNOWN, VLLM

FILE = Path(__file__).parent.parent.parent / "docs" / "guides" / "monitoring-dashboard.json"
DASHBOARD: dict[str, Any] = json.loads(FILE.read_text())
_NAME = re.compile(r"\b(?:vllm|sglang):\w+|\b(?:inference|llm_d)_\w+")


def _expressions() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"]


def _family(name: str) -> str:
    return name.removesuffix("_bucket")


def test_every_metric_of_the_dashboard_is_known_and_every_known_one_is_asked_for() -> None:
    variables = [json.dumps(one) for one in DASHBOARD["templating"]["list"]]
    asked = {_family(name) for text in (*_expressions(), *variables) for name in _NAME.findall(text)}
    assert asked == KNOWN.keys()


def test_a_running_vllm_has_the_metrics_that_the_dashboard_asks_for() -> None:
    table = json.loads(Path(__file__).with_name("vllm_metrics.json").read_text())
    served = {family["name"]: family["type"] for family in table["families"]}
    assert {name: served.get(name.removesuffix("_total")) for name in VLLM} == VLLM


def test_counters_are_rates_histograms_quantiles_and_gauges_neither() -> None:
    for expression in _expressions():
        for name in _NAME.findall(expression):
            rated = f"rate({name}{{" in expression
            quantile = name.endswith("_bucket") and "histogram_quantile(" in expression
            assert (KNOWN[_family(name)], rated, quantile) in {
                ("counter", True, False),
                ("histogram", True, True),
                ("gauge", False, False),
            }, expression


def test_all_that_is_asked_for_is_of_the_chosen_deployments() -> None:
    chosen = '{namespace=~"$namespace", model_deployment=~"$model_deployment"}'
    for expression in _expressions():
        assert expression.count(chosen) == len(_NAME.findall(expression)), expression


def test_panels_have_places_of_their_own() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
