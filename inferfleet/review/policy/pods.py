"""Images and plugins of the pods of models, as everything that is desired has them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from inferfleet.desired.values import Desired, DesiredCluster
from inferfleet.review.policy import facts
from inferfleet.review.policy.things import Thing
from inferfleet.tables.images import reference_of

_CONTAINERS, _VOLUMES = ("initContainers", "containers"), "volumes"


class _Used(NamedTuple):
    """An image, and the container that runs it or the volume that is made of it; the other is ""."""

    reference: str
    container: str = ""
    volume: str = ""


def images(desired: Desired, models: Mapping[str, facts.Model]) -> Iterator[Thing]:
    """Yield each image of each model once for each cluster: of containers and volumes of its pods, with what
    plugins add to them, and of its picker. No other object runs pods: plugins may add none that do.
    """
    for cluster in desired.clusters:
        owners, name = _owners(cluster), cluster.connection.cluster
        told = set()
        for made in cluster.objects:
            key = owners.get(made.key, "")
            for used in _of_pods(made.manifest) if key in models else ():
                if (key, used) in told:
                    continue
                told.add((key, used))
                registry, repository, tag, digest = reference_of(used.reference)
                fact = facts.Image(
                    reference=used.reference,
                    registry=registry,
                    repository=repository,
                    tag=tag,
                    digest=digest,
                    container=used.container,
                    volume=used.volume,
                    cluster=name,
                    model=models[key],
                )
                said = f"image {used.reference} of {key} on {name}"
                yield Thing(fact, said, key, "ModelDeployment", key)


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
            fact = facts.Plugin(name=plugin, version=version, model=models[key])
            yield Thing(fact, f"plugin {plugin} of {key}", key, "ModelDeployment", key, "spec.plugins")


def _owners(cluster: DesiredCluster) -> dict[str, str]:
    """Return by key of an object the deployment whose pods it makes."""
    owners = {key: spot.deployment for spot, keys in cluster.workloads.items() for key in keys}
    for deployment, served in cluster.served.items():
        for key in served.stands:
            owners.setdefault(key, deployment)
    return owners


def _of_pods(value: Any) -> Iterator[_Used]:
    """Yield the image of every container and volume of the pod templates in an object."""
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if name in _CONTAINERS and isinstance(inner, list):
            for container in inner:
                yield _Used(str(container.get("image", "")), container=str(container.get("name", "")))
        elif name == _VOLUMES and isinstance(inner, list):
            for volume in inner:
                if image := volume.get("image"):
                    yield _Used(str(image.get("reference", "")), volume=str(volume.get("name", "")))
        else:
            yield from _of_pods(inner)
