"""The pods of every role of a placement: written by the team, generated, and edited by chains of plugins.

Every link of the chains of a stack is bound to its plugin once, however many pods it acts on. A role has one
template, or two where its workers have many pods: that of entries and that of followers. Each is checked,
generated and goes through the chain by itself, because plugins may be for one of the two.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from inferfleet.cloud.values import CloudPool
from inferfleet.desired.own_buckets import cache_on
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import positions_of
from inferfleet.documents.pods.gcsfuse import with_annotations
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing
from inferfleet.fleet import names
from inferfleet.fleet.accelerators import worker_shape
from inferfleet.fleet.adapters import adapter_caches
from inferfleet.fleet.node_conditions import Labels, known_labels
from inferfleet.fleet.roles import (
    DECODE,
    balance,
    cache_of,
    connector,
    hands_over,
    image_of,
    listening_port,
    path_of_role,
    roles_of,
    workers_of,
)
from inferfleet.fleet.shapes import Shape, accelerator, node
from inferfleet.fleet.spot import Spot
from inferfleet.plugins import chain
from inferfleet.plugins.chain import LinkEffect, LinkProblem
from inferfleet.plugins.companions import add
from inferfleet.plugins.contract import (
    ClassFacts,
    ClusterFacts,
    Companion,
    DeploymentFacts,
    DeviceFacts,
    PluginError,
    PodTemplate,
    PoolFacts,
    Request,
    TaintFacts,
)
from inferfleet.plugins.link import BoundLink, Link, Origin, bind
from inferfleet.plugins.link import links as links_of
from inferfleet.plugins.registry import Registry
from inferfleet.serving.claims import Claims, claims
from inferfleet.serving.pod.check import (
    changing_image_problems,
    document_problems,
    missing_request_problems,
    other_port_problems,
    own_command_problems,
    template_check,
    template_problems,
)
from inferfleet.serving.pod.hardware import Hardware, hardware
from inferfleet.serving.pod.template import PlacedPod, pod_template, restrained
from inferfleet.tables.devices import NVIDIA_DRIVERS

_KINDS: Mapping[Origin, str] = {
    "class": "InferenceClass",
    "cluster": "InferenceCluster",
    "stack": "Settings",
    "deployment": "ModelDeployment",
}


@dataclass(frozen=True)
class Chains:
    """The links of every chain that can run, by origin and by name of the document, and why others cannot."""

    links: Mapping[tuple[Origin, str], tuple[BoundLink, ...]]
    problems: tuple[Problem, ...]
    stack: str

    def of(self, spot: Spot, *, class_name: str) -> tuple[BoundLink, ...]:
        """Return every link that may act on pods of the spot on nodes of the class."""
        return (
            *self.links["class", class_name],
            *self.links["cluster", spot.cluster],
            *self.links["stack", self.stack],
            *self.links["deployment", spot.deployment],
        )


def chains(documents: Documents, registry: Registry) -> Chains:
    """Return all chains, also those that act on no pod today, with every problem that needs no pod."""
    stack = documents.settings.stack
    links_by_origin: dict[tuple[Origin, str], tuple[PluginSpec, ...]] = {
        ("stack", stack): documents.settings.plugins,
        **{("class", name): document.spec.plugins for name, document in documents.classes.items()},
        **{("cluster", name): document.spec.plugins for name, document in documents.clusters.items()},
        **{("deployment", key): document.spec.plugins for key, document in documents.deployments.items()},
    }
    links = {}
    problems = [*registry.unusable.values(), *registry.remarks]
    roles = {key: roles_of(deployment) for key, deployment in documents.deployments.items()}
    every = tuple(sorted({DECODE, *(role for of_deployment in roles.values() for role in of_deployment)}))
    for (origin, key), specs in links_by_origin.items():
        path = "plugins" if origin == "stack" else "spec.plugins"
        chain = links_of(specs, origin, kind=_KINDS[origin], key=key, path=path, where=documents.where)
        sound = [link for link in chain if (link.kind, link.key, link.path) not in documents.broken_links]
        links[origin, key], wrong = bind(
            sound, registry, roles=roles[key] if origin == "deployment" else every
        )
        problems += wrong
        problems += _idle_link_problems(documents, [bound.link for bound in links[origin, key]])
    return Chains(links, tuple(problems), stack)


def _idle_link_problems(documents: Documents, links: Iterable[Link]) -> Iterator[Problem]:
    """Yield a warning for each link whose scope no pod of the stack is in: of followers, where none of the
    workers has any on nodes of the stack. Chains of classes are for stacks that have others.
    """
    for link in links:
        if link.origin == "class" or not documents.deployments:
            continue
        whose = [link.key] if link.origin == "deployment" else sorted(documents.deployments)
        roles = {role for key in whose for role in roles_of(documents.deployments[key])}
        if any(link.in_scope(role, "Entry") for role in roles):
            continue
        if any(
            link.in_scope(role, "Worker") and _has_followers(documents, key, role)
            for key in whose
            for role in roles_of(documents.deployments[key])
        ):
            continue
        whose_role = f"role {listing(link.spec.scope.roles)}" if link.spec.scope.roles else "any role"
        in_words = f"deployment {link.key}" if link.origin == "deployment" else "deployments of the stack"
        yield replace(
            link.problem(
                f"scope of plugin {link.spec.name} is target Worker, the followers of workers of several "
                f"pods, and workers of {whose_role} of {in_words} have one pod: the plugin does nothing",
                "Write target: All or Entry, or remove the plugin",
                field="scope.target",
            ),
            severity="warning",
        )


def _has_followers(documents: Documents, key: str, role: str) -> bool:
    """Return whether workers of the role have several pods, on the nodes of some pool of the stack."""
    deployment = documents.deployments[key]
    used = {pool.class_name for cluster in documents.clusters.values() for pool in cluster.spec.node_pools}
    devices = [accelerator(document) for name, document in documents.classes.items() if name in used]
    sizes = {device.count for device in devices if device}
    sizes.add(workers_of(deployment, role).topology.gpus_per_pod)
    return any(worker_shape(documents, deployment, role, size).pods > 1 for size in sizes)


@dataclass(frozen=True)
class Pods:
    """The pods in one position of a role of a placement: as generated, and after the chain of `links`."""

    placed: PlacedPod
    """Where they are, and what they are of."""
    generated: PodTemplate
    outcome: chain.Outcome
    """What the chain made of the generated template."""
    autoscaled: bool
    """Whether their nodes come and go by an autoscaler."""
    request: Request
    """What the links were told of them."""
    links: tuple[BoundLink, ...]
    claims: Claims = field(default_factory=Claims)
    """The claims of the pods of the role, with their objects."""

    @property
    def spot(self) -> Spot:
        return self.placed.spot

    @property
    def role(self) -> str:
        return self.placed.role

    def link_of(self, effect: LinkEffect) -> Link:
        """Return the link of the chain that an effect is of."""
        place = effect.origin, effect.path
        return next(bound.link for bound in self.links if (bound.link.origin, bound.link.path) == place)

    def link_at(self, place: str) -> Link | None:
        """Return the link that changed a place of the template last, if any did."""
        effect = self.outcome.changed_by(place)
        return self.link_of(effect) if effect else None

    def brings(self, kind: str) -> bool:
        """Return whether a plugin adds an object of the kind beside the workload of these pods."""
        return any(companion.manifest["kind"] == kind for companion in self.outcome.companions)


class SpotPods(NamedTuple):
    """The pods of every role of a spot, those of its entries before those of its followers."""

    pods: tuple[Pods, ...]
    problems: tuple[Problem, ...]
    link_problems: tuple[LinkProblem, ...]
    """What plugins did wrong."""


@dataclass(frozen=True)
class Role:
    """The pods of one role of a placement. There are `followers` where its workers have many pods."""

    entries: Pods
    followers: Pods | None = None

    @property
    def positions(self) -> tuple[Pods, ...]:
        """Return the entries, and the followers if there are any."""
        return (self.entries, self.followers) if self.followers else (self.entries,)

    @property
    def companions(self) -> tuple[Companion, ...]:
        """Return the objects that plugins add beside the workload; what both positions ask for is one."""
        added = [companion for pods in self.positions for companion in pods.outcome.companions]
        return tuple(companion for index, companion in enumerate(added) if companion not in added[:index])

    @property
    def provenance(self) -> str:
        """Return which plugins shaped the pods, those of followers alone behind those of entries."""
        texts = [pods.outcome.provenance for pods in self.positions]
        return ",".join(dict.fromkeys(entry for text in texts if text for entry in text.split(",")))


def by_role(every: Iterable[Pods]) -> Iterator[Role]:
    """Yield the pods of a spot by role, in the order of roles."""
    roles: dict[str, dict[str, Pods]] = {}
    for pods in every:
        roles.setdefault(pods.role, {})[pods.placed.position] = pods
    for positions in roles.values():
        yield Role(positions["Entry"], positions.get("Follower"))


@dataclass(frozen=True)
class _Place:
    """The pool of a role, its class and what that has of accelerators, what pods claim there, and, where the
    stack creates it, what it is in its cloud.
    """

    pool: NodePool
    inference_class: InferenceClass
    device: Device | None
    node_gpus: int
    claims: Claims
    labels: Labels
    """What documents and its cloud say of the labels of its nodes."""
    cloud: CloudPool | None


def spot_pods(
    documents: Documents, spot: Spot, chains: Chains, cloud: Mapping[str, CloudPool] | None
) -> SpotPods:
    """Return the pods of every role of the spot, their problems, and what plugins did wrong.

    `cloud` are the pools of the spot's cluster in its cloud, where the stack creates it.
    """
    link_problems: list[LinkProblem] = []
    every: list[Pods] = []
    problems: list[Problem] = []
    for role, pool_name in spot.pools:
        cluster = documents.clusters[spot.cluster]
        pool = cluster.spec.pool(pool_name)
        inference_class = documents.classes[pool.class_name]
        empty = node(inference_class)
        if empty is None:
            continue  # a problem of the plan
        deployment = documents.deployments[spot.deployment]
        worker = worker_shape(documents, deployment, role, empty.gpus)
        claimed = claims(
            deployment,
            spot,
            role,
            inference_class=inference_class,
            shape=worker,
            stack=documents.settings.stack,
        )
        problems += claimed.problems
        created = cloud.get(pool_name) if cloud else None
        device = accelerator(inference_class)
        labels = known_labels(cluster, pool, created.node_labels if created else {})
        place = _Place(pool, inference_class, device, empty.gpus, claimed, labels, created)
        positions = _role(documents, spot, role, place, chains, worker=worker)
        for position, of_position in positions:
            problems += [problem for problem in of_position if problem not in problems]
            link_problems += position.outcome.link_problems if position else ()
        sound = [position for position, _ in positions if position]
        if len(sound) == len(positions):
            problems += _clashing_companion_problems(*sound)
            every += sound
    return SpotPods(tuple(every), tuple(problems), tuple(link_problems))


# The pods of a position, None where they contradict their document, and their problems.
_Position = tuple[Pods | None, list[Problem]]


def _role(
    documents: Documents, spot: Spot, role: str, place: _Place, chains: Chains, *, worker: Shape
) -> list[_Position]:
    """Return the pods of each position of a role."""
    deployment = documents.deployments[spot.deployment]
    workers = workers_of(deployment, role)
    needs = _hardware(place, worker)
    if worker.pods > 1 and workers.of("Follower") is None:
        return [(None, [_no_follower(deployment, role, worker, place)])]
    serving = documents.clusters[spot.cluster].spec.serving
    nvidia = place.device is None or place.device.driver in NVIDIA_DRIVERS
    image = image_of(deployment, role, serving.images, nvidia=nvidia)
    cache = cache_of(documents, spot.deployment, role)
    of_adapters = adapter_caches(documents, spot.deployment)
    if cache:
        cache = cache_on(documents, cache, spot.cluster)
    return [
        _position(
            documents,
            PlacedPod(deployment, spot, role, position, worker, needs, image, serving, cache, of_adapters),
            place,
            chains,
        )
        for position in positions_of(worker.pods)
    ]


def _hardware(place: _Place, worker: Shape) -> Hardware:
    created, provisioning = place.cloud, place.inference_class.spec.provisioning
    recipe = provisioning.gke if provisioning else None
    return hardware(
        device=place.device,
        gpus=worker.gpus,
        pool=place.pool,
        label=created.name if created else None,
        taints=created.taints if created else (),
        devices=place.inference_class.spec.all_devices,
        labels=place.labels,
        allocation=place.inference_class.spec.allocation,
        claims=place.claims.pods,
        gpu_direct=recipe.networking.gpu_direct if recipe else "None",
    )


def _position(documents: Documents, placed: PlacedPod, place: _Place, chains: Chains) -> _Position:
    problems = list(document_problems(placed))
    refused = bool(problems)
    problems += changing_image_problems(placed)
    if refused:
        return None, problems
    generated = pod_template(placed)
    if mistakes := list(template_problems(generated, placed)):
        return None, problems + mistakes
    class_name = place.pool.class_name
    links = chains.of(placed.spot, class_name=class_name)
    request = _request(documents, placed, class_name=class_name, device=place.device, cloud=place.cloud)
    outcome = chain.run(generated, request, links, template_check(placed))
    problems += outcome.problems
    problems += missing_request_problems(outcome.template, placed)
    problems += (*own_command_problems(placed), *other_port_problems(placed))
    # Last, so that a plugin may give what is taken from pods that say nothing, and volumes of the driver.
    outcome = replace(outcome, template=with_annotations(restrained(outcome.template, generated)))
    generated = with_annotations(restrained(generated, generated))
    pods = Pods(placed, generated, outcome, place.pool.autoscaled, request, links, place.claims)
    return pods, problems


def _request(
    documents: Documents,
    placed: PlacedPod,
    *,
    class_name: str,
    device: Device | None,
    cloud: CloudPool | None,
) -> Request:
    """Return what plugins are told of pods; `cloud` is their pool, if the stack creates it."""
    spot, role = placed.spot, placed.role
    inference_class = documents.classes[class_name]
    return Request(
        stack=documents.settings.stack,
        deployment=_deployment_facts(placed),
        role=role,
        position="Entry" if placed.position == "Entry" else "Worker",
        workload=names.worker_set(spot, role) if placed.shape.pods > 1 else names.workload(spot, role),
        selector=MappingProxyType(names.workload_selector(spot, role)),
        node_class=ClassFacts(
            name=class_name,
            labels=MappingProxyType(dict(inference_class.metadata.labels)),
            devices=tuple(
                _device_facts(each, inference_class.spec.allocation)
                for each in inference_class.spec.all_devices
            ),
        ),
        accelerator=_device_facts(device, placed.hardware.allocation) if device else None,
        gpus=placed.hardware.gpus,
        cluster=_cluster_facts(documents.clusters[spot.cluster]),
        pool=_pool_facts(spot.pool(role), placed.hardware, cloud),
        group_size=placed.shape.pods,
    )


def _deployment_facts(placed: PlacedPod) -> DeploymentFacts:
    document, engine = placed.deployment, placed.worker.engine
    spec, workers = document.spec, workers_of(document, placed.role)
    topology = workers.topology
    return DeploymentFacts(
        namespace=document.metadata.namespace,
        name=document.metadata.name,
        labels=MappingProxyType(dict(document.metadata.labels)),
        replicas=spec.wanted,
        workers=workers.count,
        pods_per_worker=topology.pods_per_worker,
        tensor=topology.tensor,
        pipeline=topology.pipeline,
        balance=balance(document, placed.role),
        data=topology.data,
        data_local=topology.data_local,
        engine=engine.type,
        model=engine.model.loaded_from if engine.model else None,
        port=listening_port(document, placed.role),
        connector=connector(document) if hands_over(document, placed.role) else None,
    )


def _device_facts(device: Device, allocation: str) -> DeviceFacts:
    attributes = {
        name: next(value for _, value in attribute if value is not None)
        for name, attribute in device.attributes.items()
    }
    return DeviceFacts(
        name=device.name,
        driver=device.driver,
        count=device.count,
        resource=device.asked_as if allocation == "DevicePlugin" else None,
        attributes=MappingProxyType(attributes),
        capacity=MappingProxyType({name: amount.value for name, amount in device.capacity.items()}),
    )


def _cluster_facts(document: InferenceCluster) -> ClusterFacts:
    spec = document.spec
    return ClusterFacts(
        name=document.metadata.name,
        source=spec.cluster.source,
        state=spec.state,
        labels=MappingProxyType(dict(document.metadata.labels)),
        gateway=spec.serving.gateway.provider,
        profile=spec.serving.profile,
        version=spec.cluster.gke.min_version if spec.cluster.gke else None,
        kit_image=spec.serving.images.kit,
    )


def _pool_facts(name: str, needs: Hardware, cloud: CloudPool | None) -> PoolFacts:
    labels = {**(cloud.labels if cloud else {}), **needs.node_selector}
    return PoolFacts(
        name=name,
        node_labels=MappingProxyType(labels),
        taints=tuple(
            TaintFacts(key=taint.key, value=taint.value, effect=taint.effect) for taint in needs.taints
        ),
        zones=cloud.zones if cloud else (),
        fabric=cloud.fabric if cloud else None,
        networks=cloud.networks if cloud else (),
        claims_cards=bool(cloud and cloud.claims_cards),
    )


def _no_follower(deployment: ModelDeployment, role: str, worker: Shape, place: _Place) -> Problem:
    return Problem(
        f"on pool {place.pool.name}, whose nodes have {place.node_gpus} GPUs, a worker has "
        f"{worker.pods} pods, and only the entry has a template",
        "Write follower.template, or template for all pods",
        f"{path_of_role(role)}.workers.entry",
        kind="ModelDeployment",
        key=deployment.metadata.key,
    )


def _clashing_companion_problems(entries: Pods, followers: Pods | None = None) -> Iterator[Problem]:
    """Yield companions of one name that plugins make otherwise for followers than for entries."""
    if followers is None:
        return
    companions_so_far = entries.outcome.companions
    for effect in followers.outcome.effects:
        for companion in effect.companions:
            try:
                companions_so_far = add(companions_so_far, companion)
            except PluginError as error:
                what = f"plugin {effect.plugin} makes it otherwise for followers than for entries: {error}"
                next_step = "Give it the same contents for both, or limit scope.target to one"
                yield followers.link_of(effect).problem(what, next_step)
