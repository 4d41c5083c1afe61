"""Which accelerators pods of a role ask for: of which extended resource, and how many each pod has.

The resource is a condition on classes, so the plan never chooses between vendors, and gives no slice to
whoever asked for a whole device. It is what the engine's resources name in the template; else that of the
vendor whom `accelerator` names, whose driver the selector names, or whose labels the template asks nodes
for; else NVIDIA's. How many a pod has follows from the topology, and where the template names fewer than
`tensor`, which divide it, from that. What a document contradicts itself in is found here, before a plan and
wherever its replicas are.
"""

from collections.abc import Iterator, Mapping, Set
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.model_deployment import Accelerator, ModelDeployment, Role
from inferfleet.documents.kinds.workers import Position
from inferfleet.documents.pods.template import ENGINE, resource_amounts
from inferfleet.documents.problems import Problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing, path_of
from inferfleet.fleet.roles import (
    DECODE,
    path_of_role,
    path_of_selector,
    role_block,
    role_conditions,
    role_templates,
    roles_of,
    selector_of,
    workers_of,
)
from inferfleet.fleet.selectors.expressions import Source
from inferfleet.fleet.shapes import Shape, accelerator, shape
from inferfleet.tables.devices import (
    VENDOR_BY_DRIVER,
    VENDOR_BY_LABEL,
    VENDOR_BY_NAME,
    VENDORS,
    Vendor,
    VendorName,
    is_accelerator,
    vendor_of,
)


class DeviceRequest(NamedTuple):
    """What pods of a role ask for of accelerators, and of their vendors."""

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


class _NamedResource(NamedTuple):
    """An extended resource that a container of a template asks for."""

    resource: str
    amount: Decimal
    container: str
    position: Position
    path: str
    """Where the amount is written in the document."""

    @property
    def is_engine(self) -> bool:
        return self.container == ENGINE


def has_accelerators(deployment: ModelDeployment, role: str) -> bool:
    """Return whether pods of a role ask for accelerators."""
    return _declared(deployment, role)[0] != "None"


def device_request(deployment: ModelDeployment, role: str, device_resources: Set[str]) -> DeviceRequest:
    """Return what pods of a role ask for. A document that contradicts itself is read in one of its ways.

    `device_resources` are those by which pods ask for the accelerators of any class.
    """
    written = list(_named_resources(deployment, role, device_resources))
    others = {named.resource for named in written if not _is_device(named.resource, device_resources)}
    declared, _ = _declared(deployment, role)
    if declared == "None":
        return DeviceRequest(None, None, tuple(sorted(others)))
    of_engine = [named for named in written if named.is_engine and named.resource not in others]
    if of_engine:
        return DeviceRequest(of_engine[0].resource, int(of_engine[0].amount), tuple(sorted(others)))
    vendors = _selected_vendors(deployment, role) or _labelled_vendors(deployment, role)
    vendor: str = declared or (vendors[0] if vendors else "NVIDIA")
    return DeviceRequest(VENDOR_BY_NAME[vendor].resource, None, tuple(sorted(others)))


def worker_shape(documents: Documents, deployment: ModelDeployment, role: str, node_gpus: int) -> Shape:
    """Return the pods of a role's workers on nodes with so many GPUs. They need not fit there."""
    per_pod = device_request(deployment, role, documents.device_resources).per_pod
    return shape(workers_of(deployment, role).topology, node_gpus, per_pod)


def missing_resource(inference_class: InferenceClass, request: DeviceRequest) -> str | None:
    """Return the resource that nodes of the class do not have and pods ask for, or None.

    Where pods claim devices, no device plugin hands out what a template names.
    """
    spec, device = inference_class.spec, accelerator(inference_class)
    if request.resource is not None and (
        device is None or device.asked_as != request.resource or (request.named and spec.allocation == "DRA")
    ):
        return request.resource
    if not request.others:
        return None
    described = {device.driver for device in spec.all_devices if device.claim == "Synthetic"}
    return next((resource for resource in request.others if resource not in described), None)


