"""The routing proxy of a decode pod: what documents choose of it, and what is refused."""

from typing import Any

import pytest
from apart import apart, stand, workers

from inferfleet.api.problems import Problem
from inferfleet.manifests.pod.clashes import document_contradictions
from inferfleet.manifests.pod.stand import Stand
from inferfleet.manifests.pod.template import pod_template

DECODE = "spec.workers.template.spec"


def _proxy(where: Stand) -> dict[str, Any]:
    assert list(document_contradictions(where)) == []
    return dict(pod_template(where)["spec"]["initContainers"][0])


def _refused(where: Stand) -> list[Problem]:
    return [*document_contradictions(where)]


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
            "Write NIXL or SharedStorage, or serving.profile: router-0.10 in cluster east",
            "spec.prefill.connector",
        )
    ]


@pytest.mark.parametrize(
    ("connector", "value", "refused"),
    [("Mooncake", True, True), ("Mooncake", False, False), ("NIXL", True, False)],
)
def test_engines_of_nixl_alone_pull_from_each_other(connector: str, value: bool, refused: bool) -> None:
    document = apart(connector=connector, proxy={"flags": {"enable-p2p-pull": value}})
    expected = _problem(
        "flag enable-p2p-pull has engines of NIXL read each other's caches, and the connector is "
        f"{connector}",
        "Remove it",
        "spec.prefill.proxy.flags.enable-p2p-pull",
    )
    assert _refused(stand(document, profile="router-0.10")) == ([expected] if refused else [])


PLAIN = "the gateway, and pods of prefill on the same port of the InferencePool, speak plain HTTP"
MESH = "Remove it; a service mesh can encrypt between pods (plugin istio)"
ENGINES = "engines take plain HTTP here, because probes, pickers and gateways speak that to them"


@pytest.mark.parametrize(
    ("profile", "flag", "value", "what", "step"),
    [
        (
            "scheduler-0.7",
            "secure-proxy",
            True,
            f"flag secure-proxy does not work here: {PLAIN}",
            MESH,
        ),
        ("router-0.10", "cert-path", "/tls", f"flag cert-path does not work here: {PLAIN}", MESH),
        (
            "scheduler-0.7",
            "prefiller-use-tls",
            True,
            f"flag prefiller-use-tls does not work here: {ENGINES}",
            MESH,
        ),
        ("router-0.10", "enable-tls", "prefiller", f"flag enable-tls does not work here: {ENGINES}", MESH),
        (
            "router-0.10",
            "prefiller-use-tls",
            True,
            "the routing proxy of router-0.10 has no flag prefiller-use-tls",
            None,
        ),
        (
            "scheduler-0.7",
            "prefill-max-retries",
            2,
            "the routing proxy of scheduler-0.7 has no flag prefill-max-retries",
            None,
        ),
        (
            "scheduler-0.7",
            "vllm-port",
            8300,
            "flag vllm-port is set by inferfleet",
            "Remove it: write spec.prefill.proxy.enginePort instead",
        ),
        (
            "router-0.10",
            "kv-connector",
            "nixlv2",
            "flag kv-connector is set by inferfleet",
            "Remove it: write spec.prefill.connector instead",
        ),
        (
            "router-0.10",
            "prefill-retry-backoff",
            "soon",
            "prefill-retry-backoff is 'soon'",
            "Give it a duration such as 150ms or 5s",
        ),
        (
            "scheduler-0.7",
            "--zap-devel",
            True,
            "flag --zap-devel has dashes",
            "Write zap-devel: flags are written without them here",
        ),
    ],
)
def test_flags_with_which_the_proxy_ends_or_nobody_reaches_it_are_refused(
    profile: str, flag: str, value: Any, what: str, step: str | None
) -> None:
    [problem] = _refused(stand(apart(proxy={"flags": {flag: value}}), profile=profile))
    assert (problem.what, problem.path) == (what, f"spec.prefill.proxy.flags.{flag}")
    assert step is None or problem.next_step == step


