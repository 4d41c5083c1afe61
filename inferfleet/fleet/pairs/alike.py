"""What two sides that exchange a KV cache must be told alike: model, number formats, blocks, way, image."""

from collections.abc import Iterator, Mapping

from inferfleet.api.problems import Problem, Severity
from inferfleet.api.wording import listing, shown
from inferfleet.fleet.engines.exchanged import LAYOUT, USUAL, WITHOUT_LATENT
from inferfleet.fleet.engines.flags import model_of, number_of
from inferfleet.fleet.engines.kv_transfer import TRANSFER, Transfer
from inferfleet.fleet.engines.words import Steps, is_known
from inferfleet.fleet.pairs.sides import Side
from inferfleet.profiles.kv_transfer import (
    ALIASES,
    ALIKE,
    CLASSES,
    MULTI,
    has_latent_attention,
)
from inferfleet.profiles.meanings import AnyMeaning

_REFUSED: Mapping[AnyMeaning, str] = {
    "dtype": "the numbers in a KV cache have one format",
    "cacheDtype": "the numbers in a KV cache have one format",
    "way": "both must hand on in the same way",
}
# Without the flag these follow from model and GPU, which may be the same.
_LIKELY: tuple[AnyMeaning, ...] = ("attention", "attentionConfig")
_DOUBTFUL: Mapping[AnyMeaning, str] = {
    "maxLength": "prompts that one of them refuses are refused as a whole",
    "revision": "the weights of two revisions make different caches",
    "quantization": "weights that are rounded otherwise make other caches",
    "overrides": "a model that is configured otherwise makes other caches",
    "speculation": "vLLM refuses caches where EAGLE or MTP have another draft model",
}


def differences(one: Side, other: Side, by: str) -> Iterator[Problem]:
    """Yield what the entry of decode and another side are told otherwise.

    Between pods of one role only what is not compared among the pods of every worker.
    """
    if one.role != other.role:
        yield from _models(one, other)
        for meaning, why in _REFUSED.items():
            yield from _flag(one, other, meaning, "error", why)
        yield from _names(one, other)
    else:
        yield from _flag(one, other, "way", "error", _REFUSED["way"])
    for meaning in _LIKELY:
        # A part of vLLM's compatibility hash; other ways do not ask who computed what is in a cache.
        sure: Severity = "error" if by == "NIXL" else "warning"
        yield from _flag(one, other, meaning, sure, "a backend orders the blocks of a cache its own way")
    for meaning, why in _DOUBTFUL.items():
        if one.role != other.role or meaning != "maxLength":
            yield from _flag(one, other, meaning, "warning", why)
    yield from _blocks(one, other, by)
    if by == "NIXL":
        yield from _managers(one, other)
        yield from _layouts(one, other)
        yield from _latent(one, other)
    yield from _configs(one, other, by)


def _models(one: Side, other: Side) -> Iterator[Problem]:
    words = [model_of(side.command, side.flags, side.table) for side in (one, other)]
    ours, theirs = words
    if ours and theirs and ours.text != theirs.text and is_known(ours.text) and is_known(theirs.text):
        yield other.problem(
            f"{one.name} has the model {ours.text!r} and {other.name} has {theirs.text!r}, and a KV cache is "
            "of one model, which engines know by this name",
            "Write the same model for both",
            theirs.at,
            beside=(one, ours.at),
        )


def _flag(one: Side, other: Side, meaning: AnyMeaning, severity: Severity, why: str) -> Iterator[Problem]:
    flags = [side.flags.last(meaning) for side in (one, other)]
    written = next(filter(None, flags), None)
    usual = USUAL.get(meaning)
    if written is None or not all(
        flag or side.lacks(meaning) for side, flag in zip((one, other), flags, strict=True)
    ):
        return
    values = [(flag.value or "") if flag else usual for flag in flags]
    if values[0] == values[1] or not all(is_known(value or "") for value in values):
        return
    # What follows from the model without the flag may be the same.
    sure = severity == "error" and all(value is not None for value in values)
    said = [
        f"{flag.name} {flag.value or ''}".strip()
        if flag
        else f"no {written.name}" + (f" ({usual} by default)" if usual else "")
        for flag in flags
    ]
    yield other.problem(
        f"{one.name} has {said[0]} and {other.name} has {said[1]}: {why}",
        f"Write {written.name} alike for both",
        flags[1].word.at if flags[1] else other.whole,
        severity="error" if sure else "warning",
        beside=(one, flags[0].word.at if flags[0] else one.whole),
    )


