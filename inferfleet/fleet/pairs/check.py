"""Whether prefill and decode of a deployment understand each other, as far as their documents say.

Each side is read by itself first: what hands its KV cache on, and for which role. Then every side is compared
with the entry of decode, because blocks that are cut otherwise, hold other numbers or are of another program
are refused by the engine, request by request, when the fleet serves already. What fails for certain is an
error; what works for some models, or in some versions alone, is a warning.

Sources: of vLLM docs/features/nixl_connector_usage.md at 026c83f9, and its compatibility matrix beside it at
0a5110ef; of SGLang srt/disaggregation/common/conn.py.
"""

from collections.abc import Container, Iterator, Sequence

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.kinds.inference_cluster import Images
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.workers import Position
from inferfleet.api.problems import Problem
from inferfleet.api.wording import listing, shown
from inferfleet.fleet.engines.exchanged import connector
from inferfleet.fleet.engines.kv_transfer import (
    MODE,
    TRANSFER,
    implied,
    mode_mistakes,
    transfer_mistakes,
)
from inferfleet.fleet.engines.words import Steps
from inferfleet.fleet.pairs.across import size_problems, storage_problems, transport_problems
from inferfleet.fleet.pairs.alike import differences
from inferfleet.fleet.pairs.sides import Side, entry_of, sides
from inferfleet.fleet.roles import PREFILL, image_of, is_disaggregated
from inferfleet.fleet.shapes import has_accelerators
from inferfleet.profiles.kv_transfer import (
    CLASSES,
    ENGINES,
    version_of,
)


def check(
    deployment: ModelDeployment,
    images: Sequence[Images] = (),
    *,
    written: Container[tuple[str, Position]] = (),
) -> Iterator[Problem]:
    """Yield what keeps prefill and decode from exchanging KV caches.

    `images` are those of the clusters where it is placed. For the roles and positions that are `written`, a
    plugin adds what follows from the document.
    """
    if not is_disaggregated(deployment):
        yield from _unified(deployment)
        return
    if unsupported := _unsupported(deployment):
        yield unsupported
        return
    by = connector(deployment)
    if deployment.spec.engine.type == "Other":
        yield _unread(deployment)
    found = sides(deployment)
    problems = [problem for side in found for problem in _of_side(side, by, images, written=written)]
    decode = entry_of(found)
    if decode:
        for side in found:
            if side is not decode:
                problems += differences(decode, side, by)
                problems += _images(decode, side, by, images)
        prefill = entry_of(found, PREFILL)
        problems += size_problems(decode, prefill, by, images) if prefill else ()
        problems += transport_problems(decode, prefill, by) if prefill else ()
    # One template for all pods of a role is read once, but two sides may lack the same.
    yield from dict.fromkeys(problems)


def _unsupported(deployment: ModelDeployment) -> Problem | None:
    """Return that the engine hands nothing on in the way that is asked for."""
    kind, by = deployment.spec.engine.type, connector(deployment)
    known = ENGINES.get(kind, ())
    if by in known:
        return None
    asked = deployment.spec.prefill is not None and deployment.spec.prefill.connector is not None
    if not known:
        what = f"engine.type is {kind}, and the routing proxy of llm-d asks prefill pods of vLLM and SGLang"
        step = "Remove prefill, or take another engine"
    else:
        what = f"connector {by} is not one of {kind}, which hands KV caches on by {listing(known)}"
        step = f"Write connector: {known[0]}"
        if kind == "SGLang":
            step += "; --disaggregation-transfer-backend says by what SGLang does it"
    return Problem(
        what,
        step,
        "spec.prefill.connector" if asked else "spec.prefill",
        kind="ModelDeployment",
        key=deployment.metadata.key,
        beside="spec.engine",
    )


def _unread(deployment: ModelDeployment) -> Problem:
    return Problem(
        "engine.type is Other, so of prefill and decode only images and topologies are compared",
        "Write the type of the engine, if it is vLLM or SGLang",
        "spec.engine.type",
        kind="ModelDeployment",
        key=deployment.metadata.key,
        severity="notice",
        beside="spec.prefill",
    )