def test_resources_that_no_container_has_are_refused() -> None:
    document = apart(proxy={"resources": {"requests": {"cpus": "1"}}})
    assert _refused(stand(document)) == [
        _problem(
            "a container has no resource 'cpus'",
            "Did you mean cpu?",
            "spec.prefill.proxy.resources.requests.cpus",
        )
    ]


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb"])
def test_devices_for_the_proxy_are_refused(name: str) -> None:
    assert _refused(stand(apart(proxy={"resources": {"limits": {name: "8"}}}))) == [
        _problem(
            f"it asks for 8 {name}, and the plan counts the devices of engines alone",
            "Remove it: only engines get devices, those of their topology",
            f'spec.prefill.proxy.resources.limits["{name}"]',
        )
    ]


def test_a_container_of_the_teams_by_the_proxys_name_is_refused() -> None:
    own = {"name": "routing-proxy", "image": "mine:1", "restartPolicy": "Always"}
    assert _refused(stand(apart(workers(initContainers=[own])))) == [
        _problem(
            "a container is called routing-proxy, but inferfleet adds the routing proxy to decode pods, and "
            "requests come in there",
            "Remove it, and write spec.prefill.proxy; what that has no field for is for plugin json-patch",
            f"{DECODE}.initContainers[0]",
        )
    ]


@pytest.mark.parametrize("field", ["initContainers", "sidecars"])
@pytest.mark.parametrize(
    "image",
    [
        "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1",
        "localhost:5000/llm-d-router-disagg-sidecar@sha256:abc",
        "pd-sidecar",
    ],
)
def test_a_routing_proxy_of_the_teams_is_refused_by_its_image(field: str, image: str) -> None:
    own = {"name": "proxy", "image": image, "ports": [{"containerPort": 8000}]}
    at = "initContainers[0]" if field == "initContainers" else "containers[1]"
    assert _refused(stand(apart(workers(**{field: [own]})))) == [
        _problem(
            "container 'proxy' runs the image of a routing proxy, but inferfleet adds the proxy to decode "
            "pods, and requests come in there",
            "Remove it; spec.prefill.proxy has image, port, resources and flags of the proxy",
            f"{DECODE}.{at}",
        )
    ]


def test_a_container_on_the_port_of_the_proxy_is_refused() -> None:
    log = {"name": "log", "image": "log:1", "ports": [{"containerPort": 8000}]}
    decode = workers(engine={"ports": [{"name": "http", "containerPort": 8000}]}, sidecars=[log])
    taken = (
        "but the routing proxy of decode pods takes requests there, and containers of a pod share one address"
    )
    assert _refused(stand(apart(decode))) == [
        _problem(
            f"container 'engine' listens on 8000, {taken}",
            "Write 8200, where the engine listens",
            f"{DECODE}.containers[0].ports[0]",
        ),
        _problem(
            f"container 'log' listens on 8000, {taken}",
            "Write another port",
            f"{DECODE}.containers[1].ports[0]",
        ),
    ]


def test_a_container_on_the_port_of_the_engine_behind_the_proxy_is_refused() -> None:
    log = {"name": "log", "image": "log:1", "ports": [{"containerPort": 8200}]}
    assert _refused(stand(apart(workers(sidecars=[log])))) == [
        _problem(
            "container 'log' listens on 8200, but that is the engine's port, and containers of a pod share "
            "one address",
            "Move it to another port, or set spec.prefill.proxy.enginePort to the one the engine really uses",
            f"{DECODE}.containers[1].ports[0]",
        )
    ]


def test_a_probe_of_the_engine_that_asks_the_proxy_is_refused() -> None:
    asks = {"readinessProbe": {"httpGet": {"path": "/health", "port": 8000}}}
    assert _refused(stand(apart(workers(engine=asks)))) == [
        _problem(
            "readinessProbe of container 'engine' asks port 8000, but the routing proxy listens there, and "
            "answers /health whatever the engine does",
            "Ask port 8200 of the engine itself, or name it http",
            f"{DECODE}.containers[0].readinessProbe.httpGet.port",
        )
    ]
