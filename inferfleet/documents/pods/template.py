"""Pod templates: which containers mean something, and what is wrong with a template that a person wrote, that
was generated, or that plugins edited.

The checks hold what a new cluster would refuse only once its nodes are billed: fields, types, enums, required
fields, quantities and names by `types`, names that are there twice, and mounts without a volume. Of whatever
else the API server refuses, the API server itself is asked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from inferfleet.documents.pods.plain import unpacked
from inferfleet.documents.pods.types import Walk
from inferfleet.documents.problems import FieldPath, Mistake
from inferfleet.documents.wording import one_of, shown

# The label of nodes that names their pool.
POOL_LABEL = "inferfleet.dev/pool"
# The container that serves the model.
ENGINE = "engine"
# The init container that runs beside the engine of a decode pod where prefill is apart, and takes requests.
ROUTING_PROXY = "routing-proxy"


def engine_container(spec: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the place of the engine among the containers of a pod's spec, and its container.

    A spec without one is refused when it is read.
    """
    containers = enumerate(spec["containers"])
    return next((index, container) for index, container in containers if container["name"] == ENGINE)


def containers_of(spec: Mapping[str, Any]) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield every container of a pod's spec with its place in the template, init containers last."""
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind, ())):
            yield ("spec", kind, index), container


class ResourceAmount(NamedTuple):
    """How much of a resource a container asks for, and where the template says so."""

    container: str
    resource: str
    amount: str
    path: FieldPath


def resource_amounts(spec: Mapping[str, Any]) -> Iterator[ResourceAmount]:
    """Yield all that the containers of a pod's spec ask for, the limits of each before its requests."""
    for at, container in containers_of(spec):
        resources = container.get("resources", {})
        for kind in ("limits", "requests"):
            for resource, amount in resources.get(kind, {}).items():
                path = (*at, "resources", kind, resource)
                yield ResourceAmount(container["name"], resource, str(amount), path)


# Nobody would remove a finalizer of these pods, and names are given to each of them.
_METADATA = ("labels", "annotations")
_RESOURCES = ("cpu", "ephemeral-storage", "memory")
_OWNERS = {"containers": "container", "initContainers": "init container", "volumes": "volume"}


def template_mistakes(template: Any) -> Iterator[Mistake]:
    """Yield every mistake of a pod template; `at` of each counts from the template."""
    walk = Walk()
    kept = walk.of(template, "PodTemplateSpec")
    if not isinstance(kept, dict):
        yield from walk.mistakes
        return
    whole = [*walk.mistakes]
    if template.get("spec") is None:
        whole.append(Mistake("field spec is missing", "Add spec", ("spec",)))
    for key in kept.get("metadata", {}):
        if key not in _METADATA:
            what = f"pods of a deployment have labels and annotations, and no {shown(key)} of their own"
            whole.append(Mistake(what, "Remove it", ("metadata", key)))
    for mistake in _container_mistakes(kept.get("spec", {})):
        whole.append(Mistake(mistake.what, mistake.next_step, ("spec", *mistake.field_path)))
    yield from _of_their_owners(whole, template.get("spec"), 1)


# Pods of a deployment on several clusters come one after another, with equal templates: those that were
# generated, and those after the chain of plugins.
@lru_cache(maxsize=512)
def packed_mistakes(template: bytes) -> tuple[Mistake, ...]:
    """Return every mistake of a packed pod template."""
    return tuple(template_mistakes(unpacked(template)))


def spec_mistakes(spec: Any) -> Iterator[Mistake]:
    """Yield the mistakes of the `spec` of a pod template."""
    walk = Walk()
    kept = walk.of(spec, "PodSpec")
    yield from _of_their_owners([*walk.mistakes, *_container_mistakes(kept)], spec, 0)


def amount_mistakes(amounts: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with requests of a container without devices that no API server is shown."""
    walk = Walk()
    walk.of(dict(amounts), "map[string]Quantity")
    yield from walk.mistakes
    for name in amounts:
        if name not in _RESOURCES and not name.startswith("hugepages-"):
            what = f"containers have no resource {shown(name)!r}"
            yield Mistake(what, one_of(name, _RESOURCES, "Resources"), (name,))


def without_nulls(value: Any) -> Any:
    """Return the value without fields that are null, which Kubernetes treats as absent."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _container_mistakes(spec: Any) -> Iterator[Mistake]:
    """Yield mistakes between fields of a spec, from which values of a wrong type are left out."""
    if not isinstance(spec, dict):
        return
    containers = spec.get("containers", [])
    names = {container.get("name") for container in containers}
    if "containers" in spec and ENGINE not in names:
        what = f"a template has exactly one container named {ENGINE}, but this one has none"
        yield Mistake(what, f"Name the container that serves the model {ENGINE}", ("containers",))
    for index, container in enumerate(spec.get("initContainers", [])):
        if (name := container.get("name")) and name in names:  # in one list they differ anyway
            what = f"a container and an init container are both named {shown(name)!r}"
            yield Mistake(what, "Rename one", ("initContainers", index, "name"))
    volumes = [volume.get("name") for volume in spec.get("volumes", [])]
    for (_, *at), container in containers_of(spec):
        yield from _port_mistakes(container, (*at,))
        if all(volumes):  # one without a name may be the one that is meant
            yield from _mount_mistakes(container, (*at,), volumes)


def _port_mistakes(container: dict[str, Any], path: FieldPath) -> Iterator[Mistake]:
    seen: set[str] = set()
    for index, port in enumerate(container.get("ports", [])):
        if (name := port.get("name")) and name in seen:
            what = f"a second port is named {shown(name)!r}"
            yield Mistake(what, "Rename one", (*path, "ports", index, "name"))
        seen.add(name)


def _mount_mistakes(container: dict[str, Any], path: FieldPath, volumes: list[str]) -> Iterator[Mistake]:
    for part in ("volumeMounts", "volumeDevices"):
        for index, mount in enumerate(container.get(part, [])):
            name = mount.get("name")
            if name is not None and name not in volumes:
                step = one_of(name, volumes, "Volumes") if volumes else "Add it to the volumes of the pod"
                what = f"the pod has no volume {shown(name)!r}"
                yield Mistake(what, step, (*path, part, index, "name"))


def _of_their_owners(mistakes: Iterable[Mistake], spec: Any, before: int) -> Iterator[Mistake]:
    """Yield the mistakes, each with the container or volume it is in."""
    for mistake in mistakes:
        steps = mistake.field_path[before:]
        if len(steps) < 3 or steps[0] not in _OWNERS or steps[2] == "name":
            yield mistake
            continue
        entry = spec[steps[0]][steps[1]]
        name = entry.get("name") if isinstance(entry, dict) else None
        owner = f"{_OWNERS[str(steps[0])]} {shown(name)}: " if isinstance(name, str) and name else ""
        yield Mistake(f"{owner}{mistake.what}", mistake.next_step, mistake.field_path)


_SHELLS = ("sh", "bash", "dash", "ash", "zsh")


def script_at(words: Sequence[str]) -> int | None:
    """Return the position of the script of a shell in a command line, None without one: `sh -c SCRIPT`."""
    for index, word in enumerate(words):
        if word.rpartition("/")[2] not in _SHELLS:
            continue
        following = index + 1
        while following < len(words) and words[following].startswith("-"):
            if "c" in words[following] and not words[following].startswith("--"):
                return following + 1 if following + 1 < len(words) else None
            following += 2 if words[following][-1] in "oO" else 1
    return None
