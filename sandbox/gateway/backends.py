"""Resolves a route's backendRef to the pods behind it and, for an InferencePool, to its endpoint picker.

The API server refuses loopback addresses in EndpointSlices, so Services are resolved by their selectors.
"""

from dataclasses import dataclass

from sandbox.cluster.objects import Object
from sandbox.gateway.snapshot import POOL_GROUP, Snapshot, ready

_TRUE = {"1", "t", "T", "TRUE", "true", "True"}  # Go's strconv.ParseBool


@dataclass(frozen=True)
class Upstream:
    """The target of an Envoy cluster: its name and the `address:port` of each ready pod."""

    name: str
    endpoints: tuple[str, ...]


@dataclass(frozen=True)
class Picker:
    """The endpoint picker of a pool, as a gateway reaches it."""

    upstream: Upstream
    tls: bool
    fail_open: bool


@dataclass(frozen=True)
class Backend:
    """Where requests go: without a picker, to any of the endpoints."""

    upstream: Upstream
    picker: Picker | None = None


@dataclass(frozen=True)
class Unresolved:
    """Why there is no backend: a reason for the ResolvedRefs condition, and a message."""

    reason: str
    message: str


def backend(ref: Object, *, namespace: str, snapshot: Snapshot) -> Backend | Unresolved:
    """Return the backend that a backendRef of a route in the namespace names."""
    kind, group = ref.get("kind", "Service"), ref.get("group", "")
    if ref.get("namespace", namespace) != namespace:
        return Unresolved(
            "RefNotPermitted",
            f"{kind} {ref['namespace']}/{ref['name']} is in another namespace, which needs a ReferenceGrant: "
            "the sandbox does not read those",
        )
    if (group, kind) == (POOL_GROUP, "InferencePool"):
        return _pool(f"{namespace}/{ref['name']}", snapshot)
    if (group, kind) == ("", "Service"):
        upstream = _service(f"{namespace}/{ref['name']}", ref.get("port"), snapshot)
        return upstream if isinstance(upstream, Unresolved) else Backend(upstream)
    return Unresolved(
        "InvalidKind", f"{kind} {ref['name']} of group {group!r} is no Service or InferencePool"
    )


def pools(snapshot: Snapshot) -> tuple[Backend, ...]:
    """Return the backend of each InferencePool that has one, whether a route leads to it or not.

    A proxy keeps them, as Istio's do: what is taken out of its configuration ends the requests in hand.
    """
    made = (_pool(name, snapshot) for name in sorted(snapshot.pools))
    return tuple(found for found in made if not isinstance(found, Unresolved))


def picker(pool: Object, snapshot: Snapshot) -> Picker | Unresolved:
    """Return the pool's endpoint picker, or why there is none."""
    metadata, ref = pool["metadata"], pool["spec"].get("endpointPickerRef")
    if not ref:
        return Unresolved("EndpointPickerRefMissing", "the pool names no endpoint picker")
    if ref.get("group", "") or ref.get("kind", "Service") != "Service":
        return Unresolved("InvalidExtensionRef", f"endpointPickerRef is a {ref['kind']}, not a Service")
    service = f"{metadata['namespace']}/{ref['name']}"
    upstream = _service(service, ref.get("port", {}).get("number"), snapshot)
    if isinstance(upstream, Unresolved):
        return Unresolved("InvalidExtensionRef", upstream.message)
    pods = snapshot.pods_of(metadata["namespace"], snapshot.services[service]["spec"].get("selector") or {})
    return Picker(
        Upstream(f"picker.{metadata['namespace']}.{metadata['name']}", upstream.endpoints),
        tls=any(_serves_tls(pod) for pod in pods),
        fail_open=ref.get("failureMode") == "FailOpen",
    )


def _pool(name: str, snapshot: Snapshot) -> Backend | Unresolved:
    pool = snapshot.pools.get(name)
    if pool is None:
        return Unresolved("BackendNotFound", f"there is no InferencePool {name}")
    chosen = picker(pool, snapshot)
    if isinstance(chosen, Unresolved):
        return Unresolved("BackendNotFound", f"InferencePool {name} has no picker: {chosen.message}")
    namespace = pool["metadata"]["namespace"]
    pods = ready(snapshot.pods_of(namespace, pool["spec"]["selector"]["matchLabels"]))
    ports = [port["number"] for port in pool["spec"]["targetPorts"]]
    endpoints = tuple(f"{pod['status']['podIP']}:{port}" for pod in pods for port in ports)
    return Backend(Upstream(f"pool.{namespace}.{pool['metadata']['name']}", endpoints), chosen)


def _service(name: str, number: int | None, snapshot: Snapshot) -> Upstream | Unresolved:
    service = snapshot.services.get(name)
    if service is None:
        return Unresolved("BackendNotFound", f"there is no Service {name}")
    ports = service["spec"].get("ports") or []
    service_port = next((port for port in ports if port["port"] == number), None)
    if service_port is None:
        have = ", ".join(str(port["port"]) for port in ports) or "none"
        return Unresolved("BackendNotFound", f"Service {name} has no port {number} (it has: {have})")
    namespace = service["metadata"]["namespace"]
    pods = snapshot.pods_of(namespace, service["spec"].get("selector") or {})
    target = service_port.get("targetPort", service_port["port"])
    # A real container may listen on a port that it does not declare; the stand-in of an engine does not. Of
    # containers that declare none nothing is known.
    if pods and not any(_port_number(pod, target) for pod in pods):
        declared = {str(number) for pod in pods for _, number in _declared_ports(pod)}
        have = ", ".join(sorted(declared)) or "none"
        return Unresolved(
            "BackendNotFound",
            f"Service {name} leads to port {target} of its pods, whose containers have: {have}",
        )
    endpoints = tuple(
        f"{pod['status']['podIP']}:{port}" for pod in ready(pods) if (port := _port_number(pod, target))
    )
    return Upstream(f"service.{namespace}.{service['metadata']['name']}.{number}", endpoints)


def _port_number(pod: Object, target: str | int) -> int | None:
    """Return the number of the pod's port that a Service calls `target`, if a container declares it.

    A number is taken as it is where no container declares any.
    """
    declared = _declared_ports(pod)
    if not declared and isinstance(target, int):
        return target
    return next((number for name, number in declared if target in (name, number)), None)


def _declared_ports(pod: Object) -> list[tuple[str, int]]:
    """Return the name ("" without one) and number of each port that the pod's containers declare."""
    return [
        (port.get("name", ""), port["containerPort"])
        for container in pod["spec"].get("containers", [])
        for port in container.get("ports", ())
    ]


def _serves_tls(pod: Object) -> bool:
    """Return whether the picker serves TLS, which is the default unless its arguments say otherwise."""
    secure = True
    for container in pod["spec"].get("containers", []):
        for arg in container.get("args", ()):
            name, _, value = str(arg).lstrip("-").partition("=")
            if name == "secure-serving":
                secure = not value or value in _TRUE
    return secure
