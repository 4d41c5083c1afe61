"""What prefill and decode of a deployment exchange, and the revision that it makes.

A decode pod reads blocks of a KV cache that a prefill pod wrote. Both must agree on all that decides what is
in them: the program, the model, its number format, the size of a block, and over how many GPUs it is spread.
Pods of two formats never serve one request, so a deployment with prefill apart has a revision: six digits of
a hash of these facts, in the names of its workloads, its picker and its InferencePool.

The facts are those of vLLM's compatibility hash (compute_nixl_compatibility_hash in
vllm/distributed/kv_transfer/kv_connector/v1/nixl/metadata.py at 02cfb534), which has its version, the model,
number formats, attention backend, the manager of hybrid caches, speculation and push or pull; those that its
handshake compares besides (_validate_remote_agent_handshake in base_worker.py: sizes of blocks and tensor
group, VLLM_KV_CACHE_LAYOUT, context parallelism); and of SGLang page size and format of the cache
(try_ensure_parallel_info in srt/disaggregation/common/conn.py). Engines know a model by its name alone, so
for a path its files count too. Of `--kv-transfer-config` only what the other side sees counts, and prefill's
bootstrap port where proxies have it. A fact that nobody wrote is left out, so one that is read newly changes
no revision without it. The proxy hands requests on and no cache: it is no fact.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.kinds.inference_cluster import Images
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.serving.prefill import Connector
from inferfleet.api.kinds.workers import Position
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown
from inferfleet.fleet.engines.flags import flags_of, model_of, spelling
from inferfleet.fleet.engines.kv_transfer import (
    TRANSFER,
    Transfer,
    bootstrap_port_of,
    canonical,
    implied,
    transfer_of,
)
from inferfleet.fleet.engines.repeated import place_of
from inferfleet.fleet.engines.words import Command, Steps, command_of
from inferfleet.fleet.roles import (
    PREFILL,
    engine_of,
    image_of,
    is_disaggregated,
    serving_roles,
    template_path,
    workers_of,
)
from inferfleet.profiles.engines import engine
from inferfleet.profiles.kv_transfer import BOOTSTRAP_PORT, ENGINES, SGLANG_WAY
from inferfleet.profiles.meanings import AnyMeaning

Spec = Mapping[str, Any]

_DIGITS = 6
_FLAGS: tuple[AnyMeaning, ...] = (
    "revision",
    "quantization",
    "overrides",
    "dtype",
    "cacheDtype",
    "blockSize",
    "attention",
    "attentionConfig",
    "speculation",
    "decodeContext",
    "prefillContext",
    "way",
)
# What says nothing: the engine does the same without it.
USUAL: Mapping[AnyMeaning, str] = {
    "dtype": "auto",
    "cacheDtype": "auto",
    "decodeContext": "1",
    "prefillContext": "1",
    "way": SGLANG_WAY,
}
# Other names of number formats: vllm/config/model.py.
_DTYPES = {"half": "float16", "float": "float32"}
# Where blocks lie in memory, the attention backend of vLLM before v0.14, and what has models with latent
# attention keep whole keys and values (vllm/envs.py).
LAYOUT, BACKEND, WITHOUT_LATENT = "VLLM_KV_CACHE_LAYOUT", "VLLM_ATTENTION_BACKEND", "VLLM_MLA_DISABLE"
_VARIABLES = (LAYOUT, BACKEND, WITHOUT_LATENT)
_POSITIONS: tuple[Position, ...] = ("Entry", "Follower")

# The plugin that mounts or unpacks models, and what names their files in its config and in volumes.
_MODELS = "model-cache"
_NAMED = ("reference", "claimName", "subPath", "bucket")


@dataclass(frozen=True)
class Fact:
    """One fact of a command line: its value, what says so in the pod, and where in its spec."""

    value: str
    said: str
    at: Steps


def connector(deployment: ModelDeployment) -> Connector:
    """Return how KV caches are handed on. Raises ValueError for a deployment without prefill."""
    prefill = deployment.spec.prefill
    if prefill is None:
        raise ValueError(f"{deployment.metadata.key} has no prefill of its own")
    kinds = ENGINES.get(deployment.spec.engine.type)
    return prefill.connector or (kinds[0] if kinds else "NIXL")


def bootstrap_port(deployment: ModelDeployment) -> int:
    """Return where prefill engines tell the way to them, by their template in the document."""
    spec = workers_of(deployment, PREFILL).entry_template.spec
    return bootstrap_port_of(spec, connector(deployment)) or BOOTSTRAP_PORT


def revision(deployment: ModelDeployment, images: Images) -> str:
    """Return the revision of what prefill and decode exchange on a cluster with these images; "" where both
    are one.
    """
    if not is_disaggregated(deployment):
        return ""
    told: dict[str, Any] = {"connector": connector(deployment), "engine": deployment.spec.engine.type}
    for role in serving_roles(deployment):
        topology = workers_of(deployment, role).topology
        told[role] = {"tensor": topology.tensor, "pipeline": topology.pipeline, "pods": []}
        for position in _POSITIONS:
            template = workers_of(deployment, role).of(position)
            if template is None:
                continue
            own = facts(template.spec, deployment, role, image=image_of(deployment, role, images))
            values = {name: fact.value for name, fact in own.items()}
            # Followers as their entries are no fact, however many templates say so.
            if values not in told[role]["pods"]:
                told[role]["pods"].append(values)
    # Proxies of decode ask there, and pods of two ports never find each other.
    if told["connector"] in ("Mooncake", "SGLang") and bootstrap_port(deployment) != BOOTSTRAP_PORT:
        told["bootstrap"] = bootstrap_port(deployment)
    pods = [values for role in serving_roles(deployment) for values in told[role]["pods"]]
    weights = _weights(deployment)
    if weights and any(values.get("model", "").startswith("/") for values in pods):
        told["weights"] = weights
    text = json.dumps(told, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def facts(spec: Spec, deployment: ModelDeployment, role: str, *, image: str | None = None) -> dict[str, Fact]:
    """Return the facts of a pod's spec by name; `image` is that of an engine whose container names none.

    What engine-args would write for role and connector is there whether it is written or not.
    """
    table = engine(engine_of(deployment, role).type)
    command = command_of(spec)
    flags = flags_of(command, table)
    place, container = engine_container(spec)
    found: dict[str, Fact] = {}
    if named := container.get("image") or image:
        found["image"] = Fact(named, f"image {named}", ("spec", "containers", place, "image"))
    if model := model_of(command, flags, table):
        found["model"] = Fact(model.text, f"model {model.text}", model.at)
    for meaning in _FLAGS:
        flag = flags.last(meaning)
        value = _value(meaning, flag.value or "") if flag else None
        if flag and value != USUAL.get(meaning):
            name = spelling(meaning, table) or flag.name
            found[meaning] = Fact(value or "", f"{name} {value or ''}".strip(), flag.word.at)
    for flag in flags.all:
        if flag.meaning in ("evenCache", "hybridCache"):
            found["cacheManager"] = Fact(str(flag.meaning), flag.name, flag.word.at)
    found |= _environment(command, container, place)
    transfer = transfer_of(command, flags)
    follows = implied(connector(deployment), role)
    if transfer:
        found["transfer"] = Fact(transfer.exchanged, f"{TRANSFER} {transfer.text}", transfer.at)
    elif follows and follows[0] == TRANSFER:
        config = Transfer(json.loads(follows[1]), follows[1], place_of(command))
        found["transfer"] = Fact(config.exchanged, f"{TRANSFER} {follows[1]}", config.at)
    return found


def changes(
    spec: Spec,
    written: Spec,
    deployment: ModelDeployment,
    role: str,
    position: Position,
    *,
    image: str | None,
) -> Iterator[Mistake]:
    """Yield the facts in which the spec of a pod differs from the one that its document has.

    A plugin made them, and pods of two formats would have one revision before and after it is changed.
    """
    if not is_disaggregated(deployment) or role not in serving_roles(deployment):
        return
    document = facts(written, deployment, role, image=image)
    final = facts(spec, deployment, role, image=image)
    path = template_path(deployment, role, position)
    for name in sorted(document.keys() | final.keys()):
        before, after = document.get(name), final.get(name)
        if (before and before.value) == (after and after.value):
            continue
        said = shown(after.said, 120) if after else f"no {before.said.partition(' ')[0] if before else name}"
        had = shown(before.said, 120) if before else "nothing of it"
        at = after.at if after else place_of(command_of(spec))
        yield Mistake(
            f"{role} pods get {said}, and the document has {had}; prefill and decode exchange KV caches "
            "whose form follows from the document alone, and so do the names of their pods",
            f"Write {said} in {path}" if after else f"Remove it from {path}",
            at,
        )


def _weights(deployment: ModelDeployment) -> list[dict[str, Any]]:
    """Return where files of models come from, as far as the document says: engines compare their path alone.

    A chain of class, cluster or stack that mounts models is not seen here.
    """
    sources = [
        link.config.get(kind)
        for link in deployment.spec.plugins
        if link.name == _MODELS and isinstance(link.config, Mapping)
        for kind in ("oci", "image", "pvc", "gcsFuse")
    ]
    for role in serving_roles(deployment):
        for position in _POSITIONS:
            if template := workers_of(deployment, role).of(position):
                for volume in template.spec.get("volumes", []):
                    sources += [volume.get("image"), volume.get("persistentVolumeClaim")]
    found: list[dict[str, Any]] = []
    for source in sources:
        named = {key: source[key] for key in _NAMED if key in source} if isinstance(source, Mapping) else {}
        if named and named not in found:
            found.append(named)
    return found


def _value(meaning: AnyMeaning, text: str) -> str:
    """Return the value of a flag, in one form for all that mean the same."""
    if meaning == "dtype":
        return _DTYPES.get(text, text)
    try:
        return canonical(json.loads(text)) if text.startswith("{") else text
    except (ValueError, RecursionError):
        return text


def _environment(command: Command, container: Mapping[str, Any], place: int) -> dict[str, Fact]:
    found = {}
    for i, variable in enumerate(container.get("env", [])):
        name = variable["name"]
        if name in _VARIABLES and name in command.env:
            at: Steps = ("spec", "containers", place, "env", i)
            found[name] = Fact(command.env[name], f"{name}={command.env[name]}", at)
    return found
