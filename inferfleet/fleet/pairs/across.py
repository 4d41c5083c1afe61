"""How a KV cache gets from prefill to decode: between groups of GPUs of any sizes, and over which network.

UCX is what NIXL moves caches with. Without UCX_TLS it takes the best that both pods have, over TCP too; a
list of transports in UCX_TLS is all that it may take (https://openucx.readthedocs.io/en/master/faq.html).

Sources: of vLLM tp_ratio in vllm/distributed/kv_transfer/kv_connector/utils.py (one size is a multiple of the
other, whatever the model), _validate_remote_agent_handshake in v1/nixl/base_worker.py (no KV head may be on
several GPUs of a larger prefill), for pipelines vllm#45880 and vllm#52913; of SGLang _resolve_rank_mapping in
srt/disaggregation/common/conn.py; for generations of GPUs _get_backend_priorities and supported_dtypes in
vllm/platforms/cuda.py at 002db495 (bfloat16 and FLASH_ATTN from 8.0 on, FLASHINFER first on 10.x, and other
pairs for latent attention); of LMCache its keys, which have the number of a GPU and how many there are.
"""

from collections.abc import Iterator, Mapping, Sequence

from inferfleet.api.kinds.inference_cluster import Images
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Problem, Severity
from inferfleet.api.wording import shown
from inferfleet.fleet.engines.exchanged import BACKEND, connector
from inferfleet.fleet.engines.kv_transfer import REVISION
from inferfleet.fleet.engines.words import is_known
from inferfleet.fleet.pairs.sides import Side, entry_of, sides
from inferfleet.fleet.roles import PREFILL, path_of_role, workers_of
from inferfleet.fleet.spot import Spot
from inferfleet.profiles.images import dotted
from inferfleet.profiles.kv_transfer import (
    BFLOAT16_SINCE,
    MULTI,
    PREFILL_WIDER_SINCE,
    has_latent_attention,
    version_of,
)

_CHOSEN = {"--attention-backend": "the attention backend", "--dtype": "the number format"}
_STAGING = "SGLANG_DISAGG_STAGING_BUFFER"
_VARIABLE = "UCX_TLS"
# Transports over InfiniBand and RoCE; `rc_x` and `rc_mlx5` are kinds of `rc`.
_RDMA = ("rc", "ud", "dc", "ib", "rdmacm", "srd")
_TCP = ("tcp",)


def size_problems(decode: Side, prefill: Side, by: str, images: Sequence[Images]) -> Iterator[Problem]:
    """Yield sizes of worker groups between which no KV cache can be handed on."""
    yield from _tensor(decode, prefill, by, images)
    theirs, ours = prefill.topology.pipeline, decode.topology.pipeline
    if by == "NIXL" and max(theirs, ours) > 1:
        pushes = all(
            "NixlPushConnector" in side.transfer.connectors or side.transfer.connector == MULTI
            for side in (decode, prefill)
            if side.transfer
        ) and bool(decode.transfer and prefill.transfer)
        if ours > 1 or not pushes:
            yield _size(
                decode if ours > 1 else prefill,
                prefill if ours > 1 else decode,
                "pipeline",
                f"topology.pipeline is {ours if ours > 1 else theirs}, and vLLM's NixlConnector hands on "
                "caches of one stage (NixlPushConnector those of more in prefill)",
                "Lower it to 1, and raise tensor" + ("" if ours > 1 else ", or name NixlPushConnector"),
            )
    if by == "SGLang" and ours not in (1, theirs):
        yield _size(
            decode,
            prefill,
            "pipeline",
            f"topology.pipeline of decode is {ours} and of prefill {theirs}, and SGLang takes 1 in decode, "
            "or as many stages as in prefill",
            "Lower pipeline of decode to 1",
        )


