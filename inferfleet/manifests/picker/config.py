"""EndpointPickerConfig: how an endpoint picker scores pods. A deployment's own is used unchanged."""

import copy
import hashlib
import json
from functools import lru_cache
from typing import Any

import yaml

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.manifests.metadata import metadata
from inferfleet.manifests.picker.flags import CONFIG_FILE
from inferfleet.profiles.engines import engine
from inferfleet.profiles.profile import Profile

# Scorers and weights as in the charts of Gateway API Inference Extension and llm-d-router.
_SCORERS = {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}
EXTRACTOR = "core-metrics-extractor"


def picker_config(*, deployment: ModelDeployment, profile: Profile) -> dict[str, Any]:
    """Return the deployment's own config, or the default for its engine."""
    own = deployment.spec.endpoint_picker.config
    if own is not None:
        return copy.deepcopy(own)
    plugins: list[dict[str, Any]] = [{"type": name} for name in _SCORERS]
    return {
        "apiVersion": profile.config_api_versions[0],
        "kind": profile.config_kind,
        "plugins": plugins + _metrics_plugins(deployment, profile),
        "schedulingProfiles": [
            {
                "name": "default",
                "plugins": [{"pluginRef": name, "weight": weight} for name, weight in _SCORERS.items()],
            }
        ],
    }


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
    plugins: list[dict[str, Any]] = []
    if source:
        plugins.append({"type": "metrics-data-source", "parameters": source})
    if profile.engine_label != names.LLM_D_ENGINE:
        plugins.append({"type": EXTRACTOR, "parameters": {"engineLabelKey": names.LLM_D_ENGINE}})
    return plugins


def config_map(*, deployment: ModelDeployment, profile: Profile, stack: str, revision: str) -> dict[str, Any]:
    key = deployment.metadata.key
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(
            names.epp(key, revision), stack=stack, namespace=deployment.metadata.namespace, deployment=key
        ),
        "data": {CONFIG_FILE: config_text(picker_config(deployment=deployment, profile=profile))},
    }


def config_hash(*, deployment: ModelDeployment, profile: Profile) -> str:
    """Return a hash of the file. It restarts pickers when the file changes, which they read only once."""
    text = config_text(picker_config(deployment=deployment, profile=profile))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Plain(yaml.SafeDumper):
    """YAML without anchors: pickers read it strictly."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def config_text(config: dict[str, Any]) -> str:
    """Return the file that the picker reads."""
    return _dumped(json.dumps(config))


# Most deployments have the same one, and writing YAML takes as long as all else that is made of them.
@lru_cache(maxsize=256)
def _dumped(config: str) -> str:
    return yaml.dump(json.loads(config), Dumper=_Plain, sort_keys=False, allow_unicode=True)
