"""What a companion may be: kinds that exist, that nothing else plans, and that hold no secrets.

Of Kubernetes' own API groups every kind is known, so that a misspelt one is refused before a cluster sees it.
Others may be custom resources. Which of them run pods is known of some by name, and else by the containers
and accelerators in them; what one only refers to, such as a template by its name, nobody sees here.
"""

import re
from collections.abc import Iterator
from typing import Any

from inferfleet.api.kinds.text_rules import SUBDOMAIN
from inferfleet.api.wording import listing, nearest, path_of, shown
from inferfleet.fleet import names
from inferfleet.plugins.contract import Request
from inferfleet.profiles.devices import ACCELERATOR_DOMAINS
from inferfleet.profiles.kubernetes import (
    BUILT_IN,
    CLUSTER_SCOPED,
    CUSTOM_THAT_RUN_PODS,
    GROUPS,
    NOT_STORED,
    RUNS_PODS,
)

Steps = tuple[str | int, ...]

# As Kubernetes takes them of custom resources: a group has a dot, which some of its own lack; a version and
# a kind in lower case are DNS labels (ValidateCustomResourceDefinitionSpec, apiextensions-apiserver 0.36).
_VERSION = re.compile(rf"({SUBDOMAIN.pattern}/)?[a-z][a-z0-9]*")
_KIND = re.compile(r"[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_LISTS, _SINGLE = ("containers", "initContainers", "steps"), ("container", "script")
_EXAMPLES = ("apps", "batch", "networking.k8s.io", "policy")
_AMOUNTS = ("requests", "limits", "default", "defaultRequest")


def refused(manifest: dict[str, Any], request: Request) -> Iterator[str]:
    """Yield why no plugin may add this object, and what to do instead."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    known = (version.rpartition("/")[0], kind)
    if not _VERSION.fullmatch(version):
        yield f"has the apiVersion {shown(version)!r}, but it must be one such as v1 or example.com/v1"
    elif not _KIND.fullmatch(kind):
        yield f"is of kind {shown(kind)!r}, but a kind has at most 63 letters, digits and '-'"
    elif known == ("", "Secret"):
        yield (
            "would hold a secret in plain text; set its values with pulumi config set --secret --path "
            "'inferfleet:secrets[...]', and let the pod read them by name"
        )
    elif known[0] == names.DOMAIN or known[0].endswith(f".{names.DOMAIN}"):
        yield (
            f"is of {shown(version)}, a document of inferfleet, which no cluster knows; write it into a file "
            "of the stack"
        )
    elif known in RUNS_PODS or known in CUSTOM_THAT_RUN_PODS or any(_containers(manifest)):
        yield (
            "runs pods, which nothing plans; put containers into the template as sidecars, or run it outside "
            "of the stack"
        )
    elif known in CLUSTER_SCOPED:
        yield "belongs to a whole cluster and not to a namespace; create it outside of the stack"
    elif known in NOT_STORED or _is_part(known, manifest):
        yield "is no object of its own; give each object by itself"
    elif (unknown := _unknown(*known)) is not None:
        yield unknown
    else:
        yield from _takes_devices(manifest, request)
        yield from _sets_replicas(manifest, request)


def _is_part(known: tuple[str, str], manifest: dict[str, Any]) -> bool:
    """Return whether it is a list or patch of objects. A custom resource may be named like one."""
    group, kind = known
    if group in GROUPS:
        whole = kind.removesuffix("List").removesuffix("Patch")
        return whole != kind and (not whole or (group, whole) in BUILT_IN)
    return kind.endswith("List") and isinstance(manifest.get("items"), list)


def _unknown(group: str, kind: str) -> str | None:
    """Return why Kubernetes has no such kind, or None if it has, or if it may be a custom resource."""
    if group == "core":
        return "is of the group 'core', which has no name in Kubernetes; write apiVersion: v1"
    if group not in GROUPS:
        if "." in group:
            return None
        close = nearest(group, GROUPS)
        step = f"did you mean {close}?" if close else f"Kubernetes' own are such as {', '.join(_EXAMPLES)}"
        return f"is of the group {shown(group)!r}, and groups of custom resources have a dot; {step}"
    if (group, kind) in BUILT_IN:
        return None
    if elsewhere := sorted(other for other, name in BUILT_IN if name == kind):
        return f"is of {_group(group)}, but {kind} is a kind of {' and '.join(map(_group, elsewhere))}"
    known = sorted(name for other, name in BUILT_IN if other == group)
    close = nearest(kind, known)
    step = f"did you mean {close}?" if close else f"it has {listing(known)}"
    if (group, close) == ("", "Secret"):
        step = "if a Secret is meant, its values belong into inferfleet:secrets"
    return f"is of a kind that {_group(group)} does not have; {step}"


def _group(group: str) -> str:
    return f"Kubernetes' group {group}" if group else "Kubernetes' core group (v1)"


def _containers(manifest: dict[str, Any]) -> Iterator[bool]:
    """Yield a True for everything in an object that becomes a container: a pod template, steps of a task."""
    for at, value in _maps(manifest):
        if at[-1:] == ("spec",) and isinstance(value.get("containers"), list):
            yield True
        listed = [entry for name in _LISTS if isinstance(value.get(name), list) for entry in value[name]]
        if any(map(_is_container, (*listed, *(value.get(name) for name in _SINGLE)))):
            yield True


def _is_container(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("image"), str)


def _takes_devices(manifest: dict[str, Any], request: Request) -> Iterator[str]:
    """Yield where the object asks for accelerators, which only the plan gives to pods."""
    ours = {device.resource for device in request.node_class.devices}
    for at, value in _maps(manifest):
        if at[-1:] and at[-1] in _AMOUNTS:
            for resource in sorted(value):
                if resource in ours or resource.partition("/")[0] in ACCELERATOR_DOMAINS:
                    yield (
                        f"asks for {shown(resource)} in {path_of(at)}, which nothing plans; only the "
                        "engine's pods have accelerators, as many as spec.workers.topology says"
                    )
        claims = value.get("resourceClaims")
        if isinstance(claims, list) and any(map(_is_claim, claims)):
            yield (
                f"claims devices in {path_of((*at, 'resourceClaims'))}, which nothing plans; only the "
                "engine's pods have accelerators, as many as spec.workers.topology says"
            )
    if manifest["kind"] == "LimitRange" and any(
        at[-1:] and at[-1] in ("default", "defaultRequest") for at, _ in _maps(manifest)
    ):
        yield (
            "gives containers of the namespace amounts that the plan does not count; write them into the "
            "containers"
        )


def _is_claim(value: Any) -> bool:
    return isinstance(value, dict) and bool({"resourceClaimName", "resourceClaimTemplateName"} & value.keys())


def _sets_replicas(manifest: dict[str, Any], request: Request) -> Iterator[str]:
    """Yield that the object changes the workload by itself: how many pods it has, or what they ask for."""
    for at, value in _maps(manifest):
        if at[-1:] == ("scaleTargetRef",) and _is_workload(value, request):
            yield (
                f"scales the workload {request.workload}, whose replicas the plan says; set spec.replicas "
                "of the deployment, or spec.scaling"
            )
    spec = manifest.get("spec")
    if manifest["kind"] == "VerticalPodAutoscaler" and isinstance(spec, dict):
        policy = spec.get("updatePolicy")
        # Without a mode it is Recreate (kubernetes/autoscaler, vertical-pod-autoscaler/docs/quickstart.md).
        mode = policy.get("updateMode") if isinstance(policy, dict) else None
        if mode != "Off" and _is_workload(spec.get("targetRef"), request):
            yield (
                f"changes what pods of the workload {request.workload} ask for, which the plan says; set "
                'spec.updatePolicy.updateMode to "Off", so that it only recommends'
            )


def _is_workload(target: Any, request: Request) -> bool:
    """Return whether a reference is to the workload. That of a KEDA ScaledObject needs no kind."""
    if not isinstance(target, dict) or target.get("name") != request.workload:
        return False
    kind = target.get("kind") or "Deployment"
    return isinstance(kind, str) and kind.lower() == "deployment"


def parts(value: Any, at: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield every value in an object with its place, the object itself first."""
    yield at, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from parts(inner, (*at, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from parts(inner, (*at, place))


def _maps(manifest: dict[str, Any]) -> Iterator[tuple[Steps, dict[str, Any]]]:
    return ((at, value) for at, value in parts(manifest) if isinstance(value, dict))
