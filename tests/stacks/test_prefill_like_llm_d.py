"""Qwen3-32B of the stack `disaggregated` against llm-d's guide to prefill and decode apart, field by field.

Each row is a fact of github.com/llm-d/llm-d, with its file, from when the guide had scheduler 0.7:

* `guides/pd-disaggregation/modelserver/gpu/vllm/base`: patch-decode.yaml and patch-prefill.yaml at f679742f,
  kustomization.yaml at 6e786ee4
* `guides/pd-disaggregation/scheduler/pd-disaggregation.values.yaml` at 238a4c00: the picker's config
* `guides/recipes/scheduler/base.values.yaml` at 955190d9: its image
* `guides/recipes/modelserver/base/single-host`: pd/vllm/patch-sidecar.yaml with the sidecar of v0.7.1 (at
  4d76eb7e of the fork praveingk/llm-d), default/decode-deployment.yaml (645891a9 of yuanwu2017/llm-d)
* `guides/pd-disaggregation/ms-pd/values.yaml` at 28719ceb: adapters for RDMA

The guide serves gpt-oss-120b by eight engines for prompts and two for answers. Another model, other numbers
and other limits are the document's; what differs besides is in OTHERWISE and NOT_THERE, with the reason.
"""

from typing import Any

import pytest
import yaml
from rendered_disaggregated import objects, workload
from rendered_frontier import Manifest, at

from inferfleet.fleet.names import DEPLOYMENT

