"""Images and plugins of the pods of models, as everything that is desired has them."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.desired.values import Desired, DesiredCluster
from inferfleet.policy import facts
from inferfleet.policy.things import Thing

_CONTAINERS = ("initContainers", "containers")
_DEFAULT_REGISTRY = "docker.io"


def images(desired: Desired, models: Mapping[str, facts.Model]) -> Iterator[Thing]:
    """Yield each image of each model once: of its engines, of what plugins add, and of its picker."""
    told = set()
    for cluster in desired.clusters:
        owners = _owners(cluster)
        for made in cluster.objects:
            model = models.get(owners.get(made.key, ""))
            for container, reference in _of_pods(made.manifest) if model else ():
                key = f"{model.namespace}/{model.name}" if model else ""
                if model is None or (key, container, reference) in told:
                    continue
                told.add((key, container, reference))
                name = cluster.connection.cluster
                fact = facts.Image(reference, *parts(reference), container, name, model)
                yield Thing(fact, f"image {reference} of {key}", key, "ModelDeployment", key)


def plugins(desired: Desired, models: Mapping[str, facts.Model]) -> Iterator[Thing]:
    """Yield each plugin that edits pods of a model, once for each version."""
    acted = {
        (spot.deployment, step.plugin, step.version)
        for every in (desired.steps, desired.follower_steps)
        for spot, roles in every.items()
        for steps in roles.values()
        for step in steps
        if step.effect == "changed"
    }
    for key, plugin, version in sorted(acted):
        if key in models:
            fact = facts.Plugin(plugin, version, models[key])
            yield Thing(fact, f"plugin {plugin} of {key}", key, "ModelDeployment", key, "spec.plugins")


def parts(reference: str) -> tuple[str, str, str, str]:
    """Return registry, repository, tag and digest of an image.

    https://github.com/distribution/reference/blob/main/normalize.go
    """
    rest, _, digest = reference.partition("@")
    first, slash, after = rest.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, after) if named else (_DEFAULT_REGISTRY, rest)
    repository, colon, tag = path.rpartition(":")
    if not colon:
        repository, tag = path, ""
    if registry == _DEFAULT_REGISTRY and "/" not in repository:
        repository = f"library/{repository}"
    return registry, repository, tag, digest


def _owners(cluster: DesiredCluster) -> dict[str, str]:
    """Return by key of an object the deployment whose pods it makes."""
    owners = {key: spot.deployment for spot, keys in cluster.workloads.items() for key in keys}
    for deployment, served in cluster.served.items():
        for key in served.stands:
            owners.setdefault(key, deployment)
    return owners


def _of_pods(value: Any) -> Iterator[tuple[str, str]]:
    """Yield name and image of every container of the pod templates in an object."""
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if name in _CONTAINERS and isinstance(inner, list):
            for container in inner:
                yield str(container.get("name", "")), str(container.get("image", ""))
        else:
            yield from _of_pods(inner)
