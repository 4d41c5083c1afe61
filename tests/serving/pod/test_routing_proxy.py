"""The routing proxy of a decode pod: what documents choose of it, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest
from apart import apart, stand, workers

from inferfleet.documents.problems import Problem
from inferfleet.serving.pod.check import document_problems, own_command_problems
from inferfleet.serving.pod.template import PlacedPod, pod_template

DECODE = "spec.workers.template.spec"


def _proxy(where: PlacedPod) -> dict[str, Any]:
    assert list(document_problems(where)) == []
    return dict(pod_template(where)["spec"]["initContainers"][0])


def _refused(where: PlacedPod) -> list[Problem]:
    return [*document_problems(where)]


def _problem(what: str, next_step: str, path: str) -> Problem:
    return Problem(what, next_step, path, kind="ModelDeployment", key="ml/qwen")


def test_what_a_document_says_of_the_proxy_is_in_its_pod() -> None:
    chosen = {
        "image": "proxy:1",
        "enginePort": 9000,
        "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "256Mi"}},
        "flags": {"zap-log-level": 5, "enable-prefiller-sampling": True},
    }
    document = apart(engine={"port": 8100}, proxy=chosen)
    made = _proxy(stand(document, images={"proxy": "mirror/proxy:2"}))
    assert {key: made[key] for key in ("image", "args", "resources", "ports")} == {
        "image": "proxy:1",
        "args": [
            "--port=8100",
            "--model-server-port=9000",
            "--kv-connector=nixlv2",
            "--tracing=false",
            "--enable-prefiller-sampling=true",
            "--secure-proxy=false",
            "--zap-log-level=5",
        ],
        "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "256Mi"}},
        "ports": [{"name": "proxy", "containerPort": 8100}],
    }


def test_the_clusters_image_counts_where_the_document_has_none() -> None:
    assert _proxy(stand(apart(), images={"proxy": "mirror/proxy:2"}))["image"] == "mirror/proxy:2"


def test_the_proxy_comes_behind_other_init_containers() -> None:
    others = [{"name": "fetch", "image": "fetch:1"}]
    made = pod_template(stand(apart(workers(initContainers=others))))["spec"]
    assert [each["name"] for each in made["initContainers"]] == ["fetch", "routing-proxy"]


@pytest.mark.parametrize("profile", ["scheduler-0.7", "router-0.10"])
def test_traces_go_where_those_of_the_picker_go(profile: str) -> None:
    made = _proxy(stand(apart(), profile=profile, tracing={"endpoint": "http://otel:9", "samplerArg": ".5"}))
    assert ("--tracing=true" in made["args"]) == (profile == "router-0.10")
    assert [(each["name"], each.get("value")) for each in made["env"]] == [
        ("POD_IP", None),
        ("NAMESPACE", None),
        ("POD_NAME", None),
        ("NODE_NAME", None),
        ("OTEL_SERVICE_NAME", "routing-proxy"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel:9"),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", ".5"),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "k8s.namespace.name=$(NAMESPACE),k8s.node.name=$(NODE_NAME),k8s.pod.name=$(POD_NAME)",
        ),
    ]


@pytest.mark.parametrize(
    ("profile", "connector", "args"),
    [
        ("scheduler-0.7", "NIXL", ["--kv-connector=nixlv2"]),
        ("scheduler-0.7", "SharedStorage", ["--kv-connector=shared-storage"]),
        ("router-0.10", "SharedStorage", ["--kv-connector=shared-storage"]),
        ("router-0.10", "Mooncake", ["--kv-connector=mooncake", "--mooncake-bootstrap-port=8998"]),
    ],
)
def test_the_connector_is_told_in_the_words_of_its_version(
    profile: str, connector: str, args: list[str]
) -> None:
    made = _proxy(stand(apart(connector=connector), profile=profile))
    assert [arg for arg in made["args"] if "connector" in arg or "mooncake" in arg] == args


def test_a_connector_that_the_clusters_version_does_not_know_is_refused() -> None:
    assert _refused(stand(apart(connector="Mooncake"), profile="scheduler-0.7")) == [
        _problem(
            "the routing proxy of scheduler-0.7, the profile of cluster east, does not know connector "
            "Mooncake",
            "Write connector NIXL or connector SharedStorage or router-0.10 in serving.profile of cluster "
            "east",
            "spec.prefill.connector",
        )
    ]


def test_what_no_version_offers_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hint names a connector or profile that does not exist."""
    monkeypatch.setattr("inferfleet.serving.pod.check.CONNECTORS", {})
    monkeypatch.setattr("inferfleet.serving.pod.check.names", lambda: ())
    [problem] = _refused(stand(apart(connector="Mooncake"), profile="scheduler-0.7"))
    assert problem.next_step == "Prefill apart from decode is not offered for vLLM with this profile"


MESH = (
    "Remove it: gateways, and pods of prefill, speak plain HTTP to it; a service mesh can encrypt between "
    "pods (plugin istio)"
)


@pytest.mark.parametrize(
    ("profile", "flag", "value", "step"),
    [
        ("scheduler-0.7", "secure-proxy", True, MESH),
        (
            "scheduler-0.7",
            "vllm-port",
            8300,
            "Remove it: write spec.prefill.proxy.enginePort instead",
        ),
        ("router-0.10", "kv-connector", "nixlv2", "Remove it: write spec.prefill.connector instead"),
    ],
)
def test_flags_that_inferfleet_sets_are_refused(profile: str, flag: str, value: Any, step: str) -> None:
    assert _refused(stand(apart(proxy={"flags": {flag: value}}), profile=profile)) == [
        _problem(f"flag {flag} is set by inferfleet", step, f"spec.prefill.proxy.flags.{flag}")
    ]


def test_other_flags_are_the_proxys_to_refuse() -> None:
    made = _proxy(stand(apart(proxy={"flags": {"of-another-version": 1}})))
    assert "--of-another-version=1" in made["args"]


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb"])
def test_devices_for_the_proxy_are_refused(name: str) -> None:
    assert _refused(stand(apart(proxy={"resources": {"limits": {name: "8"}}}))) == [
        _problem(
            f"it asks for 8 {name}, and the plan counts the devices of engines alone",
            "Remove it: only engines get devices, those of their topology",
            f'spec.prefill.proxy.resources.limits["{name}"]',
        )
    ]


def test_a_command_of_ones_own_has_to_leave_the_port_to_the_proxy() -> None:
    said = [*own_command_problems(stand(apart(workers(engine={"command": ["serve"]}))))]
    assert said == [
        replace(
            _problem(
                "the engine has a command of its own, and the routing proxy of decode pods takes its port",
                "Let the engine listen on port 8200, which it has as INFERFLEET_PORT",
                f"{DECODE}.containers[0].command",
            ),
            severity="warning",
        )
    ]
    assert [*own_command_problems(stand(apart(workers())))] == []


def test_a_probe_of_the_engine_that_asks_the_proxy_is_refused() -> None:
    asks = {"readinessProbe": {"httpGet": {"path": "/health", "port": 8000}}}
    assert _refused(stand(apart(workers(engine=asks)))) == [
        _problem(
            "readinessProbe of container 'engine' asks port 8000, but the routing proxy listens there, and "
            "answers whatever the engine does",
            "Ask port 8200 of the engine itself; a command of your own must listen there (INFERFLEET_PORT)",
            f"{DECODE}.containers[0].readinessProbe.httpGet.port",
        )
    ]
