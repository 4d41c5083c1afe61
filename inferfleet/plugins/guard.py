"""What no plugin may take away: the hardware part of a pod, and the labels that everything selects by.

Plugins may add, and may change what the team wrote. Device requests, the pool's node selector and
tolerations, the engine with its `http` port, and our own labels were put in by the system and stay.
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.problems import Problem
from inferfleet.api.wording import below
from inferfleet.fleet.names import DOMAIN, MANAGED_BY
from inferfleet.plugins.contract import PodTemplate, Request
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER

PROVENANCE = f"{DOMAIN}/plugins"
_PORT = "http"
# Device plugins also hand out slices and shares of a GPU: nvidia.com/mig-1g.5gb, nvidia.com/gpu.shared.
_ACCELERATORS = (*RESOURCE_BY_DRIVER.values(), "nvidia.com/mig-")
_LEAVE = "A plugin may only add to it; leave it as it is"


def guard(before: PodTemplate, after: PodTemplate, request: Request) -> tuple[Problem, ...]:
    """Everything of the generated template that is missing, changed or doubled in the edited one.

    The problems carry no place: who ran the plugin knows it.
    """
    return (
        *_labels(before, after),
        *_nodes(before, after),
        *_engine(before, after),
        *_devices(before, after, request),
    )


def _labels(before: PodTemplate, after: PodTemplate) -> Iterator[Problem]:
    for kind in ("labels", "annotations"):
        old, new = _map(before, "metadata", kind), _map(after, "metadata", kind)
        for key in [*old, *(key for key in new if key not in old)]:
            ours = key.startswith(f"{DOMAIN}/") or key == MANAGED_BY
            # Others may add llm-d labels of their own; the ones that are there are what pickers select by.
            guarded = ours or (key.startswith("llm-d.ai/") and key in old)
            if guarded and key != PROVENANCE and old.get(key) != new.get(key):
                yield _changed(below(f"metadata.{kind}", key), old.get(key), new.get(key))


def _nodes(before: PodTemplate, after: PodTemplate) -> Iterator[Problem]:
    old, new = _map(before, "spec", "nodeSelector"), _map(after, "spec", "nodeSelector")
    for key, value in old.items():
        if new.get(key) != value:
            yield _changed(below("spec.nodeSelector", key), value, new.get(key))
    kept = _list(after, "spec", "tolerations")
    for toleration in _list(before, "spec", "tolerations"):
        if toleration not in kept:
            yield Problem(f"spec.tolerations lost {toleration}", _LEAVE)
    name = _map(after, "spec").get("nodeName")
    if name != _map(before, "spec").get("nodeName"):
        yield Problem(f"spec.nodeName is {name}, which goes around the scheduler", "Use a node affinity")


def _engine(before: PodTemplate, after: PodTemplate) -> Iterator[Problem]:
    if ENGINE not in (containers := _containers(after, "containers")):
        yield Problem(f"the container {ENGINE} is gone", "Keep it: it serves the model")
        return
    engine = containers[ENGINE]
    if not isinstance(engine.get("image"), str) or not engine["image"].strip():
        yield Problem(f"the container {ENGINE} has the image {engine.get('image')!r}", "Give it an image")
    old = _port(_containers(before, "containers").get(ENGINE, {}))
    if old is not None and (new := _port(engine)) != old:
        yield _changed(f"spec.containers[{ENGINE}].ports[{_PORT}]", old, new)


def _devices(before: PodTemplate, after: PodTemplate, request: Request) -> Iterator[Problem]:
    own = RESOURCE_BY_DRIVER.get(request.accelerator.driver)
    for kind in ("containers", "initContainers"):
        old_containers, new_containers = _containers(before, kind), _containers(after, kind)
        for name in dict.fromkeys([*old_containers, *new_containers]):
            for part in ("limits", "requests"):
                old = _map(old_containers.get(name), "resources", part)
                new = _map(new_containers.get(name), "resources", part)
                for key in dict.fromkeys([*old, *new]):
                    path = below(f"spec.{kind}[{name}].resources.{part}", key)
                    accelerator = key == own or key.startswith(_ACCELERATORS)
                    if accelerator and key not in old:
                        yield Problem(
                            f"{path} asks for {new[key]} accelerators on top of the pod's {request.gpus}",
                            "Leave it out: topology of the deployment says how many a pod gets",
                        )
                    elif accelerator and str(old[key]) != str(new.get(key)):
                        yield _changed(path, old[key], new.get(key))


def _changed(path: str, old: Any, new: Any) -> Problem:
    if old is None:
        return Problem(
            f"{path} was added with {new!r}, and is not a plugin's to set", "Use a key of your own"
        )
    verb = "removed" if new is None else f"changed to {new!r}"
    return Problem(f"{path} was {old!r} and was {verb}, but belongs to the system", _LEAVE)


def _port(container: dict[str, Any]) -> tuple[Any, str] | None:
    found = [one for one in _list(container, "ports") if isinstance(one, dict) and one.get("name") == _PORT]
    return (found[0].get("containerPort"), found[0].get("protocol") or "TCP") if found else None


def _containers(template: PodTemplate, kind: str) -> dict[str, dict[str, Any]]:
    found = [one for one in _list(template, "spec", kind) if isinstance(one, dict)]
    return {str(one.get("name")): one for one in found}


def _map(value: Any, *path: str) -> dict[str, Any]:
    """Odd shapes read as empty here: they are told elsewhere, and nothing of ours stands in them."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _list(value: Any, *path: str) -> list[Any]:
    found = _map(value, *path[:-1]).get(path[-1])
    return found if isinstance(found, list) else []
