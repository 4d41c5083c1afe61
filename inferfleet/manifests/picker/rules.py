"""Rules over several parameters of one plugin, by the names that the tables of pickers give them.

Each function gets the parameters as the plugin has them, and yields what it refuses; the place of a mistake
is below the parameters. Their sources are the files that the tables name.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from inferfleet.api.pods.texts import LABEL_KEY, LABEL_VALUE
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import listing, one_of, shown
from inferfleet.manifests.picker.parameters import seconds
from inferfleet.profiles.pickers.tables import PluginType

Given = Mapping[str, Any]
Rule = Callable[[Given, PluginType], Iterator[Mistake]]

_RESERVED_ENGINE = "default"
_BLOCK_TOKENS = 16
_SCALE_TOKENS = 8192
_OPERATORS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
_NESTED, _FLAT = (
    ("profiles", "deciders"),
    (
        "decodeProfile",
        "prefillProfile",
        "encodeProfile",
        "prefillDeciderPluginName",
        "encodeDeciderPluginName",
        "deciderPluginName",
    ),
)


def broken(given: Given, row: PluginType) -> Iterator[Mistake]:
    """Yield what the rule of a plugin's row says against its parameters."""
    if row.rule:
        yield from _RULES[row.rule](given, row)


def reading(type_: str, row: PluginType, given: Given) -> Mapping[str, str]:
    """Return the data that a plugin needs, and which parameter names its producer; some depend on others."""
    more: dict[str, str] = {}
    if type_ == "prefix-cache-affinity-filter" and given.get("maxTTFTPenaltyMs", 1) > 0:
        predicted = given.get("ttftSource") == "latencyPredictor"
        key, name = ("LatencyPredictionInfo", "latencyPredictionInfo") if predicted else ("InFlightLoad",) * 2
        more[key] = f"{name[0].lower()}{name[1:]}ProducerName"
    if any((one or {}).get("metric") == "active-requests" for one in given.get("conditions") or ()):
        more["InFlightLoad"] = "inFlightLoadProducerName"
    if given.get("useEncoderCacheFeatures"):
        more["EncoderCacheMatchInfo"] = "encoderCacheMatchInfoProducerName"
    return {**row.reads, **more} if row.reads or more else {}


def _in_tokens(given: Given, row: PluginType) -> Iterator[Mistake]:
    if given.get("blockSize", 0) > 0 >= given.get("blockSizeTokens", 0):
        yield Mistake(
            "blockSize was in characters, and is read no more", "Write blockSizeTokens", ("blockSize",)
        )


def _block_size(given: Given, row: PluginType) -> Iterator[Mistake]:
    tokens = given.get("blockSizeTokens", _BLOCK_TOKENS)
    if given.get("blockSize", 0) > 0 >= tokens:
        yield Mistake("blockSize was in characters, and is read no more", "Remove it", ("blockSize",))
    yield from _tuned(given, tokens)


def _block_size_or_legacy(given: Given, row: PluginType) -> Iterator[Mistake]:
    tokens, legacy = given.get("blockSizeTokens", _BLOCK_TOKENS), given.get("blockSize", 0)
    yield from _tuned(given, legacy if legacy > 0 and tokens == _BLOCK_TOKENS else tokens)


def _tuned(given: Given, tokens: int) -> Iterator[Mistake]:
    if not given.get("autoTune", True) and tokens <= 0:
        what = "without autoTune, blocks need a size of more than 0 tokens"
        yield Mistake(what, "Write blockSizeTokens: 16", ("blockSizeTokens",))


def _engines(given: Given, row: PluginType) -> Iterator[Mistake]:
    seen: list[str] = []
    for place, config in enumerate(given.get("engineConfigs") or ()):
        name = (config or {}).get("name") or ""
        at = ("engineConfigs", place, "name")
        if name == _RESERVED_ENGINE:
            yield Mistake(f"{name!r} is not free for an engine", "Give it another name", at)
        if name and name in seen:
            yield Mistake(f"engine {shown(name)!r} is there twice", "Remove one", at)
        seen.append(name)
    engine = given.get("defaultEngine")
    if engine and engine not in (*seen, *row.engines):
        what = f"there is no engine {shown(engine)!r}"
        yield Mistake(what, one_of(engine, (*seen, *row.engines), "Known engines"), ("defaultEngine",))


def _one_attribute(given: Given, row: PluginType) -> Iterator[Mistake]:
    if len(given.get("attributes") or (None,)) != 1:
        yield Mistake("it takes exactly one attribute", "Write one plugin for each", ("attributes",))


def _some_label(given: Given, row: PluginType) -> Iterator[Mistake]:
    if not given.get("validValues") and not given.get("allowsNoLabel"):
        yield Mistake("it lets no pod pass", "Write validValues, or allowsNoLabel: true")


