"""What no plugin may change: the hardware part of a pod, and the labels that selectors use.

Plugins may add fields, and may change what the team wrote. Device requests, the pool's node selector and
tolerations, the `http` port of the engine, and labels of the system must stay as they were generated.
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import below
from inferfleet.fleet.names import DOMAIN, MANAGED_BY
from inferfleet.plugins.contract import PodTemplate, Request
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER

PROVENANCE = f"{DOMAIN}/plugins"
_PORT = "http"
# Device plugins also hand out slices and shares of a GPU: nvidia.com/mig-1g.5gb, nvidia.com/gpu.shared.
_ACCELERATORS = (*RESOURCE_BY_DRIVER.values(), "nvidia.com/mig-")
_LEAVE = "A plugin may only add to it; leave it as it is"


def guard(before: PodTemplate, after: PodTemplate, request: Request) -> tuple[Mistake, ...]:
    """Return every part of the generated template that is missing or changed in the edited one.

    Both have passed the check of shapes, so types are taken as given.
    """
    return (
        *_labels(before, after),
        *_nodes(before, after),
        *_engine(before, after),
        *_devices(before, after, request),
    )


def _labels(before: PodTemplate, after: PodTemplate) -> Iterator[Mistake]:
    for kind in ("labels", "annotations"):
        old, new = _metadata(before, kind), _metadata(after, kind)
        for key in [*old, *(key for key in new if key not in old)]:
            ours = key.startswith(f"{DOMAIN}/") or key == MANAGED_BY
            # Plugins may add llm-d labels; pickers select by those that were generated.
            guarded = ours or (key.startswith("llm-d.ai/") and key in old)
            if guarded and key != PROVENANCE and old.get(key) != new.get(key):
                yield _changed(below(f"metadata.{kind}", key), old.get(key), new.get(key))


def _nodes(before: PodTemplate, after: PodTemplate) -> Iterator[Mistake]:
    old, new = before["spec"], after["spec"]
    selected = new.get("nodeSelector", {})
    for key, value in old.get("nodeSelector", {}).items():
        if selected.get(key) != value:
            yield _changed(below("spec.nodeSelector", key), value, selected.get(key))
    kept = new.get("tolerations", [])
    for toleration in old.get("tolerations", []):
        if toleration not in kept:
            yield Mistake(f"spec.tolerations lost {toleration}", _LEAVE)
    name = new.get("nodeName")
    if name != old.get("nodeName"):
        yield Mistake(f"spec.nodeName is {name}, which goes around the scheduler", "Use a node affinity")


def _engine(before: PodTemplate, after: PodTemplate) -> Iterator[Mistake]:
    old, new = (_port(_containers(template, "containers")[ENGINE]) for template in (before, after))
    if old is not None and new != old:
        yield _changed(f"spec.containers[{ENGINE}].ports[{_PORT}]", old, new)


def _devices(before: PodTemplate, after: PodTemplate, request: Request) -> Iterator[Mistake]:
    own = RESOURCE_BY_DRIVER.get(request.accelerator.driver)
    for kind in ("containers", "initContainers"):
        old_containers, new_containers = _containers(before, kind), _containers(after, kind)
        for name in dict.fromkeys([*old_containers, *new_containers]):
            for part in ("limits", "requests"):
                old = _amounts(old_containers.get(name, {}), part)
                new = _amounts(new_containers.get(name, {}), part)
                for key in dict.fromkeys([*old, *new]):
                    path = below(f"spec.{kind}[{name}].resources.{part}", key)
                    accelerator = key == own or key.startswith(_ACCELERATORS)
                    if accelerator and key not in old:
                        yield Mistake(
                            f"{path} asks for {new[key]} accelerators on top of the pod's {request.gpus}",
                            "Leave it out: topology of the deployment says how many a pod gets",
                        )
                    elif accelerator and str(old[key]) != str(new.get(key)):
                        yield _changed(path, old[key], new.get(key))


def _changed(path: str, old: Any, new: Any) -> Mistake:
    if old is None:
        return Mistake(
            f"{path} was added with {new!r}, and is not a plugin's to set", "Use a key of your own"
        )
    verb = "removed" if new is None else f"changed to {new!r}"
    return Mistake(f"{path} was {old!r} and was {verb}, but belongs to the system", _LEAVE)


def _port(container: dict[str, Any]) -> tuple[int, str] | None:
    for port in container.get("ports", []):
        if port.get("name") == _PORT:
            return port["containerPort"], port.get("protocol", "TCP")
    return None


def _metadata(template: PodTemplate, kind: str) -> dict[str, str]:
    texts: dict[str, str] = template.get("metadata", {}).get(kind, {})
    return texts


def _containers(template: PodTemplate, kind: str) -> dict[str, dict[str, Any]]:
    return {container["name"]: container for container in template["spec"].get(kind, [])}


def _amounts(container: dict[str, Any], part: str) -> dict[str, Any]:
    amounts: dict[str, Any] = container.get("resources", {}).get(part, {})
    return amounts