DEPLOYED = "qwen3-32b"
_PATCH, _BASE, _SIDECAR, _RDMA = "patch-*.yaml", "decode-deployment.yaml", "patch-sidecar.yaml", "ms-pd"
# Of both roles; {role} and {port} are its own.
POD_FIELDS: tuple[tuple[str, Any, str], ...] = (
    ("metadata.labels[llm-d.ai/role]", "{role}", _BASE),
    ("engine.command", ["vllm", "serve"], _PATCH),
    ("engine.ports[http].containerPort", "{port}", _PATCH),
    ("engine.env[VLLM_NIXL_SIDE_CHANNEL_HOST].valueFrom.fieldRef.fieldPath", "status.podIP", _PATCH),
    ("spec.volumes[dshm].emptyDir.medium", "Memory", _PATCH),
    ("engine.volumeMounts[/dev/shm].name", "dshm", _PATCH),
    ("engine.resources.limits[rdma/ib]", "1", _RDMA),
    ("engine.resources.requests[rdma/ib]", "1", _RDMA),
    ("engine.startupProbe.timeoutSeconds", 5, _PATCH),
    ("engine.livenessProbe.httpGet.path", "/health", _BASE),
    ("engine.livenessProbe.periodSeconds", 10, _PATCH),
    ("engine.livenessProbe.timeoutSeconds", 5, _PATCH),
    ("engine.livenessProbe.failureThreshold", 3, _PATCH),
    ("engine.readinessProbe.periodSeconds", 5, _PATCH),
)
PORTS = {"decode": 8200, "prefill": 8000}
# Flags of the guide that both have with this value.
FLAGS = {
    "decode": {"--block-size": "128", "--port": "8200"},
    "prefill": {"--block-size": "128", "--port": "8000"},
}
PROXY_FIELDS: tuple[tuple[str, Any], ...] = (
    ("name", "routing-proxy"),
    ("image", "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1"),
    ("restartPolicy", "Always"),
    ("securityContext.allowPrivilegeEscalation", False),
    ("securityContext.runAsNonRoot", True),
)
PROXY_FLAGS = {"--port": "8000", "--vllm-port": "8200", "--secure-proxy": "false"}
# Role, path or flag; theirs, ours.
OTHERWISE: tuple[tuple[str, str, Any, Any], ...] = (
    # The document's choice: Qwen3-32B at five to three.
    ("decode", "workload.spec.replicas", 2, 3),
    ("prefill", "workload.spec.replicas", 8, 5),
    ("decode", "--tensor-parallel-size", "4", "2"),
    # The default.
    ("prefill", "--tensor-parallel-size", "1", None),
    ("decode", "engine.resources.limits[nvidia.com/gpu]", "4", "2"),
    ("decode", "engine.resources.requests.cpu", "16", "8"),
    ("decode", "engine.resources.requests.memory", "64Gi", "96Gi"),
    ("prefill", "engine.resources.requests.memory", "16Gi", "96Gi"),
    # NixlConnector does not tell roles apart by it (docs/features/nixl_connector_usage.md of vLLM). With the
    # policy decode reads prompts itself whose caches ended with a prefill pod.
    (
        "decode",
        "--kv-transfer-config",
        '{"kv_connector":"NixlConnector", "kv_role":"kv_both"}',
        '{"kv_connector":"NixlConnector","kv_load_failure_policy":"recompute","kv_role":"kv_consumer"}',
    ),
    (
        "prefill",
        "--kv-transfer-config",
        '{"kv_connector":"NixlConnector", "kv_role":"kv_both"}',
        '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}',
    ),
    # The version that the documents of this project are true of.
    ("decode", "engine.image", "docker.io/vllm/vllm-openai:v0.19.1", "docker.io/vllm/vllm-openai:v0.32.0"),
    ("prefill", "engine.image", "docker.io/vllm/vllm-openai:v0.19.1", "docker.io/vllm/vllm-openai:v0.32.0"),
    # vLLM opens its port once the model is loaded, and /health asks for no key.
    ("decode", "engine.startupProbe.httpGet.path", "/v1/models", "/health"),
    ("decode", "engine.readinessProbe.httpGet.path", "/v1/models", "/health"),
    # engine.startup of the document, 30 minutes instead of 60.
    ("decode", "engine.startupProbe.initialDelaySeconds", 15, None),
    ("decode", "engine.startupProbe.periodSeconds", 30, 10),
    ("decode", "engine.startupProbe.failureThreshold", 120, 180),
    # As of every other engine: a busy one may take longer than two seconds.
    ("decode", "engine.readinessProbe.timeoutSeconds", 2, 5),
    # Running answers may end after SIGTERM.
    ("decode", "workload.spec.template.spec.terminationGracePeriodSeconds", None, 130),
    # It has a version, which does not change under its name.
    ("proxy", "imagePullPolicy", "Always", "IfNotPresent"),
    # An old name of `kv-connector`.
    ("proxy", "--connector", "nixlv2", None),
    ("proxy", "--kv-connector", None, "nixlv2"),
    # Its default logs no debugging; prefill.proxy.flags can ask for it.
    ("proxy", "--zap-log-level", "1", None),
    # Who selects ports by name reaches engines of both roles by `http`.
    ("proxy", "ports[sidecar].containerPort", 8000, None),
    ("proxy", "ports[proxy].containerPort", None, 8000),
)
# Of llm-d's pods and not of ours.
NOT_THERE = (
    "spec.serviceAccountName",  # for what reads pods; the sidecar's protection that does is off
    "spec.volumes[torch-compile-cache]",  # an emptyDir, which the folder of the container is too
    "spec.volumes[dshm].emptyDir.sizeLimit",  # pages in use count against the limit of memory
    "engine.resources.limits.cpu",  # limits are the team's to say
    "engine.resources.limits.memory",
    "--no-disable-hybrid-kv-cache-manager",  # for layers with windows, which Qwen3 does not have
    "--disable-access-log-for-endpoints",  # how much is logged is the team's to say
    "--gpu-memory-utilization",  # the default
)
# Type: parameters of the guide's config.
PLUGINS: dict[str, Any] = {
    "disagg-headers-handler": None,
    "always-disagg-pd-decider": None,
    "disagg-profile-handler": {"deciderPluginName": "always-disagg-pd-decider"},
    "prefill-filter": None,
    "decode-filter": None,
    "prefix-cache-scorer": None,
    "queue-scorer": None,
    "kv-cache-utilization-scorer": None,
    "active-request-scorer": None,
    "max-score-picker": None,
}
OTHER_PLUGINS: tuple[tuple[str, Any, Any], ...] = (
    # The document has a decider by what is cached; `decider: {type: Always}` is the guide's.
    ("always-disagg-pd-decider", None, "missing"),
    ("prefix-based-pd-decider", "missing", {"nonCachedTokens": 64}),
    # The guide's is an old form of the same.
    (
        "disagg-profile-handler",
        {"deciderPluginName": "always-disagg-pd-decider"},
        {"deciders": {"prefill": "prefix-based-pd-decider"}},
    ),
    # Scorers are those of the scheduler's own sample, deploy/config/pd-epp-config.yaml at v0.7.1.
    ("kv-cache-utilization-scorer", None, "missing"),
    ("active-request-scorer", None, "missing"),
)
# By profile, scorers with weights: theirs, ours.
WEIGHTS: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "prefill": (
        {"prefix-cache-scorer": 3, "queue-scorer": 2, "kv-cache-utilization-scorer": 2},
        {"prefix-cache-scorer": 2, "queue-scorer": 1},
    ),
    "decode": (
        {"active-request-scorer": 2, "prefix-cache-scorer": 2},
        {"prefix-cache-scorer": 2, "queue-scorer": 1},
    ),
}


def template(role: str) -> Manifest:
    return dict(workload(DEPLOYED, role)["spec"]["template"])


def proxy() -> Manifest:
    [container] = template("decode")["spec"]["initContainers"]
    return dict(container)


def flags(args: list[str]) -> dict[str, str]:
    words = (word.partition("=") for word in args if word.startswith("--"))
    return {name: value for name, _, value in words}


def value(role: str, path: str) -> Any:
    """The flag or field of a role's engine, pod or workload, or of the proxy."""
    if role == "proxy":
        return (
            flags(proxy()["args"]).get(path) if path.startswith("--") else at(_pod(proxy()), f"engine.{path}")
        )
    if path.startswith("--"):
        return flags(at(template(role), "engine.args")).get(path)
    if path.startswith("workload."):
        here: Any = {"workload": workload(DEPLOYED, role)}
        for step in path.split("."):
            here = here[step]
        return here
    return at(template(role), path)


