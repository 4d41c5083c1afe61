"""DeepSeek-R1 of the stack `frontier` against llm-d's guide to wide expert parallelism, field by field.

Each row is a fact of github.com/llm-d/llm-d, folder guides, with the file that it comes from:

* `wide-ep-lws/modelserver/gpu/vllm/base/decode.yaml` at commit bd51f431, a LeaderWorkerSet
* `wide-ep-lws/modelserver/gpu/vllm-deepseek-r1-0528/base/disaggregatedset.yaml` at commit c6b39838: its role
  `decode` has such pods with one API server for each copy of the model
* `wide-ep-lws/modelserver/gpu/vllm/coreweave/kustomization.yaml` at commit 0b925c3d
* `wide-ep-lws/router/wide-ep-lws.values.yaml` at commit 1b92e23a
* `recipes/modelserver/components/images/gpu-vllm/release/kustomization.yaml` at commit 927c387c

The guide splits prefill from decode; here one deployment takes requests of both phases. What differs besides
is in NOT_THERE, OTHERWISE and OTHER_FLAGS, with the reason.
"""

from typing import Any

import pytest
from rendered_frontier import at, engine, objects, part_of, templates, workload

DEPLOYMENT = "deepseek-r1"
_SET, _DECODE, _NETWORK, _ROUTER = (
    "disaggregatedset.yaml",
    "decode.yaml",
    "coreweave",
    "wide-ep-lws.values.yaml",
)

