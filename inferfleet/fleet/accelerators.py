"""Which accelerators pods of a role ask for: of which extended resource, and how many each pod has.

The resource is a condition on classes, so the plan never chooses between vendors, and gives no slice to
whoever asked for a whole device. It is what the engine's resources name in the template; else that of the
vendor whom `accelerator` names, or whose driver the selector names; else NVIDIA's. How many a pod has follows
from the topology, and where the template names fewer than `tensor`, which divide it, from that. What a
document contradicts itself in is found here, before a plan and wherever its replicas are.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.model_deployment import Accelerator, ModelDeployment, Role
from inferfleet.documents.kinds.workers import POSITIONS, Position
from inferfleet.documents.pods.template import ENGINE
from inferfleet.documents.problems import Problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing, path_of
from inferfleet.fleet.roles import (
    path_of_role,
    path_of_selector,
    role_block,
    roles_of,
    selector_of,
    template_path,
    workers_of,
)
from inferfleet.fleet.selectors.expressions import Source
from inferfleet.fleet.shapes import Shape, accelerator, shape
from inferfleet.tables.devices import (
    ACCELERATOR_DOMAINS,
    RESOURCE_BY_DRIVER,
    VENDORS,
    Vendor,
    is_accelerator,
)

_WHOLE: Mapping[str, str] = {vendor: RESOURCE_BY_DRIVER[driver] for driver, vendor in VENDORS.items()}
_LISTS = ("initContainers", "containers")


class Asked(NamedTuple):
    """What pods of a role ask for."""

    resource: str | None
    """Extended resource of their accelerators; None for pods without any."""
    per_pod: int | None = None
    """How many of them the template names for a pod, None where it names none."""
    others: tuple[str, ...] = ()
    """What pods ask for besides of a vendor of accelerators, such as its network cards."""

    @property
    def named(self) -> bool:
        """Return whether the template itself names the resource, which a device plugin then hands out."""
        return self.per_pod is not None


class _Named(NamedTuple):
    """An extended resource that a container of a template asks for."""

    resource: str
    amount: Decimal
    container: str
    is_engine: bool
    position: Position
    path: str
    """Where the amount is written in the document."""


def has_accelerators(deployment: ModelDeployment, role: str) -> bool:
    """Return whether pods of a role ask for accelerators."""
    return _declared(deployment, role)[0] != "None"


def asked(documents: Documents, deployment: ModelDeployment, role: str) -> Asked:
    """Return what pods of a role ask for. A document that contradicts itself is read in one of its ways."""
    written = list(_named(documents, deployment, role))
    others = {one.resource for one in written if not _is_device(one.resource, documents)}
    declared, _ = _declared(deployment, role)
    if declared == "None":
        return Asked(None, None, tuple(sorted(others)))
    of_engine = [one for one in written if one.is_engine and one.resource not in others]
    if of_engine:
        return Asked(of_engine[0].resource, int(of_engine[0].amount), tuple(sorted(others)))
    vendors = _selected_vendors(deployment, role)
    vendor: str = declared or (vendors[0] if vendors else "NVIDIA")
    return Asked(_WHOLE[vendor], None, tuple(sorted(others)))


def worker_shape(documents: Documents, deployment: ModelDeployment, role: str, node_gpus: int) -> Shape:
    """Return the pods of a role's workers on nodes with so many GPUs. They need not fit there."""
    topology = workers_of(deployment, role).topology
    return shape(topology, node_gpus, asked(documents, deployment, role).per_pod)


def lacks(inference_class: InferenceClass, wanted: Asked) -> str | None:
    """Return the resource that nodes of the class do not have and pods ask for, or None.

    Where pods claim devices, no device plugin hands out what a template names.
    """
    spec, device = inference_class.spec, accelerator(inference_class)
    if wanted.resource is not None and (
        device is None or device.asked_as != wanted.resource or (wanted.named and spec.allocation == "DRA")
    ):
        return wanted.resource
    offered = {device.driver for device in spec.all_devices if device.claim == "Synthetic"}
    return next((resource for resource in wanted.others if resource not in offered), None)


def offers(inference_class: InferenceClass) -> str:
    """Return in words which accelerators nodes of the class have."""
    device = accelerator(inference_class)
    if device is None:
        return "no accelerator"
    if inference_class.spec.allocation == "DRA":
        return f"{VENDORS.get(device.driver, device.driver)} devices by DRA claims"
    return str(device.asked_as)