def accelerator_in_words(inference_class: InferenceClass) -> str:
    """Return in words which accelerators nodes of the class have."""
    device = accelerator(inference_class)
    if device is None:
        return "no accelerator"
    if inference_class.spec.allocation == "DRA":
        vendor = VENDOR_BY_DRIVER.get(device.driver)
        return f"{vendor.name if vendor else device.driver} devices by DRA claims"
    return str(device.asked_as)


def _declared(deployment: ModelDeployment, role: str) -> tuple[Accelerator | None, str]:
    """Return what the document declares for a role, and where."""
    block = role_block(deployment, role)
    if isinstance(block, Role) and block.accelerator:
        return block.accelerator, f"{path_of_role(role)}.accelerator"
    return deployment.spec.accelerator, "spec.accelerator"


def _selected_vendors(deployment: ModelDeployment, role: str) -> tuple[VendorName, ...]:
    selector = selector_of(deployment, role)
    return _vendors_in(selector.cel) if selector else ()


def _labelled_vendors(deployment: ModelDeployment, role: str) -> tuple[VendorName, ...]:
    """Return the vendor that labels of nodes name which templates of a role ask for; none where two are."""
    vendors = {
        vendor.name
        for _, conditions in role_conditions(deployment, role)
        for label in conditions.wanted
        if (vendor := VENDOR_BY_LABEL.get(label) or vendor_of(label))
    }
    return tuple(vendors) if len(vendors) == 1 else ()


@lru_cache(maxsize=4096)
def _vendors_in(cel: str) -> tuple[VendorName, ...]:
    """Return the vendors whose drivers a selector asks for: by `==` or `in` with `device.driver`, or as an
    index of attributes or capacity, alone or before a '/'.

    A condition with a negation in it asks for none: what else it says is not worked out.
    """
    source = Source(cel)
    drivers: set[str] = set()
    for condition in source.conjuncts() if source.tokens else ():
        words = [token.text for token in condition.tokens]
        if "!" in words:
            continue
        for index, token in enumerate(condition.tokens):
            if token.kind == "text" and _is_driver(words, index):
                drivers.add(token.text.lstrip("bBrR").strip("'\"").partition("/")[0])
    return tuple(vendor.name for vendor in VENDORS if vendor.driver in drivers)


_DRIVER = ["device", ".", "driver"]


def _is_driver(words: list[str], index: int) -> bool:
    """Return whether the text at this place of a condition is the driver that it asks for."""
    if words[max(index - 4, 0) : index] == [*_DRIVER, "=="] or words[index + 1 : index + 5] == [
        "==",
        *_DRIVER,
    ]:
        return True
    # In a list, or an index, texts and commas alone are before it.
    while index and words[index][-1] in ",'\"":
        index -= 1
    if words[index] != "[":
        return False
    before = words[max(index - 4, 0) : index]
    return before == [*_DRIVER, "in"] or before[-1:] in (["attributes"], ["capacity"])


def _is_device(resource: str, device_resources: Set[str]) -> bool:
    return is_accelerator(resource) or resource in device_resources


def _named_resources(
    deployment: ModelDeployment, role: str, device_resources: Set[str]
) -> Iterator[_NamedResource]:
    """Yield the accelerators that templates of a role name, and what else of their vendors.

    Of limits and requests of a container that are the same, as the API server wants them, it is the limit.
    """
    for position, template_path, template in role_templates(deployment, role):
        seen = set()
        for container, resource, written, path in resource_amounts(template.spec):
            if not vendor_of(resource) and resource not in device_resources:
                continue
            amount = parse_quantity(written)
            if (container, resource, amount) not in seen:
                seen.add((container, resource, amount))
                yield _NamedResource(
                    resource, amount, container, position, f"{template_path}.{path_of(path)}"
                )


# What a document contradicts itself in.