def _selector(given: Given, row: PluginType) -> Iterator[Mistake]:
    for key, value in (given.get("matchLabels") or {}).items():
        if not LABEL_KEY.allows(key) or not LABEL_VALUE.allows(value):
            what = f"{shown(key)}: {shown(value)} is no label of Kubernetes"
            yield Mistake(what, "Write a label as pods have it", ("matchLabels", key))
    for place, wanted in enumerate(given.get("matchExpressions") or ()):
        at = ("matchExpressions", place)
        key, operator = wanted.get("key") or "", wanted.get("operator") or ""
        values = wanted.get("values") or []
        if operator not in _OPERATORS:
            what = f"{shown(operator)!r} is no operator"
            yield Mistake(what, one_of(operator, _OPERATORS, "Operators"), (*at, "operator"))
        elif bool(values) != _OPERATORS[operator]:
            what = f"{operator} needs {'values' if _OPERATORS[operator] else 'no values'}"
            yield Mistake(what, "Mend values", (*at, "values"))
        if not LABEL_KEY.allows(key) or not all(LABEL_VALUE.allows(value or "") for value in values):
            yield Mistake(f"{shown(key)!r} is no label of Kubernetes", "Write a label as pods have it", at)


def _one_form(given: Given, row: PluginType) -> Iterator[Mistake]:
    nested = [key for key in _NESTED if any((given.get(key) or {}).values())]
    flat = [key for key in _FLAT if given.get(key)]
    if nested and flat:
        what = f"{listing(nested)} and {listing(flat)} are two forms of one thing"
        yield Mistake(what, f"Write {listing(flat)} below profiles and deciders", (flat[0],))


def _one_form_of_two(given: Given, row: PluginType) -> Iterator[Mistake]:
    """Unlike the one before it, this version looks at which fields are there, not at what is in them."""
    nested, flat = [key for key in _NESTED if key in given], [key for key in _FLAT if key in given]
    if nested and flat:
        what = f"{listing(nested)} and {listing(flat)} are two forms of one thing"
        yield Mistake(what, f"Write {listing(flat)} below profiles and deciders", (flat[0],))
    decider = (given.get("deciders") or {}).get("prefill")
    decider = decider or given.get("prefillDeciderPluginName") or given.get("deciderPluginName")
    if given.get("stageOrder") == "prefill-first" and decider:
        what = "with stageOrder prefill-first every prompt is prefilled, and a decider has nothing to say"
        yield Mistake(what, "Remove the decider of prefill", ("stageOrder",))


def _sessions(given: Given, row: PluginType) -> Iterator[Mistake]:
    if given.get("strategy") != "session_id":
        return
    config = given.get("sessionIdConfig") or {}
    for place, source in enumerate(config.get("sources") or ()):
        if bool((source or {}).get("header")) == bool((source or {}).get("attribute")):
            at = ("sessionIdConfig", "sources", place)
            yield Mistake("a source is either a header or an attribute", "Write one of the two", at)
    for key in ("evictionTtlSeconds", "evictionSweepSeconds"):
        if config.get(key, 0) < 0:
            yield Mistake(f"it is {config[key]}", "Write more than 0", ("sessionIdConfig", key))


def _throughput(given: Given, row: PluginType) -> Iterator[Mistake]:
    if (
        given.get("ttftSource", "prefillThroughput") == "prefillThroughput"
        and given.get("maxTTFTPenaltyMs", 1) > 0
        and given.get("peakPrefillThroughput", 1) == 0
    ):
        what = "it compares times by a throughput of 0"
        yield Mistake(what, "Write more than 0, or maxTTFTPenaltyMs: 0", ("peakPrefillThroughput",))


def _fractions(given: Given, row: PluginType) -> Iterator[Mistake]:
    for place, condition in enumerate(given.get("conditions") or ()):
        if condition.get("metric") == "kv-cache-utilization" and (condition.get("maxValue") or 0) > 1:
            what = f"kv-cache-utilization is a fraction, and maxValue is {condition['maxValue']}"
            yield Mistake(what, "Write at most 1", ("conditions", place, "maxValue"))


def _normalization(given: Given, row: PluginType) -> Iterator[Mistake]:
    at = ("algorithm", "normalization")
    said = (given.get("algorithm") or {}).get("normalization") or {}
    fixed = said.get("fixedRange")
    if fixed is not None and said.get("adaptiveRange") is not None:
        yield Mistake("fixedRange and adaptiveRange exclude each other", "Remove one", at)
    if fixed is not None and (fixed.get("min") or 0) >= (fixed.get("max") or 0):
        yield Mistake("min must be below max", "Mend the range", (*at, "fixedRange"))


def _match_length(given: Given, row: PluginType) -> Iterator[Mistake]:
    if given.get("matchLengthWeight", 0) > 0 >= given.get("matchLengthScaleTokens", _SCALE_TOKENS):
        what = "with matchLengthWeight it must be more than 0"
        yield Mistake(what, "Write more than 0", ("matchLengthScaleTokens",))


def _ceilings(given: Given, row: PluginType) -> Iterator[Mistake]:
    if given.get("minCeiling", 0) >= given.get("maxCeiling", 1):
        yield Mistake("minCeiling must be below maxCeiling", "Mend one of them", ("minCeiling",))


