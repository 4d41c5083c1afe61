"""PodTemplate: the part of a pod that the team writes, kept as it was written."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator

from inferfleet.api.kinds.base import Model, Quantity
from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.kinds.pod_fields import CONTAINER_FIELDS, POD_FIELDS
from inferfleet.api.kinds.text_rules import label_mistakes
from inferfleet.api.problems import Mistake, Mistaken
from inferfleet.api.wording import one_of, shown


def _whole(spec: dict[str, Any]) -> dict[str, Any]:
    if found := [*_unknown(spec, POD_FIELDS, ()), *_containers(spec)]:
        raise Mistaken(*found)
    return spec


def _containers(spec: dict[str, Any]) -> Iterator[Mistake]:
    """What keeps the containers from being one engine and its sidecars, each with a name and an image."""
    names: list[str] = []
    for field in ("containers", "initContainers"):
        listed = spec.get(field)
        if listed is None and field == "initContainers":
            continue
        if not isinstance(listed, list):
            yield Mistake(f"a template needs spec.{field}, a list of containers", "Write a list", (field,))
            continue
        for place, one in enumerate(listed):
            yield from _container(one, (field, place), names)
    engines = [one for one in _list(spec.get("containers")) if _is_engine(one)]
    if isinstance(spec.get("containers"), list) and not engines:
        what = f"a template has exactly one container named {ENGINE}, this one has none"
        yield Mistake(what, f"Name the container that serves the model {ENGINE}", ("containers",))


def _container(one: Any, at: tuple[str | int, ...], names: list[str]) -> Iterator[Mistake]:
    if not isinstance(one, dict):
        yield Mistake("a container must be a map with name and image", "Write a map", at)
        return
    yield from _unknown(one, CONTAINER_FIELDS, at)
    name, image = one.get("name"), one.get("image")
    if not isinstance(name, str) or not name:
        yield Mistake("every container needs a name, as text", "Add name", (*at, "name"))
    elif name in names:
        yield Mistake(f"a second container is named {shown(name)!r}", "Rename one", (*at, "name"))
    else:
        names.append(name)
    if not isinstance(image, str) or not image.strip():
        yield Mistake("every container needs an image, as text", "Add image", (*at, "image"))


def _unknown(written: dict[str, Any], known: frozenset[str], at: tuple[str | int, ...]) -> Iterator[Mistake]:
    for key in written:
        if key not in known:
            what = f"Kubernetes 1.36 has no field {shown(key)!r} here"
            yield Mistake(what, one_of(key, known, "Fields"), (*at, key))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_engine(container: Any) -> bool:
    return isinstance(container, dict) and container.get("name") == ENGINE


def _own_labels(labels: dict[str, str]) -> dict[str, str]:
    if found := label_mistakes(labels, ("inferfleet.dev/", "llm-d.ai/")):
        raise Mistaken(*found)
    return labels


PodSpec = Annotated[dict[str, Any], AfterValidator(_whole)]


class TemplateMetadata(Model):
    """Labels and annotations of the pods."""

    labels: Annotated[dict[str, str], AfterValidator(_own_labels)] = {}
    """Labels of the pods, beside those that inferfleet adds. Keys under `inferfleet.dev/` and `llm-d.ai/` are
    reserved; default: none.
    """
    annotations: dict[str, str] = {}
    """Annotations of the pods. Default: none."""


class PodTemplate(Model):
    """A Kubernetes pod template as the team writes it. Ports, probes, devices and scheduling fields that
    serving needs are added.
    """

    metadata: TemplateMetadata = TemplateMetadata()
    """Labels and annotations of the pods. Default: none."""
    spec: PodSpec
    """A Kubernetes PodSpec with exactly one container named `engine`, which serves the model; other
    containers are kept as sidecars. `command` and `args` are never changed.
    """

    @property
    def engine(self) -> dict[str, Any]:
        """The engine's container, as written."""
        return next(one for one in self.spec["containers"] if one["name"] == ENGINE)


class ResourceRequirements(Model):
    """Kubernetes resource requests and limits of a container."""

    requests: dict[str, Quantity] = {}
    """Amounts the scheduler reserves, by resource name, such as `cpu: "4"` or `memory: 8Gi`. Default: none.
    """
    limits: dict[str, Quantity] = {}
    """Amounts the container may use at most, by resource name. Default: none."""