def _declared(deployment: ModelDeployment, role: str) -> tuple[Accelerator | None, str]:
    """Return what the document declares for a role, and where."""
    block = role_block(deployment, role)
    if isinstance(block, Role) and block.accelerator:
        return block.accelerator, f"{path_of_role(role)}.accelerator"
    return deployment.spec.accelerator, "spec.accelerator"


def _selected_vendors(deployment: ModelDeployment, role: str) -> tuple[Vendor, ...]:
    selector = selector_of(deployment, role)
    return _vendors_in(selector.cel) if selector else ()


@lru_cache(maxsize=4096)
def _vendors_in(cel: str) -> tuple[Vendor, ...]:
    """Return the vendors whose drivers the texts of a selector name, alone or before a '/'."""
    tokens = Source(cel).tokens
    signs = ["", *(token.text for token in tokens), ""]
    drivers = {
        token.text.lstrip("bBrR").strip("'\"").partition("/")[0]
        for index, token in enumerate(tokens)
        if token.kind == "text" and "!=" not in (signs[index], signs[index + 2])
    }
    return tuple(vendor for driver, vendor in VENDORS.items() if driver in drivers)


def _is_device(resource: str, documents: Documents) -> bool:
    return is_accelerator(resource) or resource in documents.device_resources


def _named(documents: Documents, deployment: ModelDeployment, role: str) -> Iterator[_Named]:
    """Yield the accelerators that templates of a role name, and what else of their vendors, each once for a
    container.
    """
    workers = workers_of(deployment, role)
    for position in POSITIONS if workers.entry else POSITIONS[:1]:
        template = workers.of(position)
        for part in _LISTS:
            for index, container in enumerate(template.spec.get(part, ()) if template else ()):
                is_engine = part == "containers" and container["name"] == ENGINE
                for resource, kind, amount in _amounts(container, documents):
                    path = path_of(("spec", part, index, "resources", kind, resource))
                    yield _Named(
                        resource,
                        amount,
                        container["name"],
                        is_engine,
                        position,
                        f"{template_path(deployment, role, position)}.{path}",
                    )


def _amounts(container: Mapping[str, Any], documents: Documents) -> Iterator[tuple[str, str, Decimal]]:
    """Yield what a container asks for of accelerators and of their vendors: resource, field and amount. Of
    limits and requests that are the same, as the API server wants them, it is the limit.
    """
    resources, seen = container.get("resources", {}), set()
    for field in ("limits", "requests"):
        for resource, written in resources.get(field, {}).items():
            of_vendor = resource.partition("/")[0] in ACCELERATOR_DOMAINS
            one = resource, parse_quantity(str(written))
            if (of_vendor or resource in documents.device_resources) and one not in seen:
                seen.add(one)
                yield resource, field, one[1]


# What a document contradicts itself in.


def accelerator_problems(documents: Documents, key: str) -> Iterator[Problem]:
    """Yield the errors of a deployment about which accelerators its pods ask for, and how many."""
    deployment, several = documents.deployments[key], set()
    for role in roles_of(deployment):
        written = [one for one in _named(documents, deployment, role) if _is_device(one.resource, documents)]
        declared, declared_at = _declared(deployment, role)
        for what, next_step, path in _contradictions(written, deployment, role):
            yield Problem(what, next_step, path, kind="ModelDeployment", key=key)
        vendors = _selected_vendors(deployment, role)
        path = path_of_selector(deployment, role)
        named = any(one.is_engine for one in written)
        if declared is None and not named and len(vendors) > 1 and path not in several:
            several.add(path)
            yield Problem(
                f"nodeSelector names {' and '.join(vendors)}, and pods ask for accelerators of one vendor",
                f"Write {declared_at.removeprefix('spec.')}: {' or '.join(vendors)}",
                path,
                kind="ModelDeployment",
                key=key,
            )


_Found = tuple[str, str, str]  # what is wrong, the next step, and where


def _contradictions(written: list[_Named], deployment: ModelDeployment, role: str) -> Iterator[_Found]:
    declared, declared_at = _declared(deployment, role)
    first = next((one for one in written if one.is_engine), None)
    for one in written:
        amount, vendor = f"{one.amount} {one.resource}", _vendor_of(one.resource)
        if declared == "None":
            yield (
                f"container {one.container!r} asks for {amount}, but {declared_at} is None, which places the "
                "pods on nodes without any",
                f"Remove it, or {declared_at}",
                one.path,
            )
        elif first is None or not one.is_engine:
            yield (
                f"container {one.container!r} asks for {amount}, and only the engine gets accelerators, "
                "those of its topology",
                "Remove it, or let the engine ask for it",
                one.path,
            )
        elif declared and vendor not in (None, declared):
            yield (
                f"the engine asks for {amount}, but {declared_at} is {declared} ({_WHOLE[declared]})",
                f"Write {declared_at.removeprefix('spec.')}: {vendor}, or the resource of {declared}",
                one.path,
            )
        elif (one.resource, one.amount) != (first.resource, first.amount):
            where = "" if one.position == first.position else f" in the {first.position.lower()}"
            yield (
                f"the engine asks for {amount}, and for {first.amount} {first.resource}{where}; pods of a "
                "role have accelerators of one kind, and the same number of them",
                f"Keep one of the two, {first.amount} {first.resource} or {amount}",
                one.path,
            )
        else:
            yield from _unlike_topology(one, deployment, role)


