"""What templates ask of nodes and plans do not count: ephemeral storage, and the overhead of RuntimeClasses.

A class does not say how much ephemeral storage nodes have, which depends on disks and images. The overhead of
a RuntimeClass stands in the cluster, and the API server writes it into pods; one that a template has already
is planned, and must be the class's.
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.workers import POSITIONS
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import shown
from inferfleet.fleet.placement.sizes import gib
from inferfleet.fleet.requests import requests
from inferfleet.fleet.roles import roles_of, template_path, workers_of

_STORAGE = "ephemeral-storage"
# Those of NVIDIA's GPU operator, which have no overhead (NVIDIA/gpu-operator, 0200_runtime_class.yaml to
# 0220_runtime_class_cdi.yaml of assets/pre-requisites at e249be8).
_WITHOUT_OVERHEAD = {"nvidia", "nvidia-cdi", "nvidia-legacy"}


def unplanned(documents: Documents) -> Iterator[Problem]:
    """Yield a notice for each template whose pods ask for something that plans do not count."""
    for key, document in sorted(documents.deployments.items()):
        for role in roles_of(document):
            workers = workers_of(document, role)
            templates = {
                template_path(document, role, position): template
                for position in POSITIONS
                if (template := workers.of(position))
            }
            for path, template in templates.items():
                yield from _of_template(key, template.spec, path)


def _of_template(key: str, spec: dict[str, Any], path: str) -> Iterator[Problem]:
    if storage := requests(spec, _STORAGE):
        yield _notice(
            f"each pod requests {gib(storage)} of {_STORAGE}, which plans do not count: classes do not say "
            "how much their nodes have",
            f"Compare it with what nodes offer (kubectl describe node, Allocatable: {_STORAGE}): pods for "
            "which none has enough stay Pending",
            key,
            f"{path}.spec",
        )
    name = spec.get("runtimeClassName")
    if name and "overhead" not in spec and name not in _WITHOUT_OVERHEAD:
        yield _notice(
            f"the overhead of RuntimeClass {shown(name)}, if it has one, is not planned: it is known to the "
            "cluster alone",
            f"Write the class's overhead.podFixed (kubectl get runtimeclass {shown(name)} --output yaml) as "
            "overhead of the pod; without one, nothing has to be done",
            key,
            f"{path}.spec.runtimeClassName",
        )


def _notice(what: str, next_step: str, key: str, path: str) -> Problem:
    return Problem(what, next_step, path, kind="ModelDeployment", key=key, severity="notice")