def _pod(container: Manifest) -> Manifest:
    return {"spec": {"containers": [container | {"name": "engine"}]}}


def one_of(kind: str) -> Manifest:
    [found] = [made for made in objects(kind) if made["metadata"]["labels"].get(DEPLOYMENT) == DEPLOYED]
    return found


def config() -> Manifest:
    pickers = [made for made in objects("Deployment") if made["metadata"]["name"].endswith("-epp")]
    [picker] = [made for made in pickers if made["metadata"]["labels"][DEPLOYMENT] == DEPLOYED]
    [container] = picker["spec"]["template"]["spec"]["containers"]
    texts = [arg.partition("=") for arg in container["args"]]
    [text] = [text for flag, _, text in texts if flag == "--config-text"]
    read: Manifest = yaml.safe_load(text)
    return read


@pytest.mark.parametrize("role", PORTS)
@pytest.mark.parametrize(("path", "wanted", "source"), POD_FIELDS, ids=lambda one: str(one)[:60])
def test_pods_of_both_roles_are_as_llm_d_has_them(role: str, path: str, wanted: Any, source: str) -> None:
    own = {"{role}": role, "{port}": PORTS[role]}.get(wanted, wanted) if isinstance(wanted, str) else wanted
    assert value(role, path) == own, source


@pytest.mark.parametrize("role", FLAGS)
def test_flags_are_as_llm_d_has_them(role: str) -> None:
    assert {flag: value(role, flag) for flag in FLAGS[role]} == FLAGS[role]


def test_the_proxy_is_as_llm_d_has_it() -> None:
    assert {path: proxy().get(path) for path, _ in PROXY_FIELDS if "." not in path} == {
        path: wanted for path, wanted in PROXY_FIELDS if "." not in path
    }
    security = {f"securityContext.{key}": one for key, one in proxy()["securityContext"].items()}
    assert {path: wanted for path, wanted in PROXY_FIELDS if "." in path}.items() <= security.items(), (
        _SIDECAR
    )
    assert PROXY_FLAGS.items() <= flags(proxy()["args"]).items()


def test_pods_of_prefill_have_no_proxy() -> None:
    assert "initContainers" not in template("prefill")["spec"]


@pytest.mark.parametrize(("role", "path", "theirs", "ours"), OTHERWISE, ids=lambda one: str(one)[:40])
def test_what_we_have_otherwise_is_as_is_said_here(role: str, path: str, theirs: Any, ours: Any) -> None:
    assert value(role, path) == ours != theirs


@pytest.mark.parametrize("role", PORTS)
@pytest.mark.parametrize("path", NOT_THERE)
def test_what_llm_d_has_and_we_have_a_reason_against_is_not_there(role: str, path: str) -> None:
    assert value(role, path) is None


def test_one_pool_has_the_pods_of_both_roles_on_one_port() -> None:
    """inferencePool.targetPorts of the chart, and modelServers.matchLabels without a role."""
    pool = one_of("InferencePool")["spec"]
    assert pool["targetPorts"] == [{"number": 8000}]
    for role in PORTS:
        labels = template(role)["metadata"]["labels"]
        assert pool["selector"]["matchLabels"].items() <= labels.items()


def test_the_picker_is_of_the_guides_program_and_one_fix_later() -> None:
    [image] = [
        container["image"]
        for made in objects("Deployment")
        for container in made["spec"]["template"]["spec"]["containers"]
        if made["metadata"]["labels"][DEPLOYMENT] == DEPLOYED and container["name"] == "epp"
    ]
    assert image == "ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1"


def test_the_config_is_of_the_guides_kind_and_gates() -> None:
    assert {key: config()[key] for key in ("apiVersion", "kind", "featureGates")} == {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "featureGates": ["prepareDataPlugins"],
    }


def test_the_plugins_are_the_guides_but_for_what_is_said_here() -> None:
    ours = {plugin["type"]: plugin.get("parameters") for plugin in config()["plugins"]}
    expected: dict[str, Any] = {**PLUGINS}
    for name, theirs, own in OTHER_PLUGINS:
        assert PLUGINS.get(name, "missing") == theirs != own
        expected[name] = own
    assert ours == {name: parameters for name, parameters in expected.items() if parameters != "missing"}


@pytest.mark.parametrize("role", WEIGHTS)
def test_profiles_filter_and_choose_as_the_guides_with_the_samples_weights(role: str) -> None:
    [profile] = [one for one in config()["schedulingProfiles"] if one["name"] == role]
    plain = [one["pluginRef"] for one in profile["plugins"] if "weight" not in one]
    weighed = {one["pluginRef"]: one["weight"] for one in profile["plugins"] if "weight" in one}
    theirs, ours = WEIGHTS[role]
    assert (plain, weighed) == ([f"{role}-filter", "max-score-picker"], ours)
    assert ours != theirs
