"""Whether an engine serves the metrics that a picker's own configuration names for it.

Of `engineConfigs` the entry counts whose name is in the label `engineLabelKey` of the pod, or else that of
`defaultEngine`, by default vllm: `newCoreMetricsExtractorPlugin` of factories.go below
pkg/epp/framework/plugins/datalayer/extractor in GIE v1.5.0, llm-d-router v0.9.0 and v0.10.0.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Mistake
from inferfleet.fleet import names
from inferfleet.fleet.engines.absent import absence
from inferfleet.fleet.roles import running_image, serving_roles
from inferfleet.manifests.picker.parameters import mappings
from inferfleet.profiles.engines import engine
from inferfleet.profiles.kv_transfer import version_of
from inferfleet.profiles.metrics.table import metrics_of
from inferfleet.profiles.profile import Profile

_DEFAULT = "vllm"


def absent_metrics(deployment: ModelDeployment, serving: Serving, profile: Profile) -> Iterator[Mistake]:
    """Yield names below `endpointPicker.config` that the deployment's engine does not serve."""
    config = deployment.spec.endpoint_picker.config
    for place, plugin in enumerate(mappings(config, "plugins")):
        parameters = plugin.get("parameters")
        if plugin.get("type") != profile.extractor or not isinstance(parameters, Mapping):
            continue
        wanted = _entry(deployment, parameters, profile)
        for number, entry in enumerate(mappings(parameters, "engineConfigs")):
            if entry.get("name") != wanted:
                continue
            for field, written in entry.items():
                if field.endswith("Spec") and isinstance(written, str) and written:
                    name = written.partition("{")[0].strip()
                    at = ("config", "plugins", place, "parameters", "engineConfigs", number, field)
                    for what, step in dict.fromkeys(_absent(name, deployment, serving)):
                        yield Mistake(f"{what}, so the picker reads nothing by {field}", step, at)


def _entry(deployment: ModelDeployment, parameters: Mapping[str, Any], profile: Profile) -> object:
    key = parameters.get("engineLabelKey") or profile.engine_label
    if key == names.LLM_D_ENGINE:
        return engine(deployment.spec.engine.type).label
    return parameters.get("defaultEngine") or _DEFAULT


def _absent(name: str, deployment: ModelDeployment, serving: Serving) -> Iterator[tuple[str, str]]:
    kind = deployment.spec.engine.type
    known = metrics_of(kind)
    if known is None:
        return
    if not name.startswith(known.prefix):
        if known.prefixed:
            what = f"{name} is no metric of {kind}, whose names begin with {known.prefix}"
            yield what, f"Write one such as {known.example}"
        return
    for role in serving_roles(deployment):
        image = running_image(deployment, role, serving.images)
        if found := absence(name, kind, known, version_of(image)):
            yield found[:2]
