"""What the engine plans for workers: paths in their templates, and the operations that edits give."""

from collections.abc import Mapping
from typing import Any

from gke_edits import Edit

from bench.pages.changes import PodEffect
from inferfleet.cloud.gke.facts.change_table import Effect

WORKERS, ENGINE, ENCODE = "spec.workers", "spec.containers[0]", "spec.roles.encode"
# By these an update knows the LeaderWorkerSet that it wrote: they change with all of its spec.
WRITTEN = ('metadata.annotations["inferfleet.dev/spec"]', 'metadata.annotations["pulumi.com/waitFor"]')
GROUP, ROLLING = "spec.leaderWorkerTemplate", "spec.rolloutStrategy.rollingUpdateConfiguration"
TEMPLATES = (f"{GROUP}.leaderTemplate", f"{GROUP}.workerTemplate")
CONTAINER = "spec.containers"
_RESOURCES = f"{CONTAINER}.resources"
ARGS = f"{CONTAINER}.args"
LISTED = f"{CONTAINER}.ports.containerPort"
GPUS = tuple(f'{_RESOURCES}.{kind}["nvidia.com/gpu"]' for kind in ("limits", "requests"))
ANNOTATIONS = "metadata.annotations"
CLAIM = "spec.resourceClaims.resourceClaimTemplateName"
CLAIMED = (
    ANNOTATIONS,
    *(f"{_RESOURCES}.{kind}" for kind in ("claims", "limits", "requests")),
    "spec.resourceClaims",
)
CLAIMED_GPUS = 'metadata.annotations["inferfleet.dev/claimed-gpus"]'
QUEUED = (ANNOTATIONS, "spec.schedulerName")
VOLCANO = ('metadata.annotations["scheduling.k8s.io/group-name"]', "spec.schedulerName")
ACTIVE = tuple(
    f'metadata.annotations["{name}/active-ports"]' for name in ("inference.networking.k8s.io", "llm-d.ai")
)
PROBED = (
    *(f"{CONTAINER}.{probe}Probe.httpGet.port" for probe in ("liveness", "readiness", "startup")),
    f"{CONTAINER}.readinessProbe.httpGet.path",
)


def group(name: str, *paths: str, both: tuple[str, ...] = ()) -> dict[str, str]:
    """An update of a LeaderWorkerSet. `both` are paths in its two templates."""
    inside = [f"{each}.{path}" for each in TEMPLATES for path in both]
    return {f"LeaderWorkerSet east/ml/{name}": f"update {', '.join(sorted((*WRITTEN, *paths, *inside)))}"}


def single(name: str, *paths: str) -> dict[str, str]:
    return {f"Deployment east/ml/{name}": f"update {', '.join(sorted(paths))}"}


def created(*names: str) -> dict[str, str]:
    return {name.replace(" ", " east/ml/"): "create" for name in names}


def deleted(*names: str) -> dict[str, str]:
    return {name.replace(" ", " east/ml/"): "delete" for name in names}


def edit(
    title: str,
    name: str,
    path: str,
    value: Any,
    effect: PodEffect | Effect,
    *plans: Mapping[str, str],
    **more: str,
) -> Edit:
    """An edit of one field."""
    together = {key: plan for each in plans for key, plan in each.items()}
    return Edit(title, ((name, path, value),), together, effect=effect, **more)


def refused(title: str, name: str, path: str, value: Any, words: str) -> Edit:
    return Edit(title, ((name, path, value),), refused=words)


def pool(name: str, path: str) -> dict[str, str]:
    return {f"InferencePool east/ml/{name}": f"update {path}"}
