"""Flags, resources and failure modes of pickers that contradict another field, or reach wrong pods."""

from collections.abc import Callable
from typing import Any

import pytest
from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import InferenceCluster, Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Problem, of_severity
from inferfleet.fleet.decisions import ExposedPath
from inferfleet.serving import picker as command
from inferfleet.serving.picker_check import cluster_problems, deployment_problems, picker_problems
from inferfleet.serving.programs import text
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

GIE = profile("gie-1.5")


def _cluster(serving: Serving) -> InferenceCluster:
    existing = {"kubeconfig": {"configKey": "east"}}
    spec = {
        "cluster": {"source": "Existing", "existing": existing},
        "nodePools": [{"name": "l4", "className": "l4", "nodeCount": 1}],
        "serving": serving,
    }
    return InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})


@pytest.mark.parametrize(
    ("profile_name", "spec", "paths", "told"),
    [
        ("gie-1.5", {}, ("/v1",), None),
        (
            "gie-1.5",
            {},
            ("/rerank", "/v1/audio/transcriptions"),
            (
                "notice",
                "the picker of ml/qwen (gie-1.5) has one parser, and the one that reads prompts refuses "
                "/rerank, /v1/audio/transcriptions, so it has one for all: affinity to prefixes and "
                "InferenceModelRewrites have no effect",
            ),
        ),
        # Of an engine with a protocol of its own nobody expects more.
        ("gie-1.5", {"engine": {"type": "Triton"}}, ("/v1", "/v2"), None),
        ("gie-1.5", {"endpointPicker": {"config": {"kind": "EndpointPickerConfig"}}}, ("/score",), None),
        ("router-0.10", {}, ("/score", "/generate"), None),
        (
            "scheduler-0.7",
            {},
            ("/score",),
            (
                "warning",
                "the picker of ml/qwen (scheduler-0.7) has one parser, and the one that reads prompts "
                "refuses /score",
            ),
        ),
    ],
)
def test_what_is_lost_by_paths_that_a_picker_reads_no_prompts_of_is_told(
    deployment: Make,
    serving: Serve,
    profile_name: str,
    spec: dict[str, Any],
    paths: tuple[str, ...],
    told: tuple[str, str] | None,
) -> None:
    one = one_picker(deployment(**spec), serving(), profile=profile_name, paths=paths)
    found = [
        (problem.severity, problem.what, problem.path, problem.next_step)
        for problem in picker_problems(one, _cluster(serving()))
    ]
    step = (
        "Write profile: router-0.10 for ml/qwen, whose picker has several, or give these paths a deployment "
        "of their own"
    )
    assert found == ([(*told, "spec.route.paths", step)] if told else [])


def test_paths_are_told_where_each_is_exposed(deployment: Make, serving: Serve) -> None:
    listed = "ModelService", "ml/search", "spec.route.paths"
    selected = "ModelService", "ml/chat", "spec.endpoints"
    paths = ("/generate", ExposedPath("/rerank", *listed), ExposedPath("/v2", *selected))
    one = one_picker(deployment(), serving(), paths=paths)
    told = [
        ((problem.kind, problem.key, problem.path), problem.what.partition("refuses ")[2].partition(",")[0])
        for problem in picker_problems(one, _cluster(serving()))
    ]
    own = "ModelDeployment", "ml/qwen", "spec.route.paths"
    assert told == [(own, "/generate"), (listed, "/rerank"), (selected, "/v2")]


def _found(document: ModelDeployment) -> list[Problem]:
    return list(deployment_problems(document))


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"v": 4, "health-checking": True, "enable-pprof": "false", "secure-serving": False},
        {"metrics-port": 9091, "grpc-health-port": "9004", "drain-timeout": "1m30.5s"},
        # What the picker makes of them, it says itself.
        {"refresh-metric-interval": "1s", "zap-log-level": "loud", "v": "four", "enable-pprof": 2},
    ],
)
def test_flags_of_a_picker_are_passed_on(deployment: Make, serving: Serve, flags: dict[str, Any]) -> None:
    document = deployment(endpointPicker={"flags": flags})
    assert _found(document) == []
    assert list(cluster_problems(_cluster(serving(eppFlags=flags)))) == []
    chosen = one_picker(document, serving()).flags
    assert {name: chosen[name] for name in flags} == {name: text(value) for name, value in flags.items()}


