"""EndpointPickerConfig: how an endpoint picker scores pods. A deployment's own is used unchanged."""

import copy
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.serving.prefill import Prefill
from inferfleet.fleet import names
from inferfleet.fleet.roles import DECODE, PREFILL, connector
from inferfleet.profiles.engines import engine
from inferfleet.profiles.profile import Phases, Profile

# Scorers and weights as in the charts of Gateway API Inference Extension and llm-d-router.
_SCORERS = {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}
# Where prefill is apart, as in deploy/config/pd-epp-config.yaml of llm-d's scheduler and of its router.
# The scorer takes the size of blocks from a metric of the engine (autoTune).
_SCORERS_APART = {"prefix-cache-scorer": 2, "queue-scorer": 1}
HANDLER = "disagg-profile-handler"
PREFIX_DECIDER, ALWAYS_DECIDER = "prefix-based-pd-decider", "always-disagg-pd-decider"
FILTERS = {PREFILL: "prefill-filter", DECODE: "decode-filter"}
SOURCE, DETECTOR = "metrics-data-source", "utilization-detector"
_PICKER = "max-score-picker"
# Tokens that llm-d's sample asks for.
_NON_CACHED_TOKENS = 16


def picker_config(*, deployment: ModelDeployment, profile: Profile) -> dict[str, Any]:
    """Return the deployment's own config, or the default for its engine."""
    own = deployment.spec.endpoint_picker.config
    if own is not None:
        return copy.deepcopy(own)
    head = {"apiVersion": profile.config_api_versions[0], "kind": profile.config_kind}
    metrics = _metrics_plugins(deployment, profile)
    if deployment.spec.prefill and profile.phases:
        body = _apart(deployment, deployment.spec.prefill, profile.phases, metrics, profile)
    else:
        body = {
            "plugins": [*({"type": name} for name in _SCORERS), *metrics],
            "schedulingProfiles": [{"name": "default", "plugins": _weighed(_SCORERS)}],
        }
    if profile.metrics_stale_after:
        limit = {"metricsStalenessThreshold": profile.metrics_stale_after}
        body["plugins"].append({"type": DETECTOR, "parameters": limit})
    return head | body | _parsing(deployment, profile, body["plugins"])


def _parsing(deployment: ModelDeployment, profile: Profile, plugins: list[dict[str, Any]]) -> dict[str, Any]:
    """Return by what requests are read, and add it to `plugins` where the picker does not so by itself."""
    if profile.parsers:
        return {"requestHandler": {"parsers": [{"pluginRef": name} for name in profile.parsers]}}
    if engine(deployment.spec.engine.type).own_protocol and profile.parser_of_any:
        plugins.append({"type": profile.parser_of_any})
        return {"parser": {"pluginRef": profile.parser_of_any}}
    return {}


def always(deployment: ModelDeployment) -> bool:
    """Return whether every request of a deployment with prefill apart is prefilled apart.

    SGLang's decode engines answer others with status 400 (handle_generate_request in
    python/sglang/srt/managers/scheduler.py: "received without bootstrap room id").
    """
    prefill = deployment.spec.prefill
    return prefill is not None and (prefill.decider.type == "Always" or connector(deployment) == "SGLang")


def _apart(
    deployment: ModelDeployment,
    prefill: Prefill,
    phases: Phases,
    metrics: list[dict[str, Any]],
    profile: Profile,
) -> dict[str, Any]:
    """Return plugins and a profile for each role: a decode pod is chosen first, then, if the decider says so,
    a prefill pod, whose address goes to the decode pod's proxy in a header.
    """
    decider: dict[str, Any] = {"type": ALWAYS_DECIDER}
    if not always(deployment):
        tokens = prefill.decider.non_cached_tokens or _NON_CACHED_TOKENS
        decider = {"type": PREFIX_DECIDER, "parameters": {"nonCachedTokens": tokens}}
    types = (*phases.headers_handlers[:1], *phases.producers, *_SCORERS_APART, *FILTERS.values(), _PICKER)
    reading = [profile.metrics_gate] if metrics and profile.metrics_gate else []
    gates = [*reading, *phases.gates]
    return {
        **({"featureGates": gates} if gates else {}),
        "plugins": [
            *({"type": name} for name in types),
            decider,
            {"type": HANDLER, "parameters": {"deciders": {"prefill": decider["type"]}}},
            *metrics,
        ],
        # The names are those that the handler looks for, and the scorer for the cache of prefill pods.
        "schedulingProfiles": [
            {
                "name": role,
                "plugins": [{"pluginRef": name}, {"pluginRef": _PICKER}, *_weighed(_SCORERS_APART)],
            }
            for role, name in FILTERS.items()
        ],
        **({"data": _data(profile)} if reading else {}),
    }


def _weighed(scorers: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"pluginRef": name, "weight": weight} for name, weight in scorers.items()]


def _data(profile: Profile) -> dict[str, Any]:
    return {"sources": [{"pluginRef": SOURCE, "extractors": [{"pluginRef": profile.extractor}]}]}


def _metrics_plugins(deployment: ModelDeployment, profile: Profile) -> list[dict[str, Any]]:
    """Return the two readers of engine metrics, each only if its defaults do not fit.

    Pickers add them by themselves when they are absent, with defaults that do not know this path and label.
    """
    defaults = engine(deployment.spec.engine.type)
    source: dict[str, Any] = {}
    if defaults.metrics_path != "/metrics":
        source["path"] = defaults.metrics_path
    if defaults.metrics_port and not profile.engine_metrics_port_flag:
        source["port"] = defaults.metrics_port
    extractor = {"type": profile.extractor, "parameters": {"engineLabelKey": names.LLM_D_ENGINE}}
    plugins: list[dict[str, Any]] = []
    if profile.metrics_gate:
        # Without the gate it reads vLLM's metrics by itself; with it, it adds no reader.
        reader = {"type": SOURCE, **({"parameters": source} if source else {})}
        return [] if defaults.label == "vllm" else [reader, extractor]
    if source:
        plugins.append({"type": SOURCE, "parameters": source})
    if profile.engine_label != names.LLM_D_ENGINE:
        plugins.append(extractor)
    return plugins


class _Plain(yaml.SafeDumper):
    """YAML without anchors: pickers read it strictly."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


# Texts that PyYAML takes for texts, and pickers (go.yaml.in/yaml/v2, resolve.go) for numbers and booleans.
_Plain.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^(?:[yYnN]|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+|0o[0-7]+)$"),
    list("yYnN-+.0123456789"),
)


def config_text(config: dict[str, Any]) -> str:
    """Return the text that the picker reads."""
    return _dumped(json.dumps(config))


# Most deployments have the same one, and writing YAML takes as long as all else that is made of them.
@lru_cache(maxsize=256)
def _dumped(config: str) -> str:
    return yaml.dump(json.loads(config), Dumper=_Plain, sort_keys=False, allow_unicode=True)