def _unified(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield pods that are told to be one half of a pair, where the document has no other. Roles may be it."""
    if deployment.spec.roles:
        return
    for side in sides(deployment):
        role = (side.transfer.config or {}).get("kv_role") if side.transfer else None
        if side.transfer and role in ("kv_producer", "kv_consumer"):
            yield side.problem(
                f"kv_role is {role!r}, and the deployment has no prefill of its own: nobody takes its KV "
                "caches, or makes them",
                "Add spec.prefill, or write kv_both",
                side.transfer.at,
                severity="warning",
            )
        mode = side.flags.last("mode")
        if mode and mode.value in ("prefill", "decode"):
            yield side.problem(
                f"{mode.name} is {mode.value}, and the deployment has no prefill of its own: SGLang refuses "
                "requests that no other half takes part in",
                f"Add spec.prefill, or remove {mode.name}",
                mode.word.at,
            )


def _of_side(
    side: Side, by: str, images: Sequence[Images], *, written: Container[tuple[str, Position]]
) -> Iterator[Problem]:
    """Yield what is wrong with one side by itself."""
    for severity, mistake in (
        *mode_mistakes(side.flags, side.role),
        *(
            transfer_mistakes(
                side.transfer,
                by,
                side.role,
                image=side.image_of(images),
                accelerated=has_accelerators(side.deployment),
            )
            if side.transfer and by in CLASSES
            else ()
        ),
    ):
        yield side.problem(mistake.what, mistake.next_step, mistake.at, severity=severity)
    yield from storage_problems(side)
    yield from _absent(side, by, written=written)


def _images(one: Side, other: Side, by: str, images: Sequence[Images]) -> Iterator[Problem]:
    """Yield images that differ; what a template leaves out is the image of a cluster.

    vLLM's NixlConnector refuses caches of another version than its own. Between pods of one role it is told
    with what else the pods of a worker must have alike.
    """
    if one.role == other.role:
        return
    found: dict[tuple[str, str], None] = {}
    for of in images if not (one.image and other.image) else (None,):
        both = [
            side.image or (image_of(side.deployment, side.role, of) if of else None) for side in (one, other)
        ]
        if both[0] and both[1] and both[0] != both[1]:
            found[both[0], both[1]] = None
    for ours, theirs in found:
        versions = [version_of(image) for image in (ours, theirs)]
        sure = (
            by == "NIXL" and None not in versions and versions[0] != versions[1] and not _lenient(one, other)
        )
        yield other.problem(
            f"{one.name} runs {shown(ours)} and {other.name} runs {shown(theirs)}, "
            + (
                "and vLLM refuses KV caches of another version"
                if sure
                else "and pods are only known to understand each other's KV caches in the same version"
            ),
            "Write the same image for both",
            _image_at(other),
            severity="error" if sure else "warning",
            beside=(one, _image_at(one)),
        )


def _image_at(side: Side) -> Steps:
    place, container = engine_container(side.spec)
    at: Steps = ("spec", "containers", place)
    return (*at, "image") if "image" in container else at


def _lenient(decode: Side, prefill: Side) -> bool:
    """Return whether nobody compares versions: the side that opens the handshake does (nixl/base_worker.py).

    Decode opens it to read, and where prefill writes both do.
    """
    pushes = "NixlPushConnector" in decode.connectors
    return all(
        side.transfer is not None and side.transfer.extra.get("enforce_handshake_compat") is False
        for side in ((decode, prefill) if pushes else (decode,))
    )


def _absent(side: Side, by: str, *, written: Container[tuple[str, Position]]) -> Iterator[Problem]:
    """Yield that a command line does not say how to hand on, which an image or a file may set."""
    follows = implied(by, side.role)
    if side.deployment.spec.engine.type == "Other" or (
        follows and (side.role, side.position) in written and not side.command.conditional
    ):
        return
    if by == "SGLang":
        if not side.flags.has("mode"):
            yield side.problem(
                f"{MODE} is not among the arguments of {side.name}, and without it SGLang hands nothing on",
                f"Add {MODE}={side.role}, or plugin engine-args, unless the image or a configuration file "
                "sets it",
                side.whole,
                severity="warning",
            )
    elif side.transfer is None:
        classes = listing(list(CLASSES[by])[:3])
        yield side.problem(
            f"{TRANSFER} is not among the arguments of {side.name}, and without it vLLM hands nothing on",
            (
                f"Add {TRANSFER}={follows[1]}, or plugin engine-args"
                if follows
                else f"Add {TRANSFER} with a kv_connector such as {classes}, and where it stores"
            )
            + ", unless the image or a configuration file sets it",
            side.whole,
            severity="warning",
        )
