"""Contradictions between a pod and what it was placed and is served by. An equal value is none.

The same rules are for what a team wrote and for what plugins made of it, so that neither may do what the
other may not. They see a spec whose types are right. Labels cannot contradict: documents must not set labels
of the domains that are generated, and plugins must not change them.
"""

from collections.abc import Container, Iterator
from decimal import Decimal
from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.manifests.pod.asked import asked
from inferfleet.manifests.pod.claimed import WITHOUT, foreign_claims
from inferfleet.manifests.pod.hardware import Hardware
from inferfleet.manifests.pod.node_affinity import REQUIRED, excluded
from inferfleet.manifests.pod.parts import Contradiction, Spec, containers, is_engine
from inferfleet.manifests.pod.starting import never_starts
from inferfleet.manifests.pod.template import PORT_NAME, SHM, SHM_PATH, is_port
from inferfleet.profiles.devices import ACCELERATOR_DOMAINS, RESOURCE_BY_DRIVER

# Largest progressDeadlineSeconds of a Deployment, an int32.
LONGEST_SECONDS = 2**31 - 1
# What is left of it beside two days, which is more than nodes, images and models take together.
LONGEST_GRACE = LONGEST_SECONDS - 2 * 86_400
_HARDWARE = "Remove it, and say by spec.nodeSelector or spec.clusterSelector which hardware you mean"


def contradictions(
    spec: Spec,
    *,
    port: int,
    field: str,
    hardware: Hardware,
    pool: str,
    cluster: str,
    proxied: Container[int] = (),
) -> Iterator[Contradiction]:
    """Yield every contradiction.

    `port` is the one on which the engine listens, by a `field` of the document; pool and cluster are where
    the pod was placed. Of ports of a routing proxy, `proxied`, nothing is said here.
    """
    yield from _ports(spec, port, field, proxied)
    yield from _devices(spec, hardware, pool, cluster)
    yield from foreign_claims(spec, hardware)
    yield from _node(spec, hardware, f"pool {pool} of cluster {cluster}")
    yield from _shared_memory(spec)
    yield from _drain(spec)
    yield from never_starts(spec)
    yield from asked(spec)


def _ports(spec: Spec, port: int, field: str, proxied: Container[int]) -> Iterator[Contradiction]:
    for at, container in containers(spec):
        serves = is_engine(at, container)
        for i, listed in enumerate(container.get("ports", [])):
            name, number = listed.get("name"), listed["containerPort"]
            if not serves and is_port(listed, port):
                yield Contradiction(
                    (*at, "ports", i),
                    f"container {container['name']!r} listens on {number}",
                    "that is the engine's port, and containers of a pod share one address",
                    f"Move it to another port, or set {field} to the one the engine really uses",
                )
            elif serves and name == PORT_NAME and not is_port(listed, port) and number not in proxied:
                yield Contradiction(
                    (*at, "ports", i),
                    f"the port named {PORT_NAME} is {number}",
                    f"the engine's port is {port}, and inferfleet gives it that name",
                    f"Set {field} to {number}, or name this port otherwise",
                )
            elif serves and is_port(listed, port) and name not in (None, PORT_NAME):
                yield Contradiction(
                    (*at, "ports", i),
                    f"port {port} is named {name!r}",
                    f"inferfleet names the engine's port {PORT_NAME}",
                    f"Name it {PORT_NAME}, or leave the name out",
                )


def _devices(spec: Spec, hardware: Hardware, pool: str, cluster: str) -> Iterator[Contradiction]:
    for at, container in containers(spec):
        resources = container.get("resources", {})
        for kind in ("limits", "requests"):
            for resource, amount in resources.get(kind, {}).items():
                here = (*at, "resources", kind, resource)
                if hardware.resource is None and _of_accelerators(resource, hardware):
                    yield Contradiction(
                        here,
                        f"container {container['name']!r} asks for {amount} {resource}",
                        f"{WITHOUT} places it on nodes without any",
                        f"Remove it, or remove {WITHOUT}",
                    )
                    continue
                if hardware.allocation == "DRA" and _of_accelerators(resource, hardware):
                    yield Contradiction(
                        here,
                        f"container {container['name']!r} asks for {amount} {resource}",
                        f"pool {pool} of cluster {cluster} gives GPUs by DRA claims, and has no {resource}",
                        "Remove it: inferfleet claims the devices of the topology",
                    )
                elif resource == hardware.resource and is_engine(at, container):
                    if _number(amount) != hardware.gpus:
                        yield Contradiction(
                            here,
                            f"the engine asks for {amount} {resource}",
                            f"tensor x dataLocal of its topology is {hardware.gpus} per pod",
                            "Remove it: inferfleet asks for the devices of the topology",
                        )
                elif resource in RESOURCE_BY_DRIVER.values():
                    yield Contradiction(
                        here,
                        f"container {container['name']!r} asks for {amount} {resource}",
                        f"the pod was placed on cluster {cluster} for the {hardware.gpus} "
                        f"{hardware.resource} of its engine alone",
                        "Remove it: only the engine gets devices, those of the topology",
                    )
                elif _of_accelerators(resource, hardware):
                    yield Contradiction(
                        here,
                        f"container {container['name']!r} asks for {amount} {resource}",
                        f"pool {pool} of cluster {cluster} has {' and '.join(hardware.offered)} alone",
                        "Remove it; if the nodes do have it, describe it in the class as a device with "
                        f"claim: Synthetic and driver: {resource}",
                    )


def _of_accelerators(resource: str, hardware: Hardware) -> bool:
    """Return whether a vendor of accelerators has the resource, and the class does not describe it."""
    return resource.partition("/")[0] in ACCELERATOR_DOMAINS and resource not in hardware.others


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


def _shared_memory(spec: Spec) -> Iterator[Contradiction]:
    _, engine = engine_container(spec)
    mounts = [mount for mount in engine.get("volumeMounts", []) if mount["mountPath"].rstrip("/") == SHM_PATH]
    for i, volume in enumerate(spec.get("volumes", [])):
        if volume["name"] == SHM and not mounts and volume.get("emptyDir", {}).get("medium") != "Memory":
            yield Contradiction(
                ("spec", "volumes", i),
                f"the volume {SHM} is {_kinds(volume)}",
                f"inferfleet mounts a memory volume of that name at {SHM_PATH}",
                f"Give it another name, or mount {SHM_PATH} in the engine yourself",
            )


def _drain(spec: Spec) -> Iterator[Contradiction]:
    grace = spec.get("terminationGracePeriodSeconds", 0)
    if grace > LONGEST_GRACE:
        yield Contradiction(
            ("spec", "terminationGracePeriodSeconds"),
            f"the pod may take {grace} seconds to end",
            f"an update waits for that, and Deployments count at most {LONGEST_SECONDS} seconds",
            "Write the seconds that requests need to end, such as 130",
        )


def _kinds(volume: dict[str, Any]) -> str:
    return " and ".join(sorted(set(volume) - {"name"})) or "of no kind"


def _number(amount: Any) -> Decimal | None:
    try:
        return parse_quantity(str(amount))
    except ValueError:
        return None