def accelerator_problems(deployment: ModelDeployment, device_resources: Set[str]) -> Iterator[Problem]:
    """Yield errors and warnings about which accelerators pods of a deployment ask for, and how many."""
    key, several = deployment.metadata.key, set()
    for role in roles_of(deployment):
        written = [
            named
            for named in _named_resources(deployment, role, device_resources)
            if _is_device(named.resource, device_resources)
        ]
        for what, next_step, named in _contradictions(written, deployment, role):
            yield Problem(what, next_step, named.path, kind="ModelDeployment", key=key)
        engines = [named for named in written if named.is_engine]
        yield from _part_problems(deployment, role, engines)
        vendors = _selected_vendors(deployment, role)
        if len(vendors) < 2 or engines:
            continue
        declared, declared_at = _declared(deployment, role)
        path = path_of_selector(deployment, role)
        if declared is None and path not in several:
            several.add(path)
            yield Problem(
                f"nodeSelector names {' and '.join(vendors)}, and pods ask for accelerators of one vendor",
                f"Write {declared_at.removeprefix('spec.')}: {' or '.join(vendors)}",
                path,
                kind="ModelDeployment",
                key=key,
            )


def _part_problems(
    deployment: ModelDeployment, role: str, engines: list[_NamedResource]
) -> Iterator[Problem]:
    """Yield warnings for pods that have parts of accelerators as if they were whole ones, and for workers of
    which some pods name accelerators and others do not.
    """
    for named in engines:
        vendor = vendor_of(named.resource)
        if (
            named.amount > 1
            and vendor
            and named.resource != vendor.resource
            and is_accelerator(named.resource)
        ):
            yield Problem(
                f"the engine asks for {named.amount} {named.resource}, and one process uses one part of an "
                "accelerator",
                "Write tensor: 1 and more replicas, or ask for whole accelerators",
                named.path,
                kind="ModelDeployment",
                key=deployment.metadata.key,
                severity="warning",
            )
    positions = {named.position for named in engines}
    workers = workers_of(deployment, role)
    if len(positions) == 1 and workers.entry and workers.follower:
        (position,) = positions
        yield Problem(
            f"the {position.lower()} names {engines[0].amount} {engines[0].resource}, and the other pods "
            "of its worker name none: all of them get so many",
            "Name it in both, or give pods without accelerators a role of their own (accelerator: None)",
            engines[0].path,
            kind="ModelDeployment",
            key=deployment.metadata.key,
            severity="warning",
        )


_Found = tuple[str, str, _NamedResource]  # what is wrong, the next step, and with what


def _contradictions(
    written: list[_NamedResource], deployment: ModelDeployment, role: str
) -> Iterator[_Found]:
    declared, declared_at = _declared(deployment, role)
    first = next((named for named in written if named.is_engine), None)
    for named in written:
        amount, vendor = f"{named.amount} {named.resource}", vendor_of(named.resource)
        if declared == "None":
            yield (
                f"container {named.container!r} asks for {amount}, but {declared_at} is None, which places "
                "the pods on nodes without any",
                _step_with_none(declared_at, vendor, role),
                named,
            )
        elif first is None or not named.is_engine:
            yield (
                f"container {named.container!r} asks for {amount}, and only the engine gets accelerators, "
                "those of its topology",
                "Remove it, or let the engine ask for it",
                named,
            )
        elif declared and vendor and vendor.name != declared:
            whole = VENDOR_BY_NAME[declared].resource
            yield (
                f"the engine asks for {amount}, but {declared_at} is {declared} ({whole})",
                f"Write {declared_at.removeprefix('spec.')}: {vendor.name}, or the resource of {declared}",
                named,
            )
        elif (named.resource, named.amount) != (first.resource, first.amount):
            where = "" if named.position == first.position else f" in the {first.position.lower()}"
            yield (
                f"the engine asks for {amount}, and for {first.amount} {first.resource}{where}; pods of a "
                "role have accelerators of one kind, and the same number of them",
                f"Keep one of the two, {first.amount} {first.resource} or {amount}",
                named,
            )
        else:
            yield from _unlike_topology(named, deployment, role)


def _step_with_none(declared_at: str, vendor: Vendor | None, role: str) -> str:
    at = f"{path_of_role(role)}.accelerator"
    if vendor is None or role == DECODE or declared_at == at:
        return f"Remove it, or {declared_at}"
    return f"Write {at.removeprefix('spec.')}: {vendor.name}, or remove it"