def _unlike_topology(one: _Named, deployment: ModelDeployment, role: str) -> Iterator[_Found]:
    workers = workers_of(deployment, role)
    topology = workers.topology
    wanted, tensor = topology.gpus_per_pod, topology.tensor
    if one.amount == wanted:
        return
    if topology.data_local > 1 or not 0 < one.amount < tensor or tensor % one.amount:
        divisors = [str(number) for number in range(1, tensor) if tensor % number == 0]
        fewer = f", or {' or '.join(divisors[-3:])} to spread tensor over pods" if divisors else ""
        yield (
            f"the engine asks for {one.amount} {one.resource}, but tensor x dataLocal of its topology is "
            f"{wanted} per pod",
            f"Write {wanted}{fewer if topology.data_local == 1 else ''}, or change the topology",
            one.path,
        )
    elif workers.of("Follower") is None:
        yield (
            f"a group of {tensor} GPUs (tensor) takes {tensor // one.amount} pods of {one.amount} "
            f"{one.resource}, and workers have a template for their entry alone",
            "Write follower.template, or template for all pods",
            one.path,
        )


def _vendor_of(resource: str) -> str | None:
    domain = resource.partition("/")[0]
    return next((vendor for vendor, whole in _WHOLE.items() if whole.partition("/")[0] == domain), None)


def path_of_resource(documents: Documents, deployment: ModelDeployment, role: str, resource: str) -> str:
    """Return where the document says that pods of a role ask for a resource, or could say another one."""
    named = (one.path for one in _named(documents, deployment, role) if one.resource == resource)
    return next(named, _declared(deployment, role)[1])


def nowhere_problems(documents: Documents, key: str, classes: Iterable[str]) -> Iterator[Problem]:
    """Yield roles that ask for what none of the classes has, of which at least one has accelerators.

    `classes` are those of the clusters that are selected.
    """
    deployment = documents.deployments[key]
    candidates = [documents.classes[name] for name in classes]
    if not any(map(accelerator, candidates)):
        return
    for role in roles_of(deployment):
        wanted = asked(documents, deployment, role)
        missing = [lacks(inference_class, wanted) for inference_class in candidates]
        if wanted.resource is None or not all(missing):
            continue
        resource = next((each for each in missing if each != wanted.resource), None) or wanted.resource
        there = "; ".join(f"{one.metadata.name} has {offers(one)}" for one in candidates)
        yield Problem(
            f"pods{'' if len(roles_of(deployment)) == 1 else f' of role {role}'} ask for {resource}, and no "
            f"class of the clusters that clusterSelector matches has it ({there})",
            _step_without(resource, wanted, candidates),
            path_of_resource(documents, deployment, role, resource),
            kind="ModelDeployment",
            key=key,
        )


def _step_without(resource: str, wanted: Asked, candidates: list[InferenceClass]) -> str:
    if resource in wanted.others:
        return (
            "If nodes have it, describe it in their class as a device with claim: Synthetic and driver: "
            f"{resource}"
        )
    claimed = [one.metadata.name for one in candidates if lacks(one, wanted._replace(per_pod=None)) is None]
    if wanted.named and claimed:
        return (
            f"Leave it out of the template, and pods claim devices of class {claimed[0]}; or add a pool "
            "whose class has allocation DevicePlugin"
        )
    if wanted.named:
        return f"If nodes have it, write resource: {resource} at the device of their class"
    devices = [device for one in candidates if (device := accelerator(one))]
    vendors = {VENDORS.get(device.driver) for device in devices if not device.resource}
    resources = sorted({device.resource for device in devices if device.resource})
    named = [f"accelerator: {vendor}" for vendor in VENDORS.values() if vendor in vendors]
    named += [f"{listing(resources)} in the resources of the engine"] if resources else []
    return f"Write {' or '.join(named)}, or add a pool that has it"
