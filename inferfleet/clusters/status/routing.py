"""The phase of what a request passes on its way to a pod: Gateway, HTTPRoute, InferencePool, Service."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from inferfleet.clusters.status.pods import one_line
from inferfleet.clusters.status.read import Key, LiveCluster, key_of
from inferfleet.clusters.status.values import PartStatus, Phase
from inferfleet.desired import values
from inferfleet.desired.values import KubeObject
from inferfleet.serving.metadata import SKIP_AWAIT
from inferfleet.serving.workload import bounds

Verdict = tuple[Phase, str]  # the phase and why, "" for Ready
Objects = Mapping[Key, dict[str, Any]]
_ENVOY_GATEWAY = "gateway.envoyproxy.io/"
ABSENT = "does not exist, or lacks this stack's label"
SILENT = "says nothing of it yet"


def part(cluster: str, key: Key, verdict: Verdict) -> PartStatus:
    """Return the status of the object with this key."""
    return PartStatus(cluster, titled(key), *verdict)


def titled(key: Key) -> str:
    """Return `Kind namespace/name`."""
    return values.titled(*key)


def gateway(objects: Objects, key: Key) -> Verdict:
    """Return Ready for a Gateway that is programmed: it has an address and takes requests there."""
    actual = objects.get(key)
    if actual is None:
        return Phase.MISSING, ABSENT
    conditions = (actual.get("status") or {}).get("conditions")
    return _judged(conditions, ("Accepted", "Programmed"), "no controller has programmed it yet")


def route(objects: Objects, key: Key, parent: Key) -> Verdict:
    """Return Ready for a route that the controller of its gateway accepted, with all that it refers to."""
    actual = objects.get(key)
    if actual is None:
        return Phase.MISSING, ABSENT
    entries = (actual.get("status") or {}).get("parents") or []
    parents = [entry for entry in entries if _names(entry, parent, key[1])]
    if not parents:
        return Phase.PENDING, f"{titled(parent)} has not accepted it yet"
    return _judged(parents[0].get("conditions"), ("Accepted", "ResolvedRefs"), "not accepted yet")


def policy(objects: Objects, key: Key) -> Verdict:
    """Return Ready for a policy of Envoy Gateway that it accepted for all that it is attached to."""
    actual = objects.get(key)
    if actual is None:
        return Phase.MISSING, ABSENT
    entries = (actual.get("status") or {}).get("ancestors") or []
    # Of one that is merged into a policy of the Gateway, a listener says that alone.
    judged = [
        _judged(conditions, ("Accepted",), SILENT)
        for conditions in (entry.get("conditions") or [] for entry in entries)
        if [condition["type"] for condition in conditions] != ["Merged"]
    ]
    broken = [verdict for verdict in judged if verdict[0] != Phase.READY]
    return next(iter(broken), (Phase.READY, "") if judged else (Phase.PENDING, SILENT))


def door_judge(wanted: KubeObject) -> Callable[[Objects], Verdict] | None:
    """Return who judges an object of an InferenceGateway by what Envoy Gateway says of it; None for one of
    which it says nothing.
    """
    key = key_of(wanted)
    if wanted.kind == "Gateway":
        return partial(gateway, key=key)
    if wanted.kind == "HTTPRoute":
        parent = ("Gateway", key[1], str(wanted.manifest["spec"]["parentRefs"][0]["name"]))
        return partial(route, key=key, parent=parent)
    if wanted.kind.endswith("Policy") and wanted.api_version.startswith(_ENVOY_GATEWAY):
        return partial(policy, key=key)
    if wanted.kind == "Deployment":
        return partial(_router, key=key, wanted=wanted)
    return None


def _router(objects: Objects, key: Key, wanted: KubeObject) -> Verdict:
    actual = objects.get(key)
    # Items of lists do not say their kind.
    return workload_verdict({"kind": wanted.kind, **actual} if actual else None, wanted)


def pool(seen: LiveCluster, key: Key, picker: Mapping[str, Any]) -> Verdict:
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
        verdict = _judged(_fresh(parent.get("conditions")), ("Accepted", "ResolvedRefs"), "")
        if verdict[0] == Phase.FAILED:
            return verdict
    return Phase.READY, ""


def led_to(objects: Mapping[Key, dict[str, Any]], key: Key, parent: Key) -> Verdict:
    """Return Ready for a pool of which the gateway's controller says that it can use it as it is now, and
    Pending as long as it says nothing, or is busy. `objects` are pools and Services of pickers.

    That a Service was not found counts only where it is not there: see `stale`.
    """
    actual = objects.get(key)
    if actual is None:
        return Phase.MISSING, ABSENT
    why = _unreachable(objects, key, actual)
    judged = [
        _judged(conditions if why else _fresh(conditions), ("Accepted", "ResolvedRefs"), SILENT)
        for conditions in _current(key, actual, parent)
    ]
    broken = [verdict for verdict in judged if verdict[0] != Phase.READY]
    if broken:
        return broken[0]
    if why:
        return Phase.FAILED, why
    return (Phase.READY, "") if judged else (Phase.PENDING, SILENT)


def stale(objects: Mapping[Key, dict[str, Any]], key: Key, parent: Key) -> str:
    """Return what the gateway's controller says of a picker's Service that it did not find, where the Service
    is there with its port; else "".

    Istio looks for the Service when pool or route change, and sees neither when it is deleted nor when it is
    back; it serves requests all the same then (`services.GetKey` without its context in
    inferencepool_collection.go, route conversion in conversion.go).
    """
    actual = objects.get(key)
    if actual is None or _unreachable(objects, key, actual):
        return ""
    said = (
        condition
        for conditions in _current(key, actual, parent)
        for condition in conditions
        if _misses(condition)
    )
    return next((one_line(one["message"]) for one in said), "")


def _current(key: Key, actual: Mapping[str, Any], parent: Key) -> list[list[Mapping[str, Any]]]:
    """Return the conditions that the gateway's controller wrote of the pool as it is now."""
    generation = actual["metadata"].get("generation", 0)
    entries = [
        entry.get("conditions") or []
        for entry in (actual.get("status") or {}).get("parents") or []
        if _names(entry, parent, key[1])
    ]
    return [
        conditions
        for conditions in entries
        if all(condition.get("observedGeneration", generation) == generation for condition in conditions)
    ]