def _names(one: Side, other: Side) -> Iterator[Problem]:
    """Yield names under which decode is asked and prefill is not known: both get the same request."""
    if not one.flags.has("servedModel") and not other.flags.has("servedModel"):
        return  # a matter of the model
    ours, theirs = _served(one), _served(other)
    if ours is None or theirs is None or set(ours[0]) <= set(theirs[0]) or other.position != "Entry":
        return
    missing = [name for name in ours[0] if name not in theirs[0]]
    yield other.problem(
        f"{one.name} serves the model as {listing(missing)} and {other.name} as {listing(theirs[0])}, and "
        "both get the same request",
        "Write --served-model-name alike for both",
        theirs[1],
        beside=(one, ours[1]),
    )


def _served(side: Side) -> tuple[tuple[str, ...], Steps] | None:
    flag = side.flags.last("servedModel")
    if flag is None:
        model = model_of(side.command, side.flags, side.table)
        known = model and is_known(model.text) and side.lacks("servedModel")
        return ((model.text,), model.at) if model and known else None
    names = [flag.value] if flag.value else []
    following = [word for word in side.command.words if word.at >= flag.word.at or word.shell]
    if "=" not in flag.word.text:
        start = next(i for i, word in enumerate(following) if word is flag.word)
        for word in following[start + 2 :]:
            if word.text.startswith("-") or not word.text.strip(";&|\n<>"):
                break
            names.append(side.command.value(word.text, shell=word.shell))
    return (tuple(names), flag.word.at) if names and all(map(is_known, names)) else None


def _blocks(one: Side, other: Side, by: str) -> Iterator[Problem]:
    """Yield sizes of blocks between which a cache is not handed on, or for some models alone."""
    flags = [side.flags.last("blockSize") for side in (one, other)]
    written = next(filter(None, flags), None)
    if written is None:
        return
    numbers = [number_of(flag.value) if flag else None for flag in flags]
    ours, theirs = numbers
    if ours == theirs or any(flag and number is None for flag, number in zip(flags, numbers, strict=True)):
        return
    if not all(flag or side.lacks("blockSize") for side, flag in zip((one, other), flags, strict=True)):
        return
    said = [f"{flag.name} {flag.value}" if flag else f"no {written.name}" for flag in flags]
    severity: Severity = "error"
    why = "a cache is handed on in blocks of one size"
    if ours is None or theirs is None:
        severity, why = "warning", "without it the size follows from model and GPU"
    elif by in ("NIXL", "Mooncake") and one.role != other.role and theirs < ours and not ours % theirs:
        severity, why = (
            "warning",
            "vLLM joins smaller blocks of prefill for models without hybrid caches alone",
        )
    elif by == "SharedStorage":
        severity = "warning"
    yield other.problem(
        f"{one.name} has {said[0]} and {other.name} has {said[1]}: {why}",
        f"Write {written.name} alike for both",
        flags[1].word.at if flags[1] else other.whole,
        severity=severity,
        beside=(one, flags[0].word.at if flags[0] else one.whole),
    )