def _unlike_topology(named: _NamedResource, deployment: ModelDeployment, role: str) -> Iterator[_Found]:
    workers = workers_of(deployment, role)
    topology = workers.topology
    wanted, tensor = topology.gpus_per_pod, topology.tensor
    if named.amount == wanted:
        return
    spreads = 0 < named.amount < tensor and named.amount % 1 == 0 and tensor % named.amount == 0
    if topology.data_local > 1 or not spreads:
        divisors = [str(number) for number in range(1, tensor) if tensor % number == 0]
        fewer = f", or {' or '.join(divisors[-3:])} to spread tensor over pods" if divisors else ""
        yield (
            f"the engine asks for {named.amount} {named.resource}, but tensor x dataLocal of its topology is "
            f"{wanted} per pod",
            f"Write {wanted}{fewer if topology.data_local == 1 else ''}, or change the topology",
            named,
        )
    elif workers.of("Follower") is None:
        yield (
            f"a group of {tensor} GPUs (tensor) takes {tensor // named.amount} pods of {named.amount} "
            f"{named.resource}, and workers have a template for their entry alone",
            "Write follower.template, or template for all pods",
            named,
        )


def path_of_resource(deployment: ModelDeployment, role: str, resource: str) -> str:
    """Return where the document says that pods of a role ask for a resource, or could say another one."""
    every = _named_resources(deployment, role, {resource})
    first = next((named for named in every if named.resource == resource), None)
    return first.path if first else _declared(deployment, role)[1]


def nowhere_problems(
    deployment: ModelDeployment, requests: Mapping[str, DeviceRequest], candidates: list[InferenceClass]
) -> Iterator[Problem]:
    """Yield roles that ask for what none of the classes has, of which at least one has accelerators.

    `requests` are by role, and `candidates` the classes of the clusters that are selected.
    """
    for role, request in requests.items():
        if (
            request.resource is None
            or any(missing_resource(candidate, request) is None for candidate in candidates)
            or not any(map(accelerator, candidates))
        ):
            continue
        missing = [str(missing_resource(candidate, request)) for candidate in candidates]
        resource = next((each for each in missing if each != request.resource), request.resource)
        there = "; ".join(
            f"{candidate.metadata.name} has {accelerator_in_words(candidate)}" for candidate in candidates
        )
        yield Problem(
            f"pods{'' if len(requests) == 1 else f' of role {role}'} ask for {resource}, and no "
            f"class of the clusters that clusterSelector matches has it ({there})",
            _step_without(resource, request, candidates),
            path_of_resource(deployment, role, resource),
            kind="ModelDeployment",
            key=deployment.metadata.key,
        )


def _step_without(resource: str, request: DeviceRequest, candidates: list[InferenceClass]) -> str:
    if resource in request.others:
        return (
            "If nodes have it, describe it in their class as a device with claim: Synthetic and driver: "
            f"{resource}"
        )
    unnamed = request._replace(per_pod=None)
    claimed = [
        candidate.metadata.name for candidate in candidates if missing_resource(candidate, unnamed) is None
    ]
    if request.named and claimed:
        return (
            f"Leave it out of the template, and pods claim devices of class {claimed[0]}; or add a pool "
            "whose class has allocation DevicePlugin"
        )
    parts = [
        f"{device.resource}, which class {candidate.metadata.name} has"
        for candidate in candidates
        if (device := accelerator(candidate))
        and device.resource
        and vendor_of(device.resource) == vendor_of(resource)
    ]
    if request.named and parts:
        return f"Ask for {parts[0]}; or, if nodes have it, write resource: {resource} at a class's device"
    if request.named:
        return f"If nodes have it, write resource: {resource} at the device of their class"
    devices = [device for candidate in candidates if (device := accelerator(candidate))]
    drivers = {device.driver for device in devices if not device.resource}
    resources = sorted({device.resource for device in devices if device.resource})
    named = [f"accelerator: {vendor.name}" for vendor in VENDORS if vendor.driver in drivers]
    named += [f"{listing(resources)} in the resources of the engine"] if resources else []
    return f"Write {' or '.join(named)}, or add a pool that has it"
