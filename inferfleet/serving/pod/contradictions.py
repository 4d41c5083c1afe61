"""What a pod contradicts of where it was placed: by what a team wrote, and by what plugins made of it.

The same rules are for both, so that neither may do what the other may not, and an equal value contradicts
nothing. They see a spec whose types are right. Labels cannot contradict: documents must not set labels of the
domains that are generated, and plugins must not change them.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from inferfleet.documents.pods.diff import place
from inferfleet.documents.pods.plain import packed
from inferfleet.documents.pods.template import engine_container, packed_mistakes, template_mistakes
from inferfleet.documents.problems import Mistake, Problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet.names import LWS
from inferfleet.fleet.roles import path_of_image
from inferfleet.fleet.shapes import has_accelerators, requests
from inferfleet.serving.pod.disaggregated.check import proxy_mistakes, proxy_problems
from inferfleet.serving.pod.hardware import Hardware, generated_claims
from inferfleet.serving.pod.node_affinity import REQUIRED, excluded
from inferfleet.serving.pod.parts import Contradiction, Spec, containers, is_engine
from inferfleet.serving.pod.stand import Stand
from inferfleet.tables.devices import ACCELERATOR_DOMAINS, RESOURCE_BY_DRIVER, SLICES

# What lets pods have devices again.
_WITHOUT = "accelerator: None of the deployment"
_HARDWARE = "Remove it, and say by spec.nodeSelector or spec.clusterSelector which hardware you mean"


def document_contradictions(stand: Stand) -> Iterator[Problem]:
    """Yield every contradiction in what the team wrote, with both values."""
    metadata = stand.written.metadata
    written = {"metadata": {"labels": metadata.labels, "annotations": metadata.annotations}}
    yield from _no_image(stand)
    yield from proxy_problems(stand)
    found: tuple[Mistake | Contradiction, ...] = (
        *_of_controller(written, stand),
        *_of_hardware(stand.written.spec, stand),
    )
    for wrong in found:
        yield Problem(
            wrong.what,
            wrong.next_step,
            stand.field(wrong.at),
            kind="ModelDeployment",
            key=stand.deployment.metadata.key,
        )


def template_check(stand: Stand) -> Callable[[dict[str, Any]], Iterator[Mistake]]:
    """Return the function that yields what an edited template contradicts.

    These are the checks of `document_contradictions`. Places are as those of a difference, with containers by
    name.
    """

    def check(template: dict[str, Any]) -> Iterator[Mistake]:
        found: tuple[Mistake | Contradiction, ...] = (
            *_of_hardware(template["spec"], stand),
            *_of_controller(template, stand),
            *proxy_mistakes(template, stand),
        )
        for wrong in found:
            yield Mistake(wrong.what, wrong.next_step, (place(template, wrong.at),))

    return check


def _no_image(stand: Stand) -> Iterator[Problem]:
    """Yield an engine for which neither its template nor its cluster names an image."""
    if stand.image or "image" in stand.written.engine:
        return
    cluster, kind = stand.spot.cluster, stand.engine.type
    yield Problem(
        f"the engine has no image, and serving.images.engine of cluster {cluster} has none for {kind}",
        f"Write engine.image, or serving: {{images: {{engine: {{{kind}: <image>}}}}}} in the cluster, or "
        "leave it out by clusterSelector",
        path_of_image(stand.deployment, stand.role),
        kind="ModelDeployment",
        key=stand.deployment.metadata.key,
    )


def _of_hardware(spec: Spec, stand: Stand) -> Iterator[Contradiction]:
    pool, cluster = stand.spot.pool(stand.role), stand.spot.cluster
    yield from _devices(spec, stand.hardware, pool, cluster)
    yield from _foreign_claims(spec, stand.hardware)
    yield from _node(spec, stand.hardware, f"pool {pool} of cluster {cluster}")


def _devices(spec: Spec, hardware: Hardware, pool: str, cluster: str) -> Iterator[Contradiction]:
    for at, container in containers(spec):
        resources = container.get("resources", {})
        for kind in ("limits", "requests"):
            for resource, amount in resources.get(kind, {}).items():
                counted = hardware.allocation == "DevicePlugin" and resource == hardware.resource
                own = counted and is_engine(at, container)
                if against := (
                    _of_topology(amount, hardware) if own else _of_others(resource, hardware, pool, cluster)
                ):
                    who = "the engine" if own else f"container {container['name']!r}"
                    here = (*at, "resources", kind, resource)
                    yield Contradiction(here, f"{who} asks for {amount} {resource}", *against)


# What a resource contradicts, and the next step.
_Against = tuple[str, str] | None


def _of_topology(amount: Any, hardware: Hardware) -> _Against:
    if _number(amount) == hardware.gpus:
        return None
    return (
        f"tensor x dataLocal of its topology is {hardware.gpus} per pod",
        "Remove it: inferfleet asks for the devices of the topology",
    )


def _of_others(resource: str, hardware: Hardware, pool: str, cluster: str) -> _Against:
    accelerator = resource in RESOURCE_BY_DRIVER.values()
    # Of a vendor of accelerators, and not described by the class.
    unknown = resource.partition("/")[0] in ACCELERATOR_DOMAINS and resource not in hardware.others
    if not accelerator and not unknown:
        return None
    if hardware.resource is None:
        return f"{_WITHOUT} places it on nodes without any", f"Remove it, or remove {_WITHOUT}"
    if hardware.allocation == "DRA":
        return (
            f"pool {pool} of cluster {cluster} gives GPUs by DRA claims, and has no {resource}",
            "Remove it: inferfleet claims the devices of the topology",
        )
    if accelerator:
        return (
            f"the pod was placed on cluster {cluster} for the {hardware.gpus} {hardware.resource} of its "
            "engine alone",
            "Remove it: only the engine gets devices, those of the topology",
        )
    has = f"pool {pool} of cluster {cluster} has {' and '.join(hardware.offered)} alone"
    if resource.startswith(SLICES):
        return has, "Remove it: slices and shares of accelerators are not offered"
    return (
        has,
        "Remove it; if the nodes do have it, describe it in the class as a device with claim: Synthetic and "
        f"driver: {resource}",
    )


def _number(amount: Any) -> Decimal | None:
    try:
        return parse_quantity(str(amount))
    except ValueError:
        return None


def _foreign_claims(spec: Spec, hardware: Hardware) -> Iterator[Contradiction]:
    """Yield claims that a team or a plugin wrote, whatever they are for.

    What one takes stands in an object on the cluster that may be another tomorrow. The plan would count
    places for pods that no node has devices for, and a claim that is named directly binds all replicas to the
    node that it was given.
    """
    ours = generated_claims(hardware)
    if any(claim not in ours for claim in spec.get("resourceClaims", [])):
        by = (
            "claims of the topology"
            if hardware.allocation == "DRA"
            else hardware.resource or "cores and memory"
        )
        yield Contradiction(
            ("spec", "resourceClaims"),
            "the pod claims devices of its own",
            f"replicas are placed by {by}, and the plan does not see what a claim takes",
            "Remove it: the engine gets the devices of its topology"
            if hardware.resource
            else f"Remove it, or remove {_WITHOUT}",
        )


def _node(spec: Spec, hardware: Hardware, pool: str) -> Iterator[Contradiction]:
    for key, value in spec.get("nodeSelector", {}).items():
        ours = hardware.node_labels.get(key, (value,))
        if value not in ours:
            yield Contradiction(
                ("spec", "nodeSelector", key),
                f"it is {value!r}",
                f"{pool}, where it was placed, has {' and '.join(map(repr, ours))}",
                _HARDWARE,
            )
    if requirement := excluded(spec, hardware.node_labels):
        yield Contradiction(REQUIRED, f"it requires {requirement}", f"it was placed on {pool}", _HARDWARE)
    if spec.get("nodeName"):
        yield Contradiction(
            ("spec", "nodeName"),
            f"it pins every replica to node {spec['nodeName']!r}",
            "inferfleet places replicas by pool",
            _HARDWARE,
        )


def _of_controller(template: Mapping[str, Any], stand: Stand) -> Iterator[Mistake]:
    """Yield labels and annotations by which the controller of LeaderWorkerSets knows pods of its groups.

    A group's number or key that a pod already has stays (pkg/webhooks/pod_webhook.go), so that pods of
    several groups would count as one, and `exclusive-topology` takes nodes that the plan gives to others.
    """
    if stand.shape.pods == 1:
        return
    for kind in ("labels", "annotations"):
        for key in template.get("metadata", {}).get(kind, {}):
            if key.startswith(LWS):
                yield Mistake(
                    f"the {kind[:-1]} {key} is one that the controller of LeaderWorkerSets sets on pods of "
                    f"workers, and these workers have {stand.shape.pods} pods",
                    "Remove it, or use a prefix of your own",
                    ("metadata", kind, key),
                )


def template_problems(template: dict[str, Any], stand: Stand) -> Iterator[Problem]:
    """Yield what is wrong with types, names and mounts of a generated template.

    What the team wrote was checked before: this is about what was added to it, and so is seldom anything.
    """
    try:
        mistakes = packed_mistakes(packed(template))
    except ValueError:  # a value that is none of JSON, such as a date
        mistakes = tuple(template_mistakes(template))
    for mistake in mistakes:
        steps = [step for step in mistake.at if isinstance(step, str)]
        yield Problem(
            mistake.what.replace("{field}", steps[-1] if steps else "it"),
            mistake.next_step,
            stand.field(mistake.at),
            kind="ModelDeployment",
            key=stand.deployment.metadata.key,
        )


def without_requests(template: Mapping[str, Any], stand: Stand) -> Iterator[Problem]:
    """Yield a warning for a pod without accelerators whose template requests neither cores nor memory."""
    spec = template["spec"]
    if has_accelerators(stand.deployment) or requests(spec, "cpu") or requests(spec, "memory"):
        return
    place, _ = engine_container(stand.written.spec)
    yield Problem(
        "the pods have accelerator: None and request neither cpu nor memory, so the plan puts as many on a "
        "node as it may run",
        "Write resources.requests with cpu and memory",
        stand.field(("spec", "containers", place, "resources")),
        kind="ModelDeployment",
        key=stand.deployment.metadata.key,
        severity="warning",
    )
