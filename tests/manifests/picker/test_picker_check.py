"""Flags and config with which an endpoint picker would not start, or not read what it needs."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.api.kinds.inference_cluster import InferenceCluster, Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem, of_severity
from inferfleet.manifests.picker import flags as picker_flags
from inferfleet.manifests.picker.check import check_cluster, check_deployment
from inferfleet.profiles.table import profile

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


def _found(document: ModelDeployment, serving: Serving, name: str = "gie-1.5") -> Any:
    """Errors and warnings."""
    problems = tuple(check_deployment(document, serving=serving, profile=profile(name)))
    errors, warnings = of_severity(problems, "error"), of_severity(problems, "warning")
    assert len(problems) == len(errors) + len(warnings)
    return errors, warnings


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"v": 4, "health-checking": True, "enable-pprof": "false", "secure-serving": False},
        {"metrics-staleness-threshold": "1m30.5s", "cert-path": "/certs", "secure-serving": False},
        {"zap-log-level": "Debug"},
        {"zap-log-level": 127},
    ],
)
def test_flags_that_the_picker_knows_are_fine(
    deployment: Make, serving: Serve, flags: dict[str, Any]
) -> None:
    assert _found(deployment(endpointPicker={"flags": flags}), serving()) == ((), ())


@pytest.mark.parametrize(
    ("flag", "value", "what", "next_step"),
    [
        (
            "refresh-metric-interval",
            "1s",
            "the endpoint picker of gie-1.5 has no flag refresh-metric-interval",
            "Did you mean refresh-metrics-interval?",
        ),
        (
            "zap-log-level",
            "loud",
            "zap-log-level is 'loud'",
            "Give it one of debug, info, error and panic, or a number from 1 to 127",
        ),
        ("--v", 4, "flag --v has dashes", "Write v: flags are written without them here"),
        (
            "lora-info-metric",
            "x",
            "the endpoint picker of gie-1.5 exits when lora-info-metric is set",
            "Remove it, and name the metric under engineConfigs of core-metrics-extractor "
            "in endpointPicker.config",
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
        ("v", True, "v is 'true'", "Give it a whole number, not negative"),
        ("v", "four", "v is 'four'", "Give it a whole number, not negative"),
        ("enable-pprof", 2, "enable-pprof is '2'", "Give it true or false"),
        (
            "refresh-metrics-interval",
            150,
            "refresh-metrics-interval is '150'",
            "Give it a duration such as 150ms or 5s",
        ),
    ],
)
def test_a_flag_with_which_the_picker_would_not_start_is_a_problem(
    deployment: Make, serving: Serve, flag: str, value: Any, what: str, next_step: str
) -> None:
    key = f'["{flag}"]' if flag.startswith("-") else f".{flag}"
    path = f"spec.endpointPicker.flags{key}"
    found = Problem(what, next_step, path, kind="ModelDeployment", key="ml/qwen")
    assert _found(deployment(endpointPicker={"flags": {flag: value}}), serving()) == ((found,), ())
    cluster_path = f"spec.serving.eppFlags{key}"
    assert list(check_cluster(_cluster(serving(eppFlags={flag: value})), GIE)) == [
        Problem(what, next_step, cluster_path, kind="InferenceCluster", key="east")
    ]


@pytest.mark.parametrize(
    ("picker", "what"),
    [
        ({"port": 9003}, "the endpoint picker would serve health and gRPC both on port 9003"),
        (
            {"flags": {"metrics-port": 9003}},
            "the endpoint picker would serve health and metrics both on port 9003",
        ),
    ],
)
def test_the_picker_s_three_ports_are_different_ports(
    deployment: Make, serving: Serve, picker: dict[str, Any], what: str
) -> None:
    problems, _ = _found(deployment(endpointPicker=picker), serving())
    assert [one.what for one in problems] == [what]


def test_later_flags_win_profile_cluster_deployment(deployment: Make, serving: Serve) -> None:
    document = deployment(endpointPicker={"flags": {"v": 5, "enable-pprof": False}})
    cluster = serving(eppFlags={"v": 3, "refresh-metrics-interval": "100ms"})
    assert picker_flags.flags(deployment=document, serving=cluster, profile=GIE) == {
        "enable-pprof": "false",
        "refresh-metrics-interval": "100ms",
        "v": "5",
        "zap-encoder": "json",
    }


def test_a_config_of_another_version_or_kind_is_a_problem(deployment: Make, serving: Serve) -> None:
    document = deployment(endpointPicker={"config": {"apiVersion": "llm-d.ai/v1alpha1", "kind": "Config"}})
    problems, _ = _found(document, serving())
    assert [(one.path, one.what, one.next_step) for one in problems] == [
        (
            "spec.endpointPicker.config.apiVersion",
            "it is 'llm-d.ai/v1alpha1', which the endpoint picker of gie-1.5 does not read",
            "Write apiVersion: inference.networking.x-k8s.io/v1alpha1",
        ),
        (
            "spec.endpointPicker.config.kind",
            "it is 'Config', which the endpoint picker of gie-1.5 does not read",
            "Write kind: EndpointPickerConfig",
        ),
    ]


@pytest.mark.parametrize("config", [{}, {"apiVersion": None}])
def test_a_config_without_version_and_kind_is_told_what_it_lacks(
    deployment: Make, serving: Serve, config: dict[str, Any]
) -> None:
    problems, _ = _found(deployment(endpointPicker={"config": config}), serving())
    assert [(one.what, one.next_step) for one in problems] == [
        (
            "it has no apiVersion, by which the endpoint picker of gie-1.5 knows a config",
            "Write apiVersion: inference.networking.x-k8s.io/v1alpha1",
        ),
        (
            "it has no kind, by which the endpoint picker of gie-1.5 knows a config",
            "Write kind: EndpointPickerConfig",
        ),
    ]


@pytest.mark.parametrize(
    ("engine", "plugins", "name", "warned"),
    [
        ("SGLang", [{"type": "queue-scorer"}], "gie-1.5", True),
        (
            "SGLang",
            [{"type": "core-metrics-extractor", "parameters": {"engineLabelKey": "b"}}],
            "gie-1.5",
            False,
        ),
        ("vLLM", [], "gie-1.5", False),
        ("SGLang", [], "router-0.10", False),
    ],
)
def test_a_config_that_takes_another_engine_for_vllm_is_a_warning(
    deployment: Make, serving: Serve, engine: str, plugins: Any, name: str, warned: bool
) -> None:
    config = {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": plugins,
    }
    document = deployment(engine={"type": engine}, endpointPicker={"config": config})
    problems, warnings = _found(document, serving(), name)
    assert (problems, bool(warnings)) == ((), warned)


@pytest.mark.parametrize(
    ("resources", "path", "what", "next_step"),
    [
        (
            {"requests": {"cpus": "1"}},
            "requests.cpus",
            "a container has no resource 'cpus'",
            "Did you mean cpu?",
        ),
        (
            {"requests": {"memory": "2Gi"}, "limits": {"memory": "1024Mi"}},
            "requests.memory",
            "it requests 2Gi of memory, which is more than its limit of 1024Mi",
            "Lower the request or raise the limit",
        ),
        (
            {"requests": {"example.com/nic": "1"}},
            'requests["example.com/nic"]',
            "it requests 1 of example.com/nic, and of such resources the limit must be the same",
            "Write limits: {example.com/nic: 1} too",
        ),
    ],
)
def test_resources_of_a_picker_that_the_api_server_refuses(
    deployment: Make, serving: Serve, resources: Any, path: str, what: str, next_step: str
) -> None:
    where = f"spec.endpointPicker.resources.{path}"
    problem = Problem(what, next_step, where, kind="ModelDeployment", key="ml/qwen")
    assert _found(deployment(endpointPicker={"resources": resources}), serving()) == ((problem,), ())


@pytest.mark.parametrize(
    "resources",
    [
        {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "0.5", "memory": "1024Mi"}},
        {"requests": {"ephemeral-storage": "1Gi"}},
        {"limits": {"example.com/nic": "1"}},
        {"requests": {"hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}},
    ],
)
def test_resources_of_a_picker_that_are_fine(deployment: Make, serving: Serve, resources: Any) -> None:
    assert _found(deployment(endpointPicker={"resources": resources}), serving()) == ((), ())


def test_a_config_that_no_argument_holds_is_refused_with_its_size(deployment: Make, serving: Serve) -> None:
    config = {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": "queue-scorer", "parameters": {"of": "x" * 131_072}}],
    }
    (problem,), _ = _found(deployment(endpointPicker={"config": config}), serving())
    assert problem == Problem(
        "it has 131,203 bytes, and the argument of the picker that holds it takes at most 131,057",
        "Shorten it",
        "spec.endpointPicker.config",
        kind="ModelDeployment",
        key="ml/qwen",
    )


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
    deployment: Make, serving: Serve, engine: str, errors: list[str], warnings: list[str]
) -> None:
    workers = {
        "topology": {"tensor": 1},
        "template": {"spec": {"containers": [{"name": "engine", "image": "e:1"}]}},
    }
    picker = {"failureMode": "FailOpen"}
    document = deployment(engine={"type": engine}, endpointPicker=picker, prefill={"workers": workers})
    told = _found(document, serving(), "router-0.10")
    assert tuple([one.what for one in of] for of in told) == (errors, warnings)
    assert {(one.path, one.next_step) for of in told for one in of} == {
        ("spec.endpointPicker.failureMode", "Remove failureMode, or write FailClose")
    }
    whole = deployment(engine={"type": "vLLM"}, endpointPicker=picker)
    assert _found(whole, serving()) == ((), ())