def _tensor(decode: Side, prefill: Side, by: str, images: Sequence[Images]) -> Iterator[Problem]:
    ours, theirs = decode.topology.tensor, prefill.topology.tensor
    if ours == theirs:
        return
    said = f"topology.tensor of prefill is {theirs} and of decode {ours}"
    model = decode.model or prefill.model or ""
    latent = has_latent_attention(model)
    if by == "SharedStorage":
        named = [*decode.connectors, *prefill.connectors]
        if not latent and any(name.startswith("LMCache") for name in named):
            yield _size(
                prefill,
                decode,
                "tensor",
                f"{said}, and LMCache stores the part of each GPU by its number among so many",
                "Write the same tensor for both",
                "warning",
            )
    elif ours % theirs and theirs % ours:
        step = f"Write a multiple of {theirs} for decode, or {ours} for prefill"
        yield _size(
            prefill,
            decode,
            "tensor",
            f"{said}, and a cache can only be read where one is a multiple of the other",
            step,
        )
    elif by == "SGLang":
        if not latent and not all(side.variable(_STAGING) for side in (decode, prefill)):
            yield _size(
                prefill,
                decode,
                "tensor",
                f"{said}, and for models without latent attention SGLang hands on token by token then",
                f"Write the same tensor for both, or give both {_STAGING}=1",
                "warning",
            )
    elif theirs > ours and by == "NIXL":
        version = version_of(decode.image_of(images))
        if version and version < PREFILL_WIDER_SINCE:
            number = dotted(version)
            yield _size(
                prefill,
                decode,
                "tensor",
                f"{said}, and vLLM {number} of the image reads no cache that is spread over more GPUs than "
                "its own",
                f"Write {ours} or less for prefill, or take an image of a newer vLLM",
            )
        elif not latent:
            yield _size(
                prefill,
                decode,
                "tensor",
                f"{said}, and vLLM refuses the cache of a model that has fewer KV heads than {theirs}, "
                "unless its attention is latent (DeepSeek, Kimi K2)",
                f"Write {ours} or less for prefill, if the model has fewer",
                "warning",
            )


def _size(
    side: Side, other: Side, name: str, what: str, next_step: str, severity: Severity = "error"
) -> Problem:
    def path(of: Side) -> str:
        workers = workers_of(of.deployment, of.role)
        field = f".{name}" if name in workers.topology.model_fields_set else ""
        return f"{path_of_role(of.role)}.workers.topology{field}"

    key = side.deployment.metadata.key
    return Problem(
        what,
        next_step,
        path(side),
        kind="ModelDeployment",
        key=key,
        severity=severity,
        beside=path(other) if other is not side else "",
    )


def storage_problems(side: Side) -> Iterator[Problem]:
    """Yield files of one name that several GPUs write, or pods of two revisions."""
    transfer = side.transfer
    if transfer is None or transfer.storage is None or transfer.is_own:
        return
    if side.topology.tensor > 1:
        yield _size(
            side,
            side,
            "tensor",
            f"topology.tensor of {side.role} is {side.topology.tensor}, and vLLM's {transfer.storage} has "
            "one file for the parts of a cache that all these GPUs hold",
            "Lower it to 1, or name LMCacheConnectorV1",
        )
    if f"$({REVISION})" not in transfer.storage_path:
        yield side.problem(
            f"shared_storage_path is {shown(transfer.storage_path)!r}, and vLLM's {transfer.storage} finds "
            "files there by the tokens of a prompt alone, so pods of two revisions would read each other's",
            f"Add the revision to it, as in {transfer.storage_path.rstrip('/')}/$({REVISION})",
            transfer.at,
        )


def transport_problems(decode: Side, prefill: Side, by: str) -> Iterator[Problem]:
    """Yield that the two sides may take no transport between nodes that the other may take too."""
    if by not in ("NIXL", "SGLang"):
        return
    ours, theirs = _networks(decode), _networks(prefill)
    if ours is None or theirs is None or ours & theirs:
        return
    (one, one_at), (other, other_at) = _written(decode), _written(prefill)
    yield prefill.problem(
        f"{_VARIABLE} of decode is {shown(one)!r} and of prefill {shown(other)!r}, which have no network in "
        "common",
        f"Write {_VARIABLE} alike for both",
        other_at,
        beside=(decode, one_at),
    )


