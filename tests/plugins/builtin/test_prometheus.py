"""prometheus shown on whole pods, engine by engine."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from inferfleet.plugins.api import Edited, PluginError, Request
from inferfleet.plugins.builtin.prometheus import Config, edit


def of(request: Request, engine: str, port: int) -> Request:
    return replace(request, deployment=replace(request.deployment, engine=engine, port=port))


def scraped(generated: dict[str, Any], port: str, path: str) -> dict[str, Any]:
    expected = copy.deepcopy(generated)
    expected["metadata"]["annotations"] = {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": port,
        "prometheus.io/path": path,
    }
    return expected


@pytest.mark.parametrize(
    ("engine", "port", "metrics_port", "path"),
    [
        ("vLLM", 8000, "8000", "/metrics"),
        ("TensorRT-LLM", 9000, "9000", "/prometheus/metrics"),
        ("Triton", 8000, "8002", "/metrics"),
        ("Other", 80, "80", "/metrics"),
    ],
)
def test_port_and_path_are_those_of_the_engine(
    generated: dict[str, Any], pod_request: Request, engine: str, port: int, metrics_port: str, path: str
) -> None:
    expected = scraped(generated, metrics_port, path)
    edited = edit(generated, of(pod_request, engine, port), Config())
    assert edited.template == expected
    assert bool(edited.remarks) == (engine in ("TensorRT-LLM", "Other"))


def test_sglang_is_told_to_serve_metrics(generated: dict[str, Any], pod_request: Request) -> None:
    expected = scraped(generated, "30000", "/metrics")
    expected["spec"]["containers"][1]["args"] = ["--enable-metrics"]
    assert edit(generated, of(pod_request, "SGLang", 30000), Config()) == Edited(expected)


def test_a_script_that_starts_sglang_has_to_have_the_flag(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["spec"]["containers"][1]["command"] = [
        "/bin/bash",
        "-ec",
        "exec python -m sglang.launch_server",
    ]
    edited = edit(generated, of(pod_request, "SGLang", 30000), Config())
    assert "args" not in edited.template["spec"]["containers"][1]
    assert edited.remarks == (
        "container engine is started by the script of a shell, which gets no flags; --enable-metrics must be "
        "in it",
    )


def test_the_config_wins_over_the_engine(generated: dict[str, Any], pod_request: Request) -> None:
    expected = scraped(generated, "9400", "/stats")
    assert edit(generated, pod_request, Config(port=9400, path="/stats")) == Edited(expected)


@pytest.mark.parametrize(("name", "value"), [("scrape", "false"), ("port", "9400"), ("path", "/stats")])
def test_another_annotation_of_the_template_is_refused(
    generated: dict[str, Any], pod_request: Request, name: str, value: str
) -> None:
    generated["metadata"]["annotations"] = {f"prometheus.io/{name}": value}
    with pytest.raises(
        PluginError, match=rf"prometheus.io/{name} .* which has {value}; remove one of the two"
    ):
        edit(generated, pod_request, Config())


def test_pods_of_a_chain_for_all_can_be_taken_out(generated: dict[str, Any], pod_request: Request) -> None:
    before = edit(generated, pod_request, Config()).template
    expected = copy.deepcopy(before)
    expected["metadata"]["annotations"]["prometheus.io/scrape"] = "false"
    assert edit(before, pod_request, Config(scrape=False)) == Edited(expected)


def test_pods_can_be_taken_out(generated: dict[str, Any], pod_request: Request) -> None:
    expected = copy.deepcopy(generated)
    expected["metadata"]["annotations"] = {"prometheus.io/scrape": "false"}
    assert edit(generated, pod_request, Config(scrape=False)) == Edited(expected)
