"""Objects a gateway controller sees, with what a test does not care about filled in."""

from typing import Any

from sandbox.cluster.objects import Object, key
from sandbox.cluster.populate import CONTROLLER
from sandbox.gateway.snapshot import POOL_GROUP, Snapshot

PREFIX: Object = {
    "type": "URLRewrite",
    "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
}


def meta(name: str, namespace: str = "ml", **more: Any) -> Object:
    return {"name": name, "namespace": namespace, "generation": 1, **more}


def gateway(
    name: str = "edge", *, listeners: list[Object] | None = None, status: Object | None = None, **spec: Any
) -> Object:
    return {
        "metadata": meta(name, "infra"),
        "spec": {"gatewayClassName": "ours", "listeners": listeners or [listener()], **spec},
        "status": status or {},
    }


def listener(name: str = "http", *, port: int = 8080, **more: Any) -> Object:
    return {
        "name": name,
        "protocol": "HTTP",
        "port": port,
        "allowedRoutes": {"namespaces": {"from": "All"}},
        **more,
    }


def route(name: str = "qwen", *rules: Object, created: str = "2026-01-01", **spec: Any) -> Object:
    return {
        "metadata": meta(name, creationTimestamp=created),
        "spec": {
            "parentRefs": [{"name": "edge", "namespace": "infra"}],
            "rules": list(rules) or [rule("/ml/qwen", to_pool("qwen"))],
            **spec,
        },
    }


def rule(path: str, *backends: Object, kind: str = "PathPrefix", headers: Any = None, **more: Any) -> Object:
    match: Object = {"path": {"type": kind, "value": path}}
    if headers:
        match["headers"] = [{"name": name, "value": value} for name, value in headers.items()]
    return {"matches": [match], "backendRefs": list(backends), **more}


def to_pool(name: str, **more: Any) -> Object:
    return {"group": POOL_GROUP, "kind": "InferencePool", "name": name, **more}


def to_service(name: str, port: int = 80, **more: Any) -> Object:
    return {"kind": "Service", "name": name, "port": port, **more}


def pool(name: str = "qwen", *, failure_mode: str = "FailClose", port: int = 9002) -> Object:
    return {
        "metadata": meta(name),
        "spec": {
            "selector": {"matchLabels": {"model": name}},
            "targetPorts": [{"number": 8000}],
            "endpointPickerRef": {
                "name": f"{name}-epp",
                "port": {"number": port},
                "failureMode": failure_mode,
            },
        },
    }


def service(name: str, labels: dict[str, str], *, port: int = 80, target: int | str | None = None) -> Object:
    ports = [{"port": port, "targetPort": target if target is not None else port}]
    return {"metadata": meta(name), "spec": {"selector": labels, "ports": ports}}


def pod(
    name: str, labels: dict[str, str], ip: str, *, ready: bool = True, port: int = 8000, args: Any = ()
) -> Object:
    return {
        "metadata": meta(name, labels=labels),
        "spec": {"containers": [{"args": list(args), "ports": [{"name": "http", "containerPort": port}]}]},
        "status": {"podIP": ip, "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def picker_of(name: str = "qwen", *, ip: str = "127.4.0.9", args: Any = ()) -> tuple[Object, Object]:
    """Service and pod of the pool's endpoint picker."""
    labels = {"app": f"{name}-epp"}
    return (
        service(f"{name}-epp", labels, port=9002),
        pod(f"{name}-epp-0", labels, ip, port=9002, args=args),
    )


def snapshot(*objects: Object, namespaces: dict[str, dict[str, str]] | None = None) -> Snapshot:
    """Return a snapshot of the objects, whose kinds follow from their fields, and of two GatewayClasses.

    `namespaces` are labels by name.
    """
    kinds: dict[str, dict[str, Object]] = {
        kind: {} for kind in ("gateways", "routes", "pools", "services", "pods")
    }
    for kube_object in objects:
        spec = kube_object["spec"]
        kind = (
            "gateways"
            if "gatewayClassName" in spec
            else "routes"
            if "parentRefs" in spec
            else "pools"
            if "endpointPickerRef" in spec
            else "services"
            if "ports" in spec
            else "pods"
        )
        kinds[kind][key(kube_object)] = kube_object
    ours = {"metadata": {"name": "ours", "generation": 1}, "spec": {"controllerName": CONTROLLER}}
    theirs = {"metadata": {"name": "theirs"}, "spec": {"controllerName": "somebody.else/gateway"}}
    spaces = {
        name: {"metadata": {"name": name, "labels": labels}} for name, labels in (namespaces or {}).items()
    }
    return Snapshot(classes={"ours": ours, "theirs": theirs}, namespaces=spaces, **kinds)