def fabric_problems(
    deployment: ModelDeployment, spot: Spot, *, fabrics: Mapping[str, bool], sure: bool
) -> Iterator[Problem]:
    """Yield that one side has no network between GPUs for what it is told, or for what the other has.

    `fabrics` says for each role whether the class of its pool on the spot has one, as far as its document
    says; it is `sure` where the stack creates the nodes.
    """
    found = sides(deployment)
    both = entry_of(found), entry_of(found, PREFILL)
    if both[0] is None or both[1] is None or connector(deployment) == "SharedStorage":
        return
    for side, other in (both, both[::-1]):
        if side is None or other is None or fabrics[side.role]:
            continue
        pool = f"pool {spot.pool(side.role)} of cluster {spot.cluster}"
        if _networks(side) == frozenset({"rdma"}):
            text, at = _written(side)
            yield side.problem(
                f"{_VARIABLE} of {side.role} is {shown(text)!r}, which is RDMA alone, and the class of "
                f"{pool} has no network between GPUs",
                f"Add tcp to {_VARIABLE}, or choose other nodes by nodeSelector",
                at,
                severity="error" if sure else "warning",
            )
        elif fabrics[other.role] and _networks(side) is None:
            theirs = f"pool {spot.pool(other.role)}"
            yield side.problem(
                f"the class of {theirs} of {other.role} has a network between GPUs, and that of {pool} of "
                f"{side.role} has none, so KV caches go over TCP",
                "Choose nodes with the same network for both by nodeSelector, if prompts are long",
                side.whole,
                severity="warning",
                beside=(other, other.whole),
            )


def generation_problems(
    deployment: ModelDeployment, spot: Spot, *, capabilities: Mapping[str, tuple[int, int] | None]
) -> Iterator[Problem]:
    """Yield that vLLM chooses attention backend or number format otherwise on the GPUs of one role.

    `capabilities` has for each role the CUDA compute capability of the class of its pool, None where that is
    not known.
    """
    found = sides(deployment)
    decode, prefill = entry_of(found), entry_of(found, PREFILL)
    here, there = (capabilities[side.role] if side else None for side in (decode, prefill))
    if decode is None or prefill is None or here is None or there is None or here[0] == there[0]:
        return
    if deployment.spec.engine.type != "vLLM":
        return
    both = (decode, prefill)
    backend = all(_has_backend(side) for side in both)
    dtype = all(side.flags.has("dtype") for side in both)
    # FLASH_ATTN needs 8.0, and is what others but those of 10 take; bfloat16 needs 8.0 too.
    old = min(here, there) < BFLOAT16_SINCE <= max(here, there)
    if backend and (dtype or not old):
        return
    absent = [
        name
        for name, is_there in (("--attention-backend", backend), ("--dtype", dtype or not old))
        if not is_there
    ]
    open_ended = any(not side.lacks("attention") or not side.lacks("dtype") for side in both)
    sure = old and not backend and not open_ended and connector(deployment) == "NIXL"
    yield prefill.problem(
        f"decode is on GPUs of compute capability {here[0]}.{here[1]} (pool {spot.pool(decode.role)} of "
        f"cluster {spot.cluster}) and prefill on {there[0]}.{there[1]} (pool {spot.pool(prefill.role)}), by "
        f"which vLLM chooses {' and '.join(_CHOSEN[name] for name in absent)}, and a KV cache is only read "
        "where they are the same",
        f"Write {' and '.join(absent)} alike for both, or choose nodes of one generation by nodeSelector",
        prefill.whole,
        severity="error" if sure else "warning",
        beside=(decode, decode.whole),
    )


def _has_backend(side: Side) -> bool:
    written = side.flags.has("attention", "attentionConfig")
    return written or side.variable(BACKEND) is not None


def _written(side: Side) -> tuple[str, tuple[str | int, ...]]:
    return side.variable(_VARIABLE) or ("", side.whole)


def _networks(side: Side) -> frozenset[str] | None:
    """Return the kinds of networks that UCX may take; None for all, or where that is not known."""
    text, _ = _written(side)
    names = [name.strip().lstrip("\\") for name in text.split(",")]
    if not text or not is_known(text) or "all" in names or text.startswith("^"):
        return None
    rdma = any(name == kind or name.startswith(f"{kind}_") for name in names for kind in _RDMA)
    return frozenset({"rdma"} if rdma else ()) | frozenset({"tcp"} if set(names) & set(_TCP) else ())