def _fresh(conditions: Sequence[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    """Return the conditions without one that the Service of the picker was not found."""
    return [condition for condition in conditions or [] if not _misses(condition)]


def _misses(condition: Mapping[str, Any]) -> bool:
    missed = condition.get("reason") == "InvalidExtensionRef" and condition.get("status") == "False"
    return missed and "not found" in (condition.get("message") or "")


def _names(entry: Mapping[str, Any], parent: Key, own_namespace: str) -> bool:
    """Return whether an entry of `parents` is that of the gateway.

    One without a namespace means that of the object which it is written at (ParentReference of the Gateway
    API, and of InferencePools).
    """
    _, namespace, name = parent
    reference = entry["parentRef"]
    return (reference.get("namespace") or own_namespace, reference.get("name")) == (namespace, name)


def _targets(seen: LiveCluster, key: Key, actual: Mapping[str, Any]) -> Iterator[str]:
    spec = actual.get("spec") or {}
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    pods = [pod for pod in seen.pods if selected(pod, key[1], labels)]
    if not pods:
        yield f"its selector {_labels(labels)} matches no pod"
        return
    port_names = {number: name for pod in pods for number, name in _container_ports(pod["spec"]).items()}
    for number in (port.get("number") for port in spec.get("targetPorts") or []):
        if port_names and number not in port_names:
            yield (
                f"it sends requests to port {number} of its pods, where none of their containers "
                f"listens (they have: {_numbers(port_names)})"
            )


def _picker(
    seen: LiveCluster, key: Key, actual: Mapping[str, Any], picker: Mapping[str, Any]
) -> Iterator[str]:
    """Yield why requests do not reach a picker: its Service, the port there, or the pods that it selects."""
    why = _unreachable(seen.objects, key, actual)
    if why:
        yield why
    service_key, wanted = _reference(key, actual)
    service = seen.objects.get(service_key)
    if service is None:
        return
    ports_of_picker = _container_ports(_actual_picker(seen, key, picker)["spec"]["template"]["spec"])
    target = _ports(service).get(wanted)
    if (
        ports_of_picker
        and not why
        and target not in ports_of_picker
        and target not in ports_of_picker.values()
    ):
        yield (
            f"{titled(service_key)} sends port {wanted} to {target}, where no container of "
            f"Deployment {key[1]}/{picker['metadata']['name']} listens (it has: {_numbers(ports_of_picker)})"
        )
    selector = (service.get("spec") or {}).get("selector") or {}
    pods = [pod for pod in seen.pods if selected(pod, key[1], picker["spec"]["selector"]["matchLabels"])]
    if pods and not any(selected(pod, key[1], selector) for pod in pods):
        yield f"the selector {_labels(selector)} of {titled(service_key)} matches no pod"


def _unreachable(objects: Mapping[Key, dict[str, Any]], key: Key, actual: Mapping[str, Any]) -> str:
    """Return why the Service of the pool's picker, or the port that the pool names, is not there, or ""."""
    service_key, wanted = _reference(key, actual)
    service = objects.get(service_key)
    if service is None:
        return f"its endpoint picker's {titled(service_key)} {ABSENT}"
    ports = _ports(service)
    if wanted in ports:
        return ""
    return f"{titled(service_key)} has no port {wanted}, which it names (it has: {_numbers(ports)})"


def _reference(key: Key, actual: Mapping[str, Any]) -> tuple[Key, int | None]:
    """Return the Service of the pool's picker, and the port that the pool names."""
    reference = (actual.get("spec") or {}).get("endpointPickerRef") or {}
    return ("Service", key[1], str(reference.get("name"))), (reference.get("port") or {}).get("number")


def _ports(service: Mapping[str, Any]) -> dict[Any, Any]:
    ports = (service.get("spec") or {}).get("ports") or []
    return {port.get("port"): port.get("targetPort", port.get("port")) for port in ports}


def _actual_picker(seen: LiveCluster, key: Key, picker: Mapping[str, Any]) -> Mapping[str, Any]:
    return seen.objects.get(("Deployment", key[1], picker["metadata"]["name"]), picker)


def _container_ports(pod_spec: Mapping[str, Any]) -> dict[int, str]:
    containers = pod_spec.get("containers") or []
    ports = [port for container in containers for port in container.get("ports") or []]
    return {int(port["containerPort"]): port.get("name", "") for port in ports}


def selected(pod: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> bool:
    """Return whether a selector with these labels matches the pod; one without labels matches nothing."""
    metadata = pod["metadata"]
    pod_labels = metadata.get("labels") or {}
    return bool(labels) and metadata.get("namespace") == namespace and labels.items() <= pod_labels.items()


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


# Whether what an update made is still there and not at zero. Whether pods are ready is another matter.
#
# An update that changes nothing waits for nothing: Pulumi compares with its state, and that knows of nothing
# that somebody deleted or scaled since.
#


def workload_verdict(actual: Mapping[str, Any] | None, wanted: KubeObject) -> Verdict:
    """Return Ready for an object that is there; a workload with another number than 0 where more is desired.

    The number of a workload is its scaler's where it has one. One that no update waits for may have none.
    """
    if actual is None:
        return Phase.MISSING, ABSENT
    number = _number(wanted.manifest)
    annotations = wanted.manifest["metadata"].get("annotations") or {}
    if not number or SKIP_AWAIT in annotations or bounds(wanted.manifest):
        return Phase.READY, ""
    if _number(actual) == 0:
        return Phase.FAILED, f"was scaled to spec.replicas 0, where {number} is desired"
    return Phase.READY, ""


def picker_verdict(actual: Mapping[str, Any] | None, wanted: KubeObject) -> Verdict:
    """Return Ready for the Deployment of an endpoint picker with an available replica.

    Of several replicas only the elected leader is ready, so one is enough.
    """
    verdict = workload_verdict(actual, wanted)
    if actual is None or verdict[0] != Phase.READY:
        return verdict
    if not (actual.get("status") or {}).get("availableReplicas"):
        return Phase.FAILED, "is an endpoint picker without an available replica"
    return verdict


def _number(workload: Mapping[str, Any]) -> int | None:
    """Return `spec.replicas`, which the API server sets to 1 where it is not written; None without a spec of
    that kind.
    """
    if workload["kind"] not in ("Deployment", "LeaderWorkerSet"):
        return None
    return int((workload.get("spec") or {}).get("replicas", 1))