def _bursts(given: Given, row: PluginType) -> Iterator[Mistake]:
    for key in ("maxPerReplica", "maxBatchSize"):
        if given.get(key, -1) != -1 and given[key] < 1:
            yield Mistake(f"it is {given[key]}", "Write at least 1, or -1 for no limit", (key,))
    if 0 < given.get("maxPrefixTokensToMatch", 0) < given.get("blockSizeTokens", 64):
        what = "it is less than one block, so that no prefix would match"
        yield Mistake(what, "Write at least blockSizeTokens, or 0", ("maxPrefixTokensToMatch",))


def _header_or_cookie(given: Given, row: PluginType) -> Iterator[Mistake]:
    names = [key for key in ("headerName", "cookieName") if (given.get(key) or "").strip()]
    if len(names) != 1:
        yield Mistake("it reads either a header or a cookie", "Write one of headerName and cookieName")


def _one_tokenizer(given: Given, row: PluginType) -> Iterator[Mistake]:
    estimate, model = given.get("estimate") is not None, given.get("modelName")
    socket = bool((given.get("udsTokenizerConfig") or {}).get("socketFile"))
    engine = given.get("vllm") is not None or bool(model)
    if (estimate and (socket or engine)) or (socket and engine):
        what = "only one of estimate, vllm with modelName, and udsTokenizerConfig may be there"
        yield Mistake(what, "Remove the others")
    elif (socket or engine) and not model:
        yield Mistake("there is no modelName", "Write the model's name")


def _precise(given: Given, row: PluginType) -> Iterator[Mistake]:
    """Yield what llm-d-kv-cache v0.9.0 refuses, which llm-d-router v0.10.0 has in its own pkg/kvcache."""
    said = given.get("tokenProcessorConfig") or {}
    tokens = said.get("blockSizeTokens") or said.get("blockSize") or _BLOCK_TOKENS
    if tokens <= 0:
        yield Mistake(f"blocks have {tokens} tokens", "Write more than 0", ("tokenProcessorConfig",))
    if given.get("speculativeIndexing") and seconds(given.get("speculativeTTL") or "0") is None:
        yield Mistake("it is no duration", "Write it like 2s", ("speculativeTTL",))
    pool = (given.get("indexerConfig") or {}).get("tokenizersPoolConfig")
    at = ("indexerConfig", "tokenizersPoolConfig")
    if pool is not None and "scorer" not in row.roles:
        yield Mistake("it is read no more", "Remove it, and add a token-producer to plugins", at)
    elif pool is not None and not (pool.get("modelName") and (pool.get("uds") or {}).get("socketFile")):
        yield Mistake("it needs modelName and uds.socketFile", "Add them, or remove it", at)


def _certificates(given: Given, row: PluginType) -> Iterator[Mistake]:
    """Yield files that a picker has not: only its ConfigMap is mounted."""
    usual = "https" if row.file.endswith("multicluster.go") else "http"
    if given.get("scheme", usual) != "https":
        return
    for key in ("caCertPath", "clientCertPath", "clientKeyPath"):
        trusting = key == "caCertPath" and given.get("insecureSkipVerify", usual == "http")
        if given.get(key) and not trusting:
            what = f"there is no file {shown(given[key])} in the picker's pod"
            yield Mistake(what, "Remove it: inferfleet mounts no certificates there", (key,))


def _rollout(given: Given, row: PluginType) -> Iterator[Mistake]:
    for key in ("name", "headerName"):
        seen = [(one or {}).get(key) for one in given.get("headerSelectors") or ()]
        if len(set(seen)) != len(seen):
            yield Mistake(
                f"two of them have the same {key}", f"Give each its own {key}", ("headerSelectors",)
            )
    gating = given.get("revisionGating") or {}
    roles = (gating.get("requireRoles") or {}).get("values") or []
    at = ("revisionGating", "requireRoles")
    if gating.get("mode") in ("sum", "max-role") and not all(roles or [""]):
        yield Mistake(
            f"mode {gating['mode']} needs roles", "Write requireRoles: {values: [prefill, decode]}", at
        )
    elif gating.get("mode") in ("sum", "max-role") and len(set(roles)) != len(roles):
        yield Mistake("a role is there twice", "Remove one", at)
    if not re.fullmatch(r"[^=!,]*([=!,].*)?", (given.get("scope") or {}).get("labelSelector") or ""):
        yield Mistake("it is no selector", "Write it like app=qwen3", ("scope", "labelSelector"))


_RULES: Mapping[str, Rule] = {
    "block size in tokens": _in_tokens,
    "block size": _block_size,
    "block size or legacy": _block_size_or_legacy,
    "engines": _engines,
    "one attribute": _one_attribute,
    "some label": _some_label,
    "selector": _selector,
    "one form": _one_form,
    "one form of two": _one_form_of_two,
    "sessions": _sessions,
    "throughput": _throughput,
    "fractions": _fractions,
    "normalization": _normalization,
    "match length": _match_length,
    "ceilings": _ceilings,
    "bursts": _bursts,
    "header or cookie": _header_or_cookie,
    "one tokenizer": _one_tokenizer,
    "certificates": _certificates,
    "precise": _precise,
    "rollout": _rollout,
}
