"""What no plugin may change: the hardware part of a pod, and the labels that selectors use.

Plugins may add fields, and may change what the team wrote. Device requests, the pool's node selector and
tolerations, the port on which the engine listens, and labels of the system must stay as they were generated.
Probes, shared memory and draining may be tuned, and must not be taken away.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from inferfleet.documents.pods.template import ENGINE
from inferfleet.documents.problems import Mistake
from inferfleet.documents.wording import below
from inferfleet.fleet.names import DOMAIN, MANAGED_BY
from inferfleet.plugins.contract import PodTemplate
from inferfleet.tables.devices import is_accelerator

_LEAVE = "A plugin may only add to it; leave it as it is"
_SHM_PATH = "/dev/shm"
_GRACE = "terminationGracePeriodSeconds"
# Without them a pod gets requests before it can answer, or is ended while it still loads its model.
_PROBES = ("readinessProbe", "startupProbe")


def guard_mistakes(
    before: PodTemplate, after: PodTemplate, *, port: int, resource: str | None = None
) -> tuple[Mistake, ...]:
    """Return every part of the generated template that is missing or changed in the edited one, whose engine
    listens on `port`.

    `at` of each is the one path of the field, as in a difference. `resource` is that of the pod's
    accelerators. Both have passed the check of shapes, so types are taken as given. Devices, claims and nodes
    that were added are found by the check of documents.
    """
    return (
        *_label_mistakes(before, after),
        *_node_mistakes(before, after),
        *_port_mistakes(before, after, port),
        *_serving_mistakes(before, after),
        *_device_mistakes(before, after, resource),
        *_claim_mistakes(before, after),
    )


def _label_mistakes(before: PodTemplate, after: PodTemplate) -> Iterator[Mistake]:
    for kind in ("labels", "annotations"):
        old, new = _metadata(before, kind), _metadata(after, kind)
        for key in [*old, *(key for key in new if key not in old)]:
            ours = key.startswith(f"{DOMAIN}/") or key == MANAGED_BY
            # Plugins may add llm-d labels; pickers select by those that were generated.
            guarded = ours or (key.startswith("llm-d.ai/") and key in old)
            if guarded and old.get(key) != new.get(key):
                yield _changed(below(f"metadata.{kind}", key), old.get(key), new.get(key))


def _node_mistakes(before: PodTemplate, after: PodTemplate) -> Iterator[Mistake]:
    old, new = before["spec"], after["spec"]
    selected = new.get("nodeSelector", {})
    for key, value in old.get("nodeSelector", {}).items():
        if selected.get(key) != value:
            yield _changed(below("spec.nodeSelector", key), value, selected.get(key))
    kept = new.get("tolerations", [])
    for toleration in old.get("tolerations", []):
        if toleration not in kept:
            yield Mistake(f"spec.tolerations lost {toleration!r:.200}", _LEAVE)


def _port_mistakes(before: PodTemplate, after: PodTemplate, number: int) -> Iterator[Mistake]:
    """Yield that the port of the engine is another one, or has another name, by which other objects and
    probes refer to it.
    """
    old, new = (_ports(_containers(template, "containers")[ENGINE]) for template in (before, after))
    for name, port in old.items():
        if port == (number, "TCP") and new.get(name) != port:
            ports, there = f"spec.containers[{ENGINE}].ports", new.get(name)
            place = f"{ports}[{there[0]}/{there[1]}]" if there else ports
            yield replace(_changed(f"{ports}[{name}]", port, there), field_path=(place,))


def _serving_mistakes(before: PodTemplate, after: PodTemplate) -> Iterator[Mistake]:
    """Yield what a pod needs to serve, and has no more: whoever changes its numbers leaves it there."""
    old, new = (_containers(template, "containers")[ENGINE] for template in (before, after))
    path = f"spec.containers[{ENGINE}]"
    for key in _PROBES:
        if key in old and key not in new:
            yield _removed(f"{path}.{key}", "Change its numbers instead")
    if "preStop" in old.get("lifecycle", {}) and "preStop" not in new.get("lifecycle", {}):
        yield _removed(f"{path}.lifecycle.preStop", "Put its sleep before what the plugin does")
    if _GRACE in before["spec"] and _GRACE not in after["spec"]:
        yield _removed(f"spec.{_GRACE}", "Write another number of seconds")
    mounted = _shared_memory(before)
    if mounted is not None and (now := _shared_memory(after)) is None:
        yield _removed(f"{path}.volumeMounts[{_SHM_PATH}]", "Mount a memory volume there")
    elif mounted and not now:
        what = f"{path}.volumeMounts[{_SHM_PATH}] was a volume in memory, and is none any more"
        yield Mistake(what, "Write medium: Memory for its volume")


def _shared_memory(template: PodTemplate) -> bool | None:
    """Whether shared memory of the engine is in memory, None where nothing is mounted there."""
    engine, spec = _containers(template, "containers")[ENGINE], template["spec"]
    for mount in engine.get("volumeMounts", []):
        if mount["mountPath"].rstrip("/") == _SHM_PATH:
            volumes = [volume for volume in spec.get("volumes", []) if volume["name"] == mount["name"]]
            return any(volume.get("emptyDir", {}).get("medium") == "Memory" for volume in volumes)
    return None


def _device_mistakes(before: PodTemplate, after: PodTemplate, resource: str | None) -> Iterator[Mistake]:
    for kind in ("containers", "initContainers"):
        now = _containers(after, kind)
        for name, container in _containers(before, kind).items():
            for part in ("limits", "requests"):
                old, new = _amounts(container, part), _amounts(now.get(name, {}), part)
                for key, amount in old.items():
                    if (key == resource or is_accelerator(key)) and str(amount) != str(new.get(key)):
                        path = below(f"spec.{kind}[{name}].resources.{part}", key)
                        yield _changed(path, amount, new.get(key))


def _claim_mistakes(before: PodTemplate, after: PodTemplate) -> Iterator[Mistake]:
    """Yield claims that were taken from the pod or its engine."""
    kept = after["spec"].get("resourceClaims", [])
    for claim in before["spec"].get("resourceClaims", []):
        if claim not in kept:
            now = next((kept_claim for kept_claim in kept if kept_claim["name"] == claim["name"]), None)
            yield _changed(f"spec.resourceClaims[{claim['name']}]", claim, now)
    old, new = (
        _containers(template, "containers")[ENGINE].get("resources", {}).get("claims", [])
        for template in (before, after)
    )
    for claim in old:
        if claim not in new:
            yield _changed(f"spec.containers[{ENGINE}].resources.claims[{claim['name']}]", claim, None)


def _changed(path: str, old: Any, new: Any) -> Mistake:
    if old is None:
        what = f"{path} was added with {new!r:.60}, and is not a plugin's to set"
        return Mistake(what, "Use a key of your own", (path,))
    verb = "removed" if new is None else f"changed to {new!r:.60}"
    return Mistake(f"{path} was {old!r:.60} and was {verb}, but belongs to the system", _LEAVE, (path,))


def _removed(path: str, next_step: str) -> Mistake:
    return Mistake(f"{path} was removed, and a pod cannot serve well without it", next_step, (path,))


def _ports(container: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Return numbers and protocols of the ports that have a name."""
    return {
        port["name"]: (port["containerPort"], port.get("protocol", "TCP"))
        for port in container.get("ports", [])
        if port.get("name")
    }


def _metadata(template: PodTemplate, kind: str) -> dict[str, str]:
    texts: dict[str, str] = template.get("metadata", {}).get(kind, {})
    return texts


def _containers(template: PodTemplate, kind: str) -> dict[str, dict[str, Any]]:
    return {container["name"]: container for container in template["spec"].get(kind, [])}


def _amounts(container: dict[str, Any], part: str) -> dict[str, Any]:
    amounts: dict[str, Any] = container.get("resources", {}).get(part, {})
    return amounts