@pytest.mark.parametrize(
    ("flag", "value", "what", "next_step"),
    [
        (
            "--v",
            4,
            "'--v' is not the name of a flag",
            "Write letters, digits and dashes, without dashes at the beginning",
        ),
        (
            "pool-name=x",
            "",
            "'pool-name=x' is not the name of a flag",
            "Write letters, digits and dashes, without dashes at the beginning",
        ),
        (
            "pool-name",
            "x",
            "flag pool-name is set by inferfleet",
            "Remove it: it follows from the deployment's name",
        ),
        (
            "grpc-port",
            1,
            "flag grpc-port is set by inferfleet",
            "Remove it: write spec.endpointPicker.port instead",
        ),
        (
            "metrics-port",
            "70000",
            "metrics-port is '70000', which is no port",
            "Give it a port from 1 to 65535",
        ),
        (
            "grpc-health-port",
            0,
            "grpc-health-port is '0', which is no port",
            "Give it a port from 1 to 65535",
        ),
        (
            "metrics-port",
            True,
            "metrics-port is 'true', which is no port",
            "Give it a port from 1 to 65535",
        ),
    ],
)
def test_a_flag_that_another_field_says_or_that_is_no_port_is_a_problem(
    deployment: Make, serving: Serve, flag: str, value: Any, what: str, next_step: str
) -> None:
    key = f".{flag}" if flag.replace("-", "").isalpha() and flag[0] != "-" else f'["{flag}"]'
    path = f"spec.endpointPicker.flags{key}"
    found = Problem(what, next_step, path, kind="ModelDeployment", key="ml/qwen")
    assert _found(deployment(endpointPicker={"flags": {flag: value}})) == [found]
    cluster_path = f"spec.serving.eppFlags{key}"
    assert list(cluster_problems(_cluster(serving(eppFlags={flag: value})))) == [
        Problem(what, next_step, cluster_path, kind="InferenceCluster", key="east")
    ]


def test_later_flags_win_profile_cluster_deployment(deployment: Make, serving: Serve) -> None:
    document = deployment(endpointPicker={"flags": {"v": 5, "enable-pprof": False}})
    cluster = serving(eppFlags={"v": 3, "refresh-metrics-interval": "100ms"})
    assert one_picker(document, cluster).flags == {
        "enable-pprof": "false",
        "refresh-metrics-interval": "100ms",
        "v": "5",
        "zap-encoder": "json",
    }


def test_a_picker_gets_no_devices(deployment: Make) -> None:
    resources = {"limits": {"nvidia.com/gpu": "1"}}
    assert _found(deployment(endpointPicker={"resources": resources})) == [
        Problem(
            "it asks for 1 nvidia.com/gpu, and the plan counts the devices of engines alone",
            "Remove it: only engines get devices, those of their topology",
            'spec.endpointPicker.resources.limits["nvidia.com/gpu"]',
            kind="ModelDeployment",
            key="ml/qwen",
        )
    ]


@pytest.mark.parametrize("written", ["False", "f", 0, False])
def test_a_picker_serves_plain_text_by_every_spelling_of_false(
    deployment: Make, serving: Serve, written: Any
) -> None:
    document = deployment(endpointPicker={"flags": {"secure-serving": written}})
    assert not command.is_secure(one_picker(document, serving()).flags)


OPEN = "without its picker a gateway sends requests to any pod of the pool, those of prefill among them"


@pytest.mark.parametrize(
    ("engine", "errors", "warnings"),
    [
        (
            "SGLang",
            [f"{OPEN}, and SGLang's pods refuse all that come without the address of a prefill pod"],
            [],
        ),
        ("vLLM", [], [OPEN]),
    ],
)
def test_a_gateway_that_sends_to_any_pod_does_not_know_pods_of_prefill(
    deployment: Make, engine: str, errors: list[str], warnings: list[str]
) -> None:
    workers = {
        "topology": {"tensor": 1},
        "template": {"spec": {"containers": [{"name": "engine", "image": "e:1"}]}},
    }
    picker = {"failureMode": "FailOpen"}
    document = deployment(engine={"type": engine}, endpointPicker=picker, prefill={"workers": workers})
    told = [of_severity(_found(document), severity) for severity in ("error", "warning")]
    assert tuple([one.what for one in of] for of in told) == (errors, warnings)
    assert {(one.path, one.next_step) for of in told for one in of} == {
        ("spec.endpointPicker.failureMode", "Remove failureMode, or write FailClose")
    }
    whole = deployment(engine={"type": "vLLM"}, endpointPicker=picker)
    assert _found(whole) == []
