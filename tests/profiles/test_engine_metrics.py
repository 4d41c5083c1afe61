"""The tables of engines' metrics hold together, and agree with the stand-ins of the sandbox."""

import re

import pytest
from inferfleet.profiles.metrics.table import metrics_of
from inferfleet.profiles.metrics.values import EngineMetrics

from inferfleet.profiles.engines import engine
from sandbox.engine.load import Load
from sandbox.engine.metrics import metrics
from sandbox.engine.settings import Settings

KINDS = ("vLLM", "SGLang", "TensorRT-LLM", "Triton")
_TYPE = re.compile(r"# TYPE (\S+) (\S+)")


def _table(kind: str) -> EngineMetrics:
    known = metrics_of(kind)
    assert known is not None
    return known


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_has_one_type_and_the_prefix_of_its_engine(kind: str) -> None:
    known = _table(kind)
    summaries = (*known.summaries, *known.bare_summaries)
    parts = [known.gauges, known.counters, known.histograms, summaries, known.fixed, known.old]
    every = [name for part in parts for name in part]
    assert len(every) == len(set(every))
    assert [name for name in every if not name.startswith(known.prefix)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_instead_is_a_gauge(kind: str) -> None:
    known = _table(kind)
    named = {known.example, *known.lacking, *known.mixed, *(old.instead for old in known.old.values())}
    assert named - {None} <= set(known.gauges)


@pytest.mark.parametrize("kind", KINDS)
def test_the_stand_in_has_metrics_of_the_table_with_their_types(kind: str) -> None:
    known = _table(kind)
    text = metrics(Settings(engine(kind).label, ("m",), 8000, 8000, 4), Load(4))
    for name, type_ in _TYPE.findall(text):
        of = {
            "gauge": {*known.gauges, *known.fixed},
            "counter": {*known.counters, *(f"{counter}_total" for counter in known.counters)},
        }
        assert name in of[type_], (name, type_)


def test_only_vllm_and_sglang_serve_nothing_but_names_with_their_prefix() -> None:
    assert [(kind, _table(kind).prefix) for kind in KINDS if _table(kind).prefixed] == [
        ("vLLM", "vllm:"),
        ("SGLang", "sglang:"),
    ]
