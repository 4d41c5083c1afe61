"""The phase of what a request passes on its way to a pod: Gateway, HTTPRoute, InferencePool, Service."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inferfleet.status.pods import one_line
from inferfleet.status.read import Key, Seen
from inferfleet.status.values import PartStatus, Phase

Verdict = tuple[Phase, str]  # the phase and why, "" for Ready
ABSENT = "does not exist, or lacks this stack's label"


def part(cluster: str, key: Key, verdict: Verdict) -> PartStatus:
    """Return the status of the object with this key."""
    return PartStatus(cluster, titled(key), *verdict)


def titled(key: Key) -> str:
    """Return `Kind namespace/name`."""
    kind, namespace, name = key
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def gateway(seen: Seen, key: Key) -> Verdict:
    """Return Ready for a Gateway that is programmed: it has an address and takes requests there."""
    actual = seen.objects.get(key)
    if actual is None:
        return Phase.MISSING, ABSENT
    conditions = (actual.get("status") or {}).get("conditions")
    return _judged(conditions, ("Accepted", "Programmed"), "no controller has programmed it yet")


def route(seen: Seen, key: Key, parent: Key) -> Verdict:
    """Return Ready for a route that the controller of its gateway accepted, with all that it refers to."""
    actual = seen.objects.get(key)
    if actual is None:
        return Phase.MISSING, ABSENT
    _, namespace, name = parent
    parents = [
        entry
        for entry in (actual.get("status") or {}).get("parents") or []
        if entry["parentRef"].get("name") == name and entry["parentRef"].get("namespace") in (namespace, None)
    ]
    if not parents:
        return Phase.PENDING, f"{titled(parent)} has not accepted it yet"
    return _judged(parents[0].get("conditions"), ("Accepted", "ResolvedRefs"), "not accepted yet")


def pool(seen: Seen, key: Key, picker: Mapping[str, Any]) -> Verdict:
    """Return Ready for a pool whose selector matches pods with its ports and whose picker is reached where it
    says. Its own status may be empty.

    `picker` is the desired Deployment of its endpoint picker.
    """
    actual = seen.objects.get(key)
    if actual is None:
        return Phase.MISSING, ABSENT
    broken = [*_targets(seen, key, actual), *_picker(seen, key, actual, picker)]
    if broken:
        return Phase.FAILED, "; ".join(broken)
    for parent in (actual.get("status") or {}).get("parents") or []:
        verdict = _judged(parent.get("conditions"), ("Accepted", "ResolvedRefs"), "")
        if verdict[0] == Phase.FAILED:
            return verdict
    return Phase.READY, ""


def _targets(seen: Seen, key: Key, actual: Mapping[str, Any]) -> Iterator[str]:
    spec = actual.get("spec") or {}
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    pods = [pod for pod in seen.pods if selected(pod, key[1], labels)]
    if not pods:
        yield f"its selector {_labels(labels)} matches no pod"
        return
    own = {number: name for pod in pods for number, name in _container_ports(pod["spec"]).items()}
    for number in (port.get("number") for port in spec.get("targetPorts") or []):
        if own and number not in own:
            yield (
                f"it sends requests to port {number} of its pods, where none of their containers "
                f"listens (they have: {_numbers(own)})"
            )


def _picker(seen: Seen, key: Key, actual: Mapping[str, Any], picker: Mapping[str, Any]) -> Iterator[str]:
    reference = (actual.get("spec") or {}).get("endpointPickerRef") or {}
    service_key = ("Service", key[1], str(reference.get("name")))
    service = seen.objects.get(service_key)
    if service is None:
        yield f"its endpoint picker's {titled(service_key)} {ABSENT}"
        return
    wanted = (reference.get("port") or {}).get("number")
    spec = service.get("spec") or {}
    ports = {port.get("port"): port.get("targetPort", port.get("port")) for port in spec.get("ports") or []}
    if wanted not in ports:
        yield f"{titled(service_key)} has no port {wanted}, which it names (it has: {_numbers(ports)})"
    elif own := _container_ports(_actual_picker(seen, key, picker)["spec"]["template"]["spec"]):
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


def _actual_picker(seen: Seen, key: Key, picker: Mapping[str, Any]) -> Mapping[str, Any]:
    return seen.objects.get(("Deployment", key[1], picker["metadata"]["name"]), picker)


def _container_ports(pod_spec: Mapping[str, Any]) -> dict[int, str]:
    containers = pod_spec.get("containers") or []
    ports = [port for container in containers for port in container.get("ports") or []]
    return {int(port["containerPort"]): port.get("name", "") for port in ports}


def selected(pod: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> bool:
    """Return whether a selector with these labels matches the pod; one without labels matches nothing."""
    metadata = pod["metadata"]
    own = metadata.get("labels") or {}
    return bool(labels) and metadata.get("namespace") == namespace and labels.items() <= own.items()


def _judged(conditions: Sequence[Mapping[str, Any]] | None, types: tuple[str, ...], silence: str) -> Verdict:
    """Return Failed when a condition is False, unless its reason says that the controller is still busy."""
    by_type = {condition["type"]: condition for condition in conditions or []}
    for type_ in types:
        condition = by_type.get(type_, {})
        if condition.get("status") == "False":
            message = one_line(condition.get("message") or "")
            why = f"{type_}=False ({condition.get('reason')}): {message}".removesuffix(": ")
            waits = condition.get("reason") in ("Pending", "AddressNotAssigned")
            return Phase.PENDING if waits else Phase.FAILED, why
    missing = [type_ for type_ in types if by_type.get(type_, {}).get("status") != "True"]
    # Some controllers never write ResolvedRefs; a route that is accepted and not refused is served.
    return (Phase.PENDING, silence) if {"Accepted", "Programmed"} & {*missing} else (Phase.READY, "")


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "(empty)"


def _numbers(ports: Mapping[Any, Any]) -> str:
    return ", ".join(str(port) for port in sorted(ports, key=str)) or "none"
