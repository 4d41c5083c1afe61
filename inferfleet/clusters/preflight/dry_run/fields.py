"""Where a document says what stands in a field of an object, as API servers name fields."""

import re
from collections.abc import Mapping
from typing import Any

from inferfleet.desired.values import KubeObject
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import Position
from inferfleet.documents.problems import Steps, part_of
from inferfleet.documents.wording import path_of
from inferfleet.fleet.names import DEPLOYMENT, ROLE, SERVICE
from inferfleet.fleet.roles import path_of_role, template_path, workers_of
from inferfleet.serving.picker import deployment_of

# A step is a key after a dot, or in brackets a number, a key, or the name that an entry has.
_STEP = re.compile(r'\.?([^.\[\]]+)|\[(\d+)\]|\[name="([^"]*)"\]|\[([^\]]*)\]')
_TEMPLATES: tuple[tuple[Steps, Position], ...] = (
    (("spec", "template"), "Entry"),
    (("spec", "leaderWorkerTemplate", "leaderTemplate"), "Entry"),
    (("spec", "leaderWorkerTemplate", "workerTemplate"), "Follower"),
)
_OF_KIND = {"HTTPRoute": "spec.route", "InferencePool": "spec.engine"}


def document_field(
    made: KubeObject, cluster: str, field: str, deployments: Mapping[str, ModelDeployment]
) -> tuple[str, str, str]:
    """Return kind and key of the document that an object comes from, and the path in it for a field of the
    object. `deployments` are those that were read, by `namespace/name`.
    """
    labels = made.manifest["metadata"].get("labels") or {}
    if DEPLOYMENT in labels:
        key = f"{made.namespace}/{labels[DEPLOYMENT]}"
        deployment = deployments.get(key)
        if ROLE in labels and deployment:
            return "ModelDeployment", key, _of_pods(made.manifest, field, labels[ROLE], deployment)
        is_picker = made.kind == "Deployment" and deployment_of(made.manifest)
        return "ModelDeployment", key, "spec.endpointPicker" if is_picker else _OF_KIND.get(made.kind, "")
    if SERVICE in labels:
        return "ModelService", f"{made.namespace}/{labels[SERVICE]}", ""
    return "InferenceCluster", cluster, "spec.serving"


def _of_pods(manifest: Mapping[str, Any], field: str, role: str, deployment: ModelDeployment) -> str:
    steps = steps_of(field, manifest)
    for at, position in _TEMPLATES:
        if steps[: len(at)] == at:
            template = workers_of(deployment, role).of(position)
            if template is None:
                break
            written = {"spec": template.spec}
            generated = part_of(manifest, at)
            rest = _same_place(steps[len(at) :], generated, written)
            return path_of((*template_path(deployment, role, position).split("."), *rest))
    return f"{path_of_role(role)}.workers"


def _same_place(steps: Steps, generated: Any, written: Any) -> Steps:
    """Return the steps by which a written template has what a generated one has: entries of lists are those
    of one name, or equal ones. They end where nothing is written.
    """
    made: list[str | int] = []
    for step in steps:
        generated = part_of(generated, (step,))
        if isinstance(step, int):
            entries = written if isinstance(written, list) else []
            places = [place for place, entry in enumerate(entries) if _is_same(entry, generated)]
            if not places:
                break
            step = places[0]
        elif not isinstance(written, Mapping) or step not in written:
            break
        written = written[step]
        made.append(step)
    return tuple(made)


def _is_same(written: Any, generated: Any) -> bool:
    name = part_of(generated, ("name",))
    return bool(written == generated or (name is not None and part_of(written, ("name",)) == name))


def steps_of(field: str, manifest: Mapping[str, Any]) -> Steps:
    """Return the steps to a field: `spec.ports[0].name`, or `.spec.ports[name="http"].name`."""
    steps: list[str | int] = []
    for key, number, name, quoted in _STEP.findall(field):
        entries = part_of(manifest, steps)
        if number:
            steps.append(int(number))
        elif name:
            places = [place for place, entry in enumerate(entries or ()) if entry.get("name") == name]
            steps += places[:1]
        else:
            steps.append(key or quoted)
    return tuple(steps)
