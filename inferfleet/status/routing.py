"""The phase of what a request passes on its way to a pod: Gateway, HTTPRoute, InferencePool, Service."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inferfleet.status.pods import one_line
from inferfleet.status.read import Key, Seen
from inferfleet.status.values import PartStatus, Phase

Found = tuple[Phase, str]
ABSENT = "is not there, or lacks this stack's label"


def part(cluster: str, key: Key, found: Found) -> PartStatus:
    """The status of the object with this key."""
    return PartStatus(cluster, titled(key), *found)


def titled(key: Key) -> str:
    """`Kind namespace/name`."""
    kind, namespace, name = key
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def gateway(seen: Seen, key: Key) -> Found:
    """Programmed: it has an address and takes requests there."""
    found = seen.objects.get(key)
    if found is None:
        return Phase.MISSING, ABSENT
    conditions = (found.get("status") or {}).get("conditions")
    return _judged(conditions, ("Accepted", "Programmed"), "no controller has programmed it yet")


def route(seen: Seen, key: Key, parent: Key) -> Found:
    """Accepted by the controller of its gateway, which found all that it refers to."""
    found = seen.objects.get(key)
    if found is None:
        return Phase.MISSING, ABSENT
    _, namespace, name = parent
    parents = [
        one
        for one in (found.get("status") or {}).get("parents") or []
        if one["parentRef"].get("name") == name and one["parentRef"].get("namespace") in (namespace, None)
    ]
    if not parents:
        return Phase.PENDING, f"{titled(parent)} has not accepted it yet"
    return _judged(parents[0].get("conditions"), ("Accepted", "ResolvedRefs"), "not accepted yet")


def pool(seen: Seen, key: Key, picker: Mapping[str, Any]) -> Found:
    """Its selector finds pods with its ports, and its picker is reached where it says. Its own status may be
    empty.

    `picker` is the desired Deployment of its endpoint picker.
    """
    found = seen.objects.get(key)
    if found is None:
        return Phase.MISSING, ABSENT
    broken = [*_targets(seen, key, found), *_picker(seen, key, found, picker)]
    if broken:
        return Phase.FAILED, "; ".join(broken)
    for parent in (found.get("status") or {}).get("parents") or []:
        judged = _judged(parent.get("conditions"), ("Accepted", "ResolvedRefs"), "")
        if judged[0] == Phase.FAILED:
            return judged
    return Phase.READY, ""


def _targets(seen: Seen, key: Key, found: Mapping[str, Any]) -> Iterator[str]:
    spec = found.get("spec") or {}
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    pods = [pod for pod in seen.pods if selected(pod, key[1], labels)]
    if not pods:
        yield f"its selector {_labels(labels)} matches no pod"
        return
    own = {number: name for pod in pods for number, name in _container_ports(pod["spec"]).items()}
    for number in (one.get("number") for one in spec.get("targetPorts") or []):
        if own and number not in own:
            yield (
                f"it sends requests to port {number} of its pods, where none of their containers "
                f"listens (they have: {_numbers(own)})"
            )


def _picker(seen: Seen, key: Key, found: Mapping[str, Any], picker: Mapping[str, Any]) -> Iterator[str]:
    reference = (found.get("spec") or {}).get("endpointPickerRef") or {}
    service_key = ("Service", key[1], str(reference.get("name")))
    service = seen.objects.get(service_key)
    if service is None:
        yield f"its endpoint picker's {titled(service_key)} {ABSENT}"
        return
    wanted = (reference.get("port") or {}).get("number")
    spec = service.get("spec") or {}
    ports = {one.get("port"): one.get("targetPort", one.get("port")) for one in spec.get("ports") or []}
    if wanted not in ports:
        yield f"{titled(service_key)} has no port {wanted}, which it names (it has: {_numbers(ports)})"
    elif own := _container_ports(_standing(seen, key, picker)["spec"]["template"]["spec"]):
        target = ports[wanted]
        if target not in own and target not in own.values():
            yield (
                f"{titled(service_key)} sends port {wanted} to {target}, where no container of "
                f"Deployment {key[1]}/{picker['metadata']['name']} listens (it has: {_numbers(own)})"
            )
    selector = spec.get("selector") or {}
    pods = [pod for pod in seen.pods if selected(pod, key[1], picker["spec"]["selector"]["matchLabels"])]
    if pods and not any(selected(pod, key[1], selector) for pod in pods):
        yield f"the selector {_labels(selector)} of {titled(service_key)} matches no pod"


def _standing(seen: Seen, key: Key, picker: Mapping[str, Any]) -> Mapping[str, Any]:
    return seen.objects.get(("Deployment", key[1], picker["metadata"]["name"]), picker)


def _container_ports(pod_spec: Mapping[str, Any]) -> dict[int, str]:
    ports = [port for one in pod_spec.get("containers") or [] for port in one.get("ports") or []]
    return {int(one["containerPort"]): one.get("name", "") for one in ports}


def selected(pod: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> bool:
    """Whether these labels (none select nothing) pick the pod."""
    metadata = pod["metadata"]
    own = metadata.get("labels") or {}
    return bool(labels) and metadata.get("namespace") == namespace and labels.items() <= own.items()


def _judged(conditions: Sequence[Mapping[str, Any]] | None, types: tuple[str, ...], silence: str) -> Found:
    """Failed when a condition is False, unless its reason says that it is not over yet."""
    by_type = {one["type"]: one for one in conditions or []}
    for kind in types:
        one = by_type.get(kind, {})
        if one.get("status") == "False":
            told = f"{kind}=False ({one.get('reason')}): {one_line(one.get('message') or '')}"
            waits = one.get("reason") in ("Pending", "AddressNotAssigned")
            return Phase.PENDING if waits else Phase.FAILED, told.removesuffix(": ")
    missing = [kind for kind in types if by_type.get(kind, {}).get("status") != "True"]
    # Some controllers never write ResolvedRefs; a route that is accepted and not refused is served.
    return (Phase.PENDING, silence) if {"Accepted", "Programmed"} & {*missing} else (Phase.READY, "")


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "(empty)"


def _numbers(ports: Mapping[Any, Any]) -> str:
    return ", ".join(str(port) for port in sorted(ports, key=str)) or "none"
