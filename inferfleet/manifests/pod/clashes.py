"""Contradictions between a team's pod template and what serving needs. An equal value is none.

Labels cannot contradict: documents must not set labels of the domains that are generated.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.pods.resources import fractions
from inferfleet.api.pods.template import template_mistakes
from inferfleet.api.problems import Problem
from inferfleet.api.wording import below, path_of
from inferfleet.fleet.engine_args import port_of
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.pod.hardware import Hardware
from inferfleet.manifests.pod.template import PORT_NAME, SHM, SHM_PATH, is_port
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER

# Largest progressDeadlineSeconds of a Deployment, an int32.
LONGEST_SECONDS = 2**31 - 1
# What is left of it beside two days, which is more than nodes, images and models take together.
LONGEST_GRACE = LONGEST_SECONDS - 2 * 86_400
_TEMPLATE = "spec.workers.template"
# (path below the template, what the team wrote, what we generate, next step)
_Clash = tuple[str, str, str, str]


def clashes(*, deployment: ModelDeployment, spot: Spot, role: str, hardware: Hardware) -> Iterator[Problem]:
    """Yield every contradiction, with both values."""
    spec = deployment.spec.workers.template.spec
    for path, theirs, ours, next_step in (
        *_ports(spec, port_of(deployment.spec.engine)),
        *_devices(spec, hardware, spot),
        *_node(spec, hardware, f"pool {spot.pool(role)} of cluster {spot.cluster}"),
        *_shared_memory(spec),
        *_drain(spec),
    ):
        yield Problem(
            f"{theirs}, but {ours}",
            next_step,
            f"{_TEMPLATE}.{path}",
            kind="ModelDeployment",
            key=deployment.metadata.key,
        )


def refused(template: dict[str, Any], deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield what the API server would refuse of a generated template.

    What the team wrote was checked before: this is about what was added to it, and so is seldom anything.
    """
    for mistake in template_mistakes(template):
        steps = [step for step in mistake.at if isinstance(step, str)]
        yield Problem(
            mistake.what.replace("{field}", steps[-1] if steps else "it"),
            mistake.next_step,
            f"{_TEMPLATE}.{path_of(mistake.at)}",
            kind="ModelDeployment",
            key=deployment.metadata.key,
        )


def fractional_bytes(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield a warning for each amount of memory that is no whole number of bytes: `512m` is half a byte."""
    for path, container in _containers(deployment.spec.workers.template.spec):
        for part, resource, written in fractions(container.get("resources", {})):
            meant = f"{written.removesuffix('m')}Mi" if written.endswith("m") else "a whole number of bytes"
            yield Problem(
                f"container {container['name']}: {resource} {written} is no whole number of bytes",
                f"Write {meant}",
                below(f"{_TEMPLATE}.{path}.resources.{part}", resource),
                kind="ModelDeployment",
                key=deployment.metadata.key,
                severity="warning",
            )


def _ports(spec: dict[str, Any], port: int) -> Iterator[_Clash]:
    for path, container in _containers(spec):
        is_engine = container["name"] == ENGINE and path.startswith("spec.containers")
        for i, listed in enumerate(container.get("ports", [])):
            here = f"{path}.ports[{i}]"
            name, number = listed.get("name"), listed["containerPort"]
            if not is_engine and is_port(listed, port):
                yield (
                    here,
                    f"container {container['name']!r} listens on {number}",
                    "that is the engine's port, and containers of a pod share one address",
                    "Move it to another port, or set spec.engine.port to the one the engine really uses",
                )
            elif is_engine and name == PORT_NAME and not is_port(listed, port):
                yield (
                    here,
                    f"the port named {PORT_NAME} is {number}",
                    f"the engine's port is {port}, and inferfleet gives it that name",
                    f"Set spec.engine.port to {number}, or name this port otherwise",
                )
            elif is_engine and is_port(listed, port) and name not in (None, PORT_NAME):
                yield (
                    here,
                    f"port {port} is named {name!r}",
                    f"inferfleet names the engine's port {PORT_NAME}",
                    f"Name it {PORT_NAME}, or leave the name out",
                )


def _devices(spec: dict[str, Any], hardware: Hardware, spot: Spot) -> Iterator[_Clash]:
    for path, container in _containers(spec):
        is_engine = container["name"] == ENGINE and path.startswith("spec.containers")
        for kind in ("limits", "requests"):
            for resource, amount in container.get("resources", {}).get(kind, {}).items():
                here = below(f"{path}.resources.{kind}", resource)
                if is_engine and resource == hardware.resource:
                    if _number(amount) != hardware.gpus:
                        yield (
                            here,
                            f"the engine asks for {amount} {resource}",
                            f"tensor x dataLocal of its topology is {hardware.gpus} per pod",
                            "Remove it: inferfleet asks for the devices of the topology",
                        )
                elif resource in RESOURCE_BY_DRIVER.values():
                    yield (
                        here,
                        f"container {container['name']!r} asks for {amount} {resource}",
                        f"the pod was placed on cluster {spot.cluster} for the {hardware.gpus} "
                        f"{hardware.resource} of its engine alone",
                        "Remove it: only the engine gets devices, those of the topology",
                    )


def _node(spec: dict[str, Any], hardware: Hardware, pool: str) -> Iterator[_Clash]:
    for key, value in spec.get("nodeSelector", {}).items():
        ours = hardware.node_selector.get(key, value)
        if ours != value:
            yield (
                below("spec.nodeSelector", key),
                f"it is {value!r}",
                f"{pool}, where it was placed, has {ours!r}",
                "Remove it, and say by spec.nodeSelector or spec.clusterSelector which hardware you mean",
            )
    if spec.get("nodeName"):
        yield (
            "spec.nodeName",
            f"it pins every replica to node {spec['nodeName']!r}",
            "inferfleet places replicas by pool",
            "Remove it, and say by spec.nodeSelector or spec.clusterSelector which hardware you mean",
        )


def _shared_memory(spec: dict[str, Any]) -> Iterator[_Clash]:
    engine = next(container for container in spec["containers"] if container["name"] == ENGINE)
    if any(mount["mountPath"].rstrip("/") == SHM_PATH for mount in engine.get("volumeMounts", [])):
        return
    for i, volume in enumerate(spec.get("volumes", [])):
        if volume["name"] == SHM and volume.get("emptyDir", {}).get("medium") != "Memory":
            yield (
                f"spec.volumes[{i}]",
                f"the volume {SHM} is {_kinds(volume)}",
                f"inferfleet mounts a memory volume of that name at {SHM_PATH}",
                f"Give it another name, or mount {SHM_PATH} in the engine yourself",
            )


def _drain(spec: dict[str, Any]) -> Iterator[_Clash]:
    grace = spec.get("terminationGracePeriodSeconds", 0)
    if grace > LONGEST_GRACE:
        yield (
            "spec.terminationGracePeriodSeconds",
            f"the pod may take {grace} seconds to end",
            f"an update waits for that, and Deployments count at most {LONGEST_SECONDS} seconds",
            "Write the seconds that requests need to end, such as 130",
        )


def _containers(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(kind, [])):
            yield f"spec.{kind}[{i}]", container


def _kinds(volume: dict[str, Any]) -> str:
    return " and ".join(sorted(set(volume) - {"name"})) or "of no kind"


def _number(amount: Any) -> Decimal | None:
    try:
        return parse_quantity(str(amount))
    except ValueError:
        return None
