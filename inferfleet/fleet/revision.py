"""The revision of a deployment whose prefill and decode are apart.

Pods of two forms of a KV cache must never serve one request, so all that may decide the form stands in a
hash: six digits in the names of workloads, picker and InferencePool. They follow from declared fields, and
verbatim from args, commands and variables, or from `engine.revision` in their place. Pools, replicas and what
plugins change are not among them: what plugins change rolls.
"""

import hashlib
import json
from typing import Any

from inferfleet.documents.kinds.inference_cluster import Images
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import POSITIONS
from inferfleet.fleet.roles import (
    args_of,
    connector,
    is_disaggregated,
    running_image,
    serving_roles,
    workers_of,
)

_DIGITS = 6
_TUNED = ("command", "args", "env", "envFrom")


def revision(deployment: ModelDeployment, images: Images) -> str:
    """Return the revision of the pods on a cluster with these images, "" where prefill and decode are one."""
    prefill, engine = deployment.spec.prefill, deployment.spec.engine
    if prefill is None:
        return ""
    facts: dict[str, Any] = {
        "type": engine.type,
        "model": engine.model.model_dump(exclude={"token"}) if engine.model else None,
        "connector": connector(deployment),
        "options": prefill.options,
        "revision": engine.revision,
    }
    for role in serving_roles(deployment):
        topology = workers_of(deployment, role).topology
        facts[role] = {
            "image": _images(deployment, role, images),
            "tensor": topology.tensor,
            "pipeline": topology.pipeline,
            "tuned": None if engine.revision else tuned(deployment, role),
        }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _images(deployment: ModelDeployment, role: str, images: Images) -> str | None:
    """Return the images of a role's engines, of entries first and of followers where that is another."""
    entry = running_image(deployment, role, images)
    follower = workers_of(deployment, role).of("Follower")
    other = follower.engine.get("image", entry) if follower else entry
    return entry if other == entry else f"{entry} {other}"


def tuned(deployment: ModelDeployment, role: str) -> dict[str, Any]:
    """Return args, commands and variables of a role's engines, which `engine.revision` replaces."""
    workers = workers_of(deployment, role)
    found: dict[str, Any] = {"args": list(args_of(deployment, role))}
    for position in POSITIONS:
        template = workers.of(position)
        if template is not None:
            found[position] = {key: template.engine[key] for key in _TUNED if key in template.engine}
    return found


def tuned_under_one_revision(before: ModelDeployment, after: ModelDeployment) -> bool:
    """Return whether args, commands or variables change, and `engine.revision` says the form does not."""
    if not is_disaggregated(before) or not is_disaggregated(after):
        return False
    named = after.spec.engine.revision
    if named is None or named != before.spec.engine.revision:
        return False
    return any(tuned(before, role) != tuned(after, role) for role in serving_roles(after))