SET_FIELDS: tuple[tuple[str, Any, str], ...] = (
    ("apiVersion", "leaderworkerset.x-k8s.io/v1", _DECODE),
    ("kind", "LeaderWorkerSet", _DECODE),
    ("spec.replicas", 1, _DECODE),
    ("spec.leaderWorkerTemplate.size", 2, _DECODE),
)
# In the pods of leader and worker alike: the guide has no template for leaders.
POD_FIELDS: tuple[tuple[str, Any, str], ...] = (
    ("metadata.labels[llm-d.ai/inference-serving]", "true", _SET),
    ("spec.volumes[dshm].emptyDir.medium", "Memory", _SET),
    ("engine.volumeMounts[/dev/shm].name", "dshm", _SET),
    ("engine.resources.limits[nvidia.com/gpu]", "8", _SET),
    ("engine.resources.requests[nvidia.com/gpu]", "8", _SET),
    ("engine.resources.requests.cpu", "32", _SET),
    ("engine.resources.requests.memory", "512Gi", _SET),
    ("engine.resources.limits[rdma/ib]", "1", _NETWORK),
    ("engine.resources.requests[rdma/ib]", "1", _NETWORK),
    *(
        (f"engine.env[{name}].value", value, _SET)
        for name, value in (
            ("GLOO_SOCKET_IFNAME", "eth0"),
            ("NCCL_SOCKET_IFNAME", "eth0"),
            ("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "eth0"),
            ("NVSHMEM_SYMMETRIC_SIZE", "16G"),
            ("NVSHMEM_REMOTE_TRANSPORT", "ibgda"),
            ("NVSHMEM_IB_ENABLE_IBGDA", "true"),
            ("NVIDIA_GDRCOPY", "enabled"),
            ("VLLM_USE_DEEP_GEMM", "1"),
            ("VLLM_SKIP_P2P_CHECK", "1"),
        )
    ),
)
# The command as it runs in a follower. The guide's variables are MAX_TOKENS 256, DP_SIZE_LOCAL 8, TP_SIZE 1.
FLAGS: tuple[tuple[str, str | None], ...] = (
    ("--enable-expert-parallel", None),
    ("--max-num-batched-tokens", "256"),
    ("--max-num-seqs", "256"),
    ("--data-parallel-size", "16"),
    ("--data-parallel-size-local", "8"),
    ("--data-parallel-address", "leader"),
    ("--data-parallel-multi-port-external-lb", None),
    ("--enable-dbo", None),
    ("--dbo-decode-token-threshold", "32"),
    ("--all2all-backend", "deepep_low_latency"),
    ("--moe-backend", "deep_gemm"),
)
# Of llm-d's pods and not of ours.
NOT_THERE = (
    "spec.serviceAccountName",  # reads pods for the sidecar's protection; there is no sidecar
    "spec.initContainers",  # the sidecar that asks a prefill pod first
    "spec.volumes[hf-cache]",  # where weights lie is the team's to say: see the plugin model-cache
    "spec.volumes[jit-cache]",  # emptyDirs of the base, which the folders of the container are too
    "engine.imagePullPolicy",  # the image has a version, which does not change under its name
    "engine.securityContext.runAsUser",  # root, which is what the image runs as
    "engine.env[HF_TOKEN]",  # the model is open to all
    "engine.env[DP_SIZE_LOCAL]",  # in the command, which is written from the topology
    "engine.env[TP_SIZE]",
    "engine.env[MAX_TOKENS]",
    "engine.env[VLLM_NIXL_SIDE_CHANNEL_HOST]",  # for KV caches that move from prefill to decode
    "engine.env[VLLM_RANDOMIZE_DP_DUMMY_INPUTS]",  # for benchmarks
    "engine.resources.limits[ephemeral-storage]",  # as of memory, a limit is the team's to say
    "engine.resources.limits.memory",
    "spec.volumes[dshm].emptyDir.sizeLimit",  # pages in use count against the limit of memory
)
# What both have, with another value: theirs, ours.
OTHERWISE: tuple[tuple[str, Any, Any], ...] = (
    # The version that the documents of this project are true of; the image is the same.
    ("engine.image", "docker.io/vllm/vllm-openai:v0.27.1", "docker.io/vllm/vllm-openai:v0.32.0"),
    # 90 minutes instead of 45, because nothing keeps the weights on the node.
    ("engine.startupProbe.periodSeconds", 1, 10),
    ("engine.startupProbe.failureThreshold", 2700, 540),
    ("engine.readinessProbe.periodSeconds", 10, 5),
    ("engine.livenessProbe.periodSeconds", 30, 10),
    # Requests that run may end after SIGTERM.
    ("spec.terminationGracePeriodSeconds", None, 130),
)
OTHER_FLAGS: tuple[tuple[str, Any, Any], ...] = (
    # 8200 to 8207 behind the sidecar's 8000 to 8007.
    ("--port", "8200", "8000"),
    # The default.
    ("--tensor-parallel-size", "1", "missing"),
    # vLLM infers it from --node-rank where copies have ports of their own.
    ("--data-parallel-start-rank", "8", "missing"),
    ("--node-rank", "missing", "1"),
    # The defaults.
    ("--data-parallel-rpc-port", "5555", "29550"),
    ("--data-parallel-supervisor-port", "8208", "9256"),
    # Moves KV caches from prefill to decode.
    ("--kv_transfer_config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}', "missing"),
)


def flags(index: int) -> dict[str, str | None]:
    """The flags of the engine in the pod of this index."""
    words = part_of(DEPLOYMENT, index).args
    found: dict[str, str | None] = {}
    for word, following in zip(words, (*words[1:], "--"), strict=True):
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            found[name] = value if equals else None if following.startswith("--") else following
    return found


@pytest.mark.parametrize(("path", "value", "source"), SET_FIELDS, ids=lambda value: str(value))
def test_the_set_is_as_llm_d_has_it(path: str, value: Any, source: str) -> None:
    here: Any = workload(DEPLOYMENT)[1]
    for step in path.split("."):
        here = here[step]
    assert here == value, source


@pytest.mark.parametrize("number", [0, -1], ids=["leader", "follower"])
@pytest.mark.parametrize(("path", "value", "source"), POD_FIELDS, ids=lambda value: str(value)[:60])
def test_pods_are_as_llm_d_has_them(number: int, path: str, value: Any, source: str) -> None:
    assert at(templates(workload(DEPLOYMENT)[1])[number], path) == value, source


def test_capabilities_are_as_llm_d_has_them() -> None:
    template = templates(workload(DEPLOYMENT)[1])[0]
    assert sorted(at(template, "engine.securityContext.capabilities.add")) == ["IPC_LOCK", "SYS_RAWIO"]


def test_the_command_of_a_follower_is_as_llm_d_has_it() -> None:
    found = flags(1)
    assert {name: found.get(name, "missing") for name, _ in FLAGS} == dict(FLAGS)


@pytest.mark.parametrize(("path", "theirs", "ours"), OTHERWISE, ids=lambda value: str(value)[:40])
def test_what_we_have_otherwise_is_as_is_said_here(path: str, theirs: Any, ours: Any) -> None:
    assert at(templates(workload(DEPLOYMENT)[1])[0], path) == ours != theirs


@pytest.mark.parametrize(("flag", "theirs", "ours"), OTHER_FLAGS, ids=lambda value: str(value)[:40])
def test_flags_that_we_have_otherwise_are_as_is_said_here(flag: str, theirs: str, ours: str | None) -> None:
    assert flags(1).get(flag, "missing") == ours != theirs


@pytest.mark.parametrize("path", NOT_THERE)
def test_what_llm_d_has_and_we_have_a_reason_against_is_not_there(path: str) -> None:
    assert at(templates(workload(DEPLOYMENT)[1])[0], path) is None


def test_requests_reach_every_copy_on_a_port_of_its_own() -> None:
    """modelServers.targetPorts of router/wide-ep-lws.values.yaml."""
    [pool] = [
        manifest for _, manifest in objects("InferencePool") if manifest["metadata"]["name"] == DEPLOYMENT
    ]
    assert pool["spec"]["targetPorts"] == [{"number": 8000 + rank} for rank in range(8)]


def test_no_probe_or_port_touches_the_port_on_which_copies_meet() -> None:
    for template in templates(workload(DEPLOYMENT)[1]):
        container = engine(template)
        ports = [one["containerPort"] for one in container["ports"]]
        assert 29550 not in ports
        assert "29550" not in str(
            [container.get(f"{kind}Probe") for kind in ("startup", "readiness", "liveness")]
        )