def _managers(one: Side, other: Side) -> Iterator[Problem]:
    """Yield that one side alone treats layers of all kinds alike, a part of vLLM's compatibility hash."""
    last = [
        next((flag for flag in side.flags.all[::-1] if flag.meaning in ("evenCache", "hybridCache")), None)
        for side in (one, other)
    ]
    ours, theirs = last
    written = ours or theirs
    if written is None or (ours and theirs and ours.meaning == theirs.meaning):
        return
    said = [flag.name if flag else f"no {written.name}" for flag in last]
    yield other.problem(
        f"{one.name} has {said[0]} and {other.name} has {said[1]}: vLLM refuses caches of the other manager",
        f"Write {written.name} for both",
        theirs.word.at if theirs else other.whole,
        severity="error" if ours and theirs else "warning",
        beside=(one, ours.word.at if ours else one.whole),
    )


def _layouts(one: Side, other: Side) -> Iterator[Problem]:
    """Yield orders of a block that differ; of latent caches there is one. NixlConnector asks for HND."""
    found = [side.variable(LAYOUT) for side in (one, other)]
    values = [variable[0] if variable else "HND" for variable in found]
    permutes = bool(one.transfer and (one.transfer.config or {}).get("enable_permute_local_kv"))
    if values[0] == values[1] or has_latent_attention(one.model or "") or not all(map(is_known, values)):
        return
    if permutes and values[1] == "HND":
        return
    said = [
        f"{LAYOUT}={value}" if variable else f"no {LAYOUT} ({value} by default)"
        for variable, value in zip(found, values, strict=True)
    ]
    yield other.problem(
        f"{one.name} has {said[0]} and {other.name} has {said[1]}: vLLM refuses blocks in another order",
        f"Remove {LAYOUT}, or write it alike for both",
        found[1][1] if found[1] else other.whole,
        beside=(one, found[0][1] if found[0] else one.whole),
    )


def _latent(one: Side, other: Side) -> Iterator[Problem]:
    """Yield that one side alone keeps whole keys and values of a model with latent attention."""
    found = [side.variable(WITHOUT_LATENT) for side in (one, other)]
    values = [variable[0] if variable else "0" for variable in found]
    if values[0] == values[1] or not has_latent_attention(one.model or "") or not all(map(is_known, values)):
        return
    said = [f"{WITHOUT_LATENT}={value}" for value in values]
    yield other.problem(
        f"{one.name} has {said[0]} and {other.name} has {said[1]}: a cache of latent attention is read by no "
        "other",
        f"Write {WITHOUT_LATENT} alike for both",
        found[1][1] if found[1] else other.whole,
        beside=(one, found[0][1] if found[0] else one.whole),
    )


def _configs(one: Side, other: Side, by: str) -> Iterator[Problem]:
    """Yield parts of the transfer configs that both must have alike."""
    ours, theirs = one.transfer, other.transfer
    if not ours or not theirs or not ours.connector or not theirs.connector:
        return
    told: list[tuple[str, object, object]] = []
    # One that is not of the way asked for is told already.
    right = all(side.is_own or set(side.connectors) & CLASSES.get(by, {}).keys() for side in (ours, theirs))
    if right and _classes(ours) != _classes(theirs):
        told.append(
            (
                "kv_connector",
                _named(ours.connector, ours.connectors),
                _named(theirs.connector, theirs.connectors),
            )
        )
    for key, of in ALIKE.items():
        if of == by and ours.extra.get(key) != theirs.extra.get(key):
            told.append((key, ours.extra.get(key), theirs.extra.get(key)))
    for key, here, there in told:
        said = [
            f"{key} {shown(str(value))!r}" if value is not None else f"no {key}" for value in (here, there)
        ]
        yield other.problem(
            f"in {TRANSFER} {one.name} has {said[0]} and {other.name} has {said[1]}: both must hand on "
            "in the same way",
            f"Write {key} alike for both",
            theirs.at,
            beside=(one, ours.at),
        )


def _classes(transfer: Transfer) -> list[str]:
    """Return the class and those within it, each by one of its names."""
    return [ALIASES.get(name, name) for name in (transfer.connector or "", *transfer.connectors)]


def _named(connector: str, connectors: tuple[str, ...]) -> str:
    return f"{MULTI} of {listing(connectors)}" if connector == MULTI else connector
