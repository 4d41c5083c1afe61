"""The command line of an endpoint picker: flags of the profile, the cluster and the deployment, and the
EndpointPickerConfig by which it scores pods, which is the value of one of them.

A deployment's own config is used unchanged, and flags of documents are passed on as they are written.
"""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import ceil
from typing import Any

import yaml

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment, Prefill
from inferfleet.documents.problems import Mistake
from inferfleet.documents.quantity import go_seconds
from inferfleet.documents.wording import shown
from inferfleet.fleet import names
from inferfleet.fleet.roles import DECODE, PREFILL, connector
from inferfleet.serving.programs import Value, text
from inferfleet.tables.engines import engine
from inferfleet.tables.pickers import Phases, Profile

# strconv.ParseBool, which pflag asks: https://pkg.go.dev/strconv#ParseBool.
_TRUE = ("1", "t", "T", "TRUE", "true", "True")

# Flags that repeat what a document or a name says elsewhere, with the place where it is said.
_SYSTEM = {
    "pool-name": "it follows from the deployment's name",
    "pool-namespace": "it follows from the deployment's namespace",
    "pool-group": "it follows from the profile",
    "endpoint-selector": "endpoints come from the deployment's InferencePool",
    "endpoint-target-ports": "endpoints come from the deployment's InferencePool",
    "config-file": "write spec.endpointPicker.config instead",
    "config-text": "write spec.endpointPicker.config instead",
    "grpc-port": "write spec.endpointPicker.port instead",
    "ha-enable-leader-election": "it follows from spec.endpointPicker.replicas",
    "metrics-endpoint-auth": "write serving.metricsAuth of the cluster instead",
    "tracing": "write serving.tracing of the cluster instead",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
# Probes, Services and NetworkPolicies have them too.
_HEALTH_PORT, _METRICS_PORT, _LAST_PORT = "grpc-health-port", "metrics-port", 65_535
# The files of metrics over TLS.
_FOLDER, _CLIENTS = "metrics-cert-dir", "metrics-client-ca-file"
# Scorers and weights as in the charts of Gateway API Inference Extension and llm-d-router.
_SCORERS = {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}
# Where prefill is apart, as in deploy/config/pd-epp-config.yaml of llm-d's scheduler and of its router.
# The scorer takes the size of blocks from a metric of the engine (autoTune).
_SCORERS_APART = {"prefix-cache-scorer": 2, "queue-scorer": 1}
CONFIG = "EndpointPickerConfig"
HANDLER = "disagg-profile-handler"
PREFIX_DECIDER, ALWAYS_DECIDER = "prefix-based-pd-decider", "always-disagg-pd-decider"
FILTERS = {PREFILL: "prefill-filter", DECODE: "decode-filter"}
SOURCE, _DETECTOR = "metrics-data-source", "utilization-detector"
# Pickers add it by themselves where no plugin picks, so that profiles may refer to it all the same.
PICKER = "max-score-picker"
# Tokens that llm-d's sample asks for.
_NON_CACHED_TOKENS = 16


def flags(*, deployment: ModelDeployment, serving: Serving, profile: Profile) -> dict[str, str]:
    """Return every flag but those that inferfleet sets itself, sorted by name."""
    merged: dict[str, Value] = dict(profile.flags)
    metrics_port = engine(deployment.spec.engine.type).metrics_port
    if metrics_port and profile.engine_metrics_port_flag:
        merged[profile.engine_metrics_port_flag] = metrics_port
    if not serving.metrics_auth:
        # Profiles of memory and goroutines are served beside the metrics, to whoever reaches those.
        merged["enable-pprof"] = False
    merged |= serving.epp_flags | deployment.spec.endpoint_picker.flags
    return {name: text(value) for name, value in sorted(merged.items())}


def args(*, deployment: ModelDeployment, serving: Serving, profile: Profile, revision: str) -> list[str]:
    """Return the picker's whole command line, one item per flag.

    Its configuration is one of them and no file of a ConfigMap: that would change under pods that run, which
    read it anew when their container starts again, or have another name with each change, and on a cluster
    that is lost nothing can be made or deleted.
    """
    picker = deployment.spec.endpoint_picker
    system = {
        "pool-name": names.inference_pool(deployment.metadata.key, revision),
        "pool-namespace": deployment.metadata.namespace,
        "pool-group": profile.pool_group,
        "config-text": _unexpanded(config_text(picker_config(deployment=deployment, profile=profile))),
        "grpc-port": str(grpc_port(deployment, profile)),
        **({"ha-enable-leader-election": "true"} if picker.replicas > 1 else {}),
        "tracing": text(serving.tracing is not None),
        "metrics-endpoint-auth": text(serving.metrics_auth),
    }
    chosen = flags(deployment=deployment, serving=serving, profile=profile)
    return [f"--{name}={value}" for name, value in {**system, **chosen}.items()]


def flag_mistakes(written: Mapping[str, Value]) -> Iterator[Mistake]:
    """Yield what is wrong with the flags of one document: that another field says the same, or that no port
    can be read of them. What else a picker does not take, it says itself.
    """
    for name, value in written.items():
        if not _NAME.fullmatch(name):
            step = "Write letters, digits and dashes, without dashes at the beginning"
            yield Mistake(f"{shown(name)!r} is not the name of a flag", step, (name,))
        elif name in _SYSTEM:
            yield Mistake(f"flag {name} is set by inferfleet", f"Remove it: {_SYSTEM[name]}", (name,))
        elif name in (_HEALTH_PORT, _METRICS_PORT) and not _is_port(text(value)):
            what = f"{name} is {shown(text(value))!r}, which is no port"
            yield Mistake(what, f"Give it a port from 1 to {_LAST_PORT}", (name,))


def _is_port(value: str) -> bool:
    return re.fullmatch(r"[0-9]{1,5}", value) is not None and 1 <= int(value) <= _LAST_PORT


def _unexpanded(text: str) -> str:
    """Return the text of which a kubelet, which replaces `$(NAME)` in arguments, makes the given one."""
    return text.replace("$", "$$")


def grpc_port(deployment: ModelDeployment, profile: Profile) -> int:
    """Return the port where gateways reach the picker."""
    return deployment.spec.endpoint_picker.port or profile.grpc_port


def health_port(chosen: Mapping[str, str], profile: Profile) -> int:
    return int(chosen.get(_HEALTH_PORT, profile.health_port))


def metrics_port(chosen: Mapping[str, str], profile: Profile) -> int:
    return int(chosen.get(_METRICS_PORT, profile.metrics_port))


def metrics_are_secure(chosen: Mapping[str, str]) -> bool:
    """Return whether the picker serves its metrics over TLS (ConfigureMetricsTLS in pkg/epp/server/options.go
    of llm-d-router v0.10.0; others never do).
    """
    return bool(chosen.get(_FOLDER) or chosen.get(_CLIENTS))


def scrape_annotations(*, deployment: ModelDeployment, serving: Serving, profile: Profile) -> dict[str, str]:
    """Return annotations by which a Prometheus that looks at pods scrapes a picker, where wanted."""
    if serving.monitoring is None or serving.monitoring.pickers != "Annotations":
        return {}
    chosen = flags(deployment=deployment, serving=serving, profile=profile)
    wanted = {
        "scrape": "true",
        "port": str(metrics_port(chosen, profile)),
        "path": "/metrics",
        **({"scheme": "https"} if metrics_are_secure(chosen) else {}),
    }
    return {f"prometheus.io/{name}": value for name, value in wanted.items()}


def stop_seconds(chosen: Mapping[str, str], profile: Profile) -> int:
    """Return for how many seconds a picker goes on with its streams, once it is told to end."""
    named = go_seconds(chosen.get("drain-timeout", ""))
    return profile.stop_seconds if named is None else ceil(named)


def is_secure(chosen: Mapping[str, str]) -> bool:
    """Return whether the picker serves TLS, with a self-signed certificate unless it is given another."""
    return chosen.get("secure-serving", "true") in _TRUE


def picker_config(*, deployment: ModelDeployment, profile: Profile) -> dict[str, Any]:
    """Return the deployment's own config, or the default for its engine."""
    own = deployment.spec.endpoint_picker.config
    if own is not None:
        return copy.deepcopy(own)
    head = {"apiVersion": profile.config_api_version, "kind": CONFIG}
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
        body["plugins"].append({"type": _DETECTOR, "parameters": limit})
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
    types = (*phases.plugins, *_SCORERS_APART, *FILTERS.values(), PICKER)
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
                "plugins": [{"pluginRef": name}, {"pluginRef": PICKER}, *_weighed(_SCORERS_APART)],
            }
            for role, name in FILTERS.items()
        ],
        **({"data": _data(profile)} if reading else {}),
    }


def _weighed(scorers: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"pluginRef": name, "weight": weight} for name, weight in scorers.items()]


def _data(profile: Profile) -> dict[str, Any]:
    return {"sources": [{"pluginRef": SOURCE, "extractors": [{"pluginRef": profile.extractor}]}]}


def metrics_source(deployment: ModelDeployment, profile: Profile) -> dict[str, Any]:
    """Return what a reader of the engine's metrics has to be told: an unusual path or port."""
    defaults = engine(deployment.spec.engine.type)
    source: dict[str, Any] = {}
    if defaults.metrics_path != "/metrics":
        source["path"] = defaults.metrics_path
    if defaults.metrics_port and not profile.engine_metrics_port_flag:
        source["port"] = defaults.metrics_port
    return source


def _metrics_plugins(deployment: ModelDeployment, profile: Profile) -> list[dict[str, Any]]:
    """Return the two readers of engine metrics, each only if its defaults do not fit.

    Pickers add them by themselves when they are absent, with defaults that do not know this path and label.
    """
    defaults, source = engine(deployment.spec.engine.type), metrics_source(deployment, profile)
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
