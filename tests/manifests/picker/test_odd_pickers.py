"""What a picker ends with by the value of a flag, and what it starts with although nobody can mean it."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.api.kinds.inference_cluster import InferenceCluster, Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem
from inferfleet.manifests.picker.check import check_cluster, check_deployment
from inferfleet.profiles.table import names, picker, profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]
Said = list[tuple[str, str, str, str]]

GIE = "inference.networking.x-k8s.io/v1alpha1"


def _said(problems: Any, above: str) -> Said:
    """Severity, path, what and next step."""
    found: list[Problem] = list(problems)
    return [(one.severity, one.path.removeprefix(above), one.what, one.next_step) for one in found]


def of(document: ModelDeployment, serving: Serving, name: str = "gie-1.5") -> Said:
    found = check_deployment(document, serving=serving, profile=profile(name))
    return _said(found, "spec.endpointPicker.")


def _on_cluster(serving: Serving, name: str = "gie-1.5") -> Said:
    spec = {
        "cluster": {"source": "Existing", "existing": {"kubeconfig": {"configKey": "east"}}},
        "nodePools": [{"name": "l4", "className": "l4", "nodeCount": 1}],
        "serving": serving,
    }
    cluster = InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})
    return _said(check_cluster(cluster, profile(name)), "spec.serving.eppFlags.")


def plugin(type_: str, api: str = GIE, **parameters: Any) -> dict[str, Any]:
    plugins = [{"type": "queue-scorer"}, {"type": type_, "parameters": parameters}]
    return {"config": {"apiVersion": api, "kind": "EndpointPickerConfig", "plugins": plugins}}


REFUSED = [
    ("model-server-metrics-scheme", "ftp", "with which the picker exits", "Give it one of http, https"),
    ("zap-encoder", "xml", "with which the picker exits", "Give it one of json, console"),
    (
        "zap-time-encoding",
        "loud",
        "with which the picker exits",
        "Give it one of epoch, millis, nanos, iso8601, rfc3339, rfc3339nano",
    ),
    (
        "refresh-prometheus-metrics-interval",
        "0",
        "with which the picker ends: it is an interval",
        "Give it a duration of more than 0, such as 5s",
    ),
    (
        "refresh-metrics-interval",
        "9999999h",
        "which is longer than a duration can be",
        "Give it a shorter one, such as 5s",
    ),
    ("metrics-port", "70000", "which is no port", "Give it a port from 1 to 65535"),
    ("grpc-health-port", "0", "which is no port", "Give it a port from 1 to 65535"),
]


@pytest.mark.parametrize(("flag", "value", "why", "step"), REFUSED)
def test_a_value_with_which_the_picker_ends_is_an_error_wherever_it_stands(
    deployment: Make, serving: Serve, flag: str, value: str, why: str, step: str
) -> None:
    what = f"{flag} is {value!r}, {why}"
    own = of(deployment(endpointPicker={"flags": {flag: value}}), serving())
    assert own == [("error", f"flags.{flag}", what, step)]
    assert _on_cluster(serving(eppFlags={flag: value})) == [("error", flag, what, step)]


def test_two_flags_of_a_cluster_with_one_port_are_an_error(serving: Serve) -> None:
    what = "endpoint pickers would serve health and metrics both on port 9003"
    step = "Give one of the two another port"
    assert _on_cluster(serving(eppFlags={"metrics-port": 9003})) == [("error", "metrics-port", what, step)]


def test_an_interval_of_nothing_ends_the_picker_that_reads_metrics_without_the_data_layer(
    serving: Serve,
) -> None:
    row = picker("scheduler-0.7", disaggregated=True)
    spec = {
        "cluster": {"source": "Existing", "existing": {"kubeconfig": {"configKey": "east"}}},
        "nodePools": [{"name": "l4", "className": "l4", "nodeCount": 1}],
        "serving": serving(eppFlags={"refresh-metrics-interval": 0}),
    }
    cluster = InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})
    [found] = check_cluster(cluster, row)
    what = "refresh-metrics-interval is '0', with which the picker ends: it is an interval"
    assert (found.severity, found.what) == ("error", what)


ODD = [
    (
        {"refresh-metrics-interval": "1ns"},
        "refresh-metrics-interval",
        "refresh-metrics-interval is 1ns: the metrics of each pod are read that often, and already every "
        "50ms those of 100 pods keep 7.5 cores busy",
        "Write 150ms, or remove it",
    ),
    (
        {"refresh-metrics-interval": 0},
        "refresh-metrics-interval",
        "refresh-metrics-interval is 0, so 50ms is taken instead",
        "Write 150ms, or remove it",
    ),
    (
        {"refresh-prometheus-metrics-interval": "1ns"},
        "refresh-prometheus-metrics-interval",
        "refresh-prometheus-metrics-interval is 1ns: the averages over all pods are made anew that often",
        "Write 5s, or remove it",
    ),
    (
        {"metrics-staleness-threshold": "100ms"},
        "metrics-staleness-threshold",
        "metrics of pods are read every 150ms, and those older than 100ms (metrics-staleness-threshold) are "
        "left out of the averages of the InferencePool, which are then of no pods",
        "Write a metrics-staleness-threshold of several times 150ms",
    ),
    (
        {"cert-path": "/nosuch"},
        "cert-path",
        "cert-path is /nosuch, and nothing is mounted in the picker's pod",
        "Remove it, or use an image of the picker that has the file",
    ),
]


def test_averages_every_tenth_of_a_second_are_fine(serving: Serve) -> None:
    assert _on_cluster(serving(eppFlags={"refresh-prometheus-metrics-interval": "100ms"})) == []


@pytest.mark.parametrize(("flags", "flag", "what", "step"), ODD)
def test_what_nobody_can_mean_is_warned_of_wherever_it_stands(
    deployment: Make, serving: Serve, flags: dict[str, Any], flag: str, what: str, step: str
) -> None:
    own = of(deployment(endpointPicker={"flags": flags}), serving())
    assert own == [("warning", f"flags.{flag}", what, step)]
    assert _on_cluster(serving(eppFlags=flags)) == [("warning", flag, what, step)]


def test_only_pickers_of_router_0_10_have_a_shortest_interval_and_take_that_one(serving: Serve) -> None:
    taken = "refresh-metrics-interval is 10ms, so 50ms is taken instead"
    costs = (
        "refresh-metrics-interval is 10ms: the metrics of each pod are read that often, and already every "
        "50ms those of 100 pods keep 7.5 cores busy"
    )
    fast = serving(eppFlags={"refresh-metrics-interval": "10ms"})
    assert {name: [what for _, _, what, _ in _on_cluster(fast, name)] for name in names()} == {
        "gie-1.5": [costs],
        "router-0.10": [taken],
        "scheduler-0.7": [costs],
    }


@pytest.mark.parametrize(
    ("fields", "path", "what"),
    [
        (
            {"flags": {"model-server-metrics-path": "/nosuch"}},
            "flags.model-server-metrics-path",
            "metrics are read at /nosuch, and vLLM serves them at /metrics",
        ),
        (
            {"flags": {"model-server-metrics-port": 9999}},
            "flags.model-server-metrics-port",
            "metrics are read at port 9999, and vLLM serves them at 8000",
        ),
        (
            {"flags": {"model-server-metrics-scheme": "https"}},
            "flags.model-server-metrics-scheme",
            "metrics are read over https, and vLLM serves plain HTTP to probes and routes",
        ),
        (
            plugin("metrics-data-source", path="/nosuch"),
            "config.plugins[1].parameters.path",
            "metrics are read at /nosuch, and vLLM serves them at /metrics",
        ),
        (
            plugin("metrics-data-source", scheme="https"),
            "config.plugins[1].parameters.scheme",
            "metrics are read over https, and vLLM serves plain HTTP to probes and routes",
        ),
    ],
)
def test_metrics_that_a_known_engine_serves_elsewhere_are_warned_of(
    deployment: Make, serving: Serve, fields: dict[str, Any], path: str, what: str
) -> None:
    found = of(deployment(endpointPicker=fields), serving())
    assert [one[:3] for one in found] == [("warning", path, what)]


def test_a_flag_of_the_cluster_is_told_at_the_deployment_whose_engine_is_read(
    deployment: Make, serving: Serve
) -> None:
    found = of(deployment(), serving(eppFlags={"model-server-metrics-path": "/nosuch"}))
    what = (
        "metrics are read at /nosuch (model-server-metrics-path of serving.eppFlags), and vLLM serves them "
        "at /metrics"
    )
    assert [one[:3] for one in found] == [("warning", "spec.endpointPicker", what)]


def test_a_config_of_its_own_names_where_an_engine_has_its_metrics(deployment: Make, serving: Serve) -> None:
    own = {"engineLabelKey": "llm-d.ai/engine-type"}
    fields = plugin("core-metrics-extractor", **own)
    found = of(deployment(engine={"type": "TensorRT-LLM"}, endpointPicker=fields), serving())
    assert found == [
        (
            "warning",
            "config",
            "metrics are read at /metrics by default, and TensorRT-LLM serves them at /prometheus/metrics",
            "Add {type: metrics-data-source, parameters: {path: /prometheus/metrics}} to plugins",
        )
    ]
    fields = plugin("metrics-data-source", "llm-d.ai/v1alpha1")
    triton = deployment(engine={"type": "Triton"}, endpointPicker=fields)
    [found_port] = of(triton, serving(), "router-0.10")
    assert found_port == (
        "warning",
        "config.plugins[1].parameters",
        "metrics are read at the port of requests by default, and Triton serves them at 8002",
        "Write port: 8002 as a parameter of metrics-data-source",
    )


def test_a_port_that_is_none_is_left_to_who_reads_the_config(deployment: Make, serving: Serve) -> None:
    fields = plugin("metrics-data-source", "llm-d.ai/v1alpha1", port="http")
    [found] = of(deployment(endpointPicker=fields), serving(), "router-0.10")
    assert found[:2] == ("error", "config.plugins[1].parameters.port")


def test_an_engine_of_any_kind_may_serve_its_metrics_anywhere(deployment: Make, serving: Serve) -> None:
    flags = {"model-server-metrics-path": "/m", "model-server-metrics-port": 9999}
    assert of(deployment(engine={"type": "Other"}, endpointPicker={"flags": flags}), serving()) == []


@pytest.mark.parametrize("name", ["gie-1.5", "router-0.10"])
def test_what_is_made_by_itself_says_nothing(deployment: Make, serving: Serve, name: str) -> None:
    for kind in ("vLLM", "SGLang", "TensorRT-LLM", "Triton", "Other"):
        assert of(deployment(engine={"type": kind}), serving(), name) == []
