"""Pod templates of a placement: checked for contradictions, generated, and edited by the plugin chain.

A role has one template, or two where its workers have many pods: that of entries and that of followers. Each
goes through the chain by itself, because plugins may be for one of the two.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from inferfleet.cloud.values import CloudPool
from inferfleet.desired.chains import Chains
from inferfleet.desired.request import request
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import Device, InferenceClass
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import Position, positions_of
from inferfleet.documents.problems import Problem
from inferfleet.fleet.roles import image_of, path_of_role, workers_of
from inferfleet.fleet.shapes import Shape, accelerator, node, shape
from inferfleet.fleet.spot import Spot
from inferfleet.plugins import chain
from inferfleet.plugins.chain import LinkProblem, Step
from inferfleet.plugins.companions import add
from inferfleet.plugins.contract import Companion, PluginError, PodTemplate, Request
from inferfleet.plugins.link import BoundLink, Link
from inferfleet.serving.claims import Claims, claims
from inferfleet.serving.pod.contradictions import (
    document_contradictions,
    template_check,
    template_problems,
    without_requests,
)
from inferfleet.serving.pod.disaggregated.check import changing_image
from inferfleet.serving.pod.hardware import Hardware, hardware
from inferfleet.serving.pod.risks import restrained
from inferfleet.serving.pod.stand import Stand
from inferfleet.serving.pod.template import pod_template
from inferfleet.tables.devices import NVIDIA_DRIVERS


@dataclass(frozen=True)
class Pods:
    """The pods in one position of a role of a placement: as generated, and after the chain of `links`.

    `request` is what the links were told of them, their position among it. `shape` is that of their workers.
    `claims` are those of the pods of the role, with their objects.
    """

    spot: Spot
    role: str
    generated: PodTemplate
    outcome: chain.Outcome
    autoscaled: bool
    request: Request
    links: tuple[BoundLink, ...]
    shape: Shape
    claims: Claims = field(default_factory=Claims)

    def link_of(self, step: Step) -> Link:
        """Return the link of the chain that a step is of."""
        place = step.origin, step.path
        return next(bound.link for bound in self.links if (bound.link.origin, bound.link.path) == place)

    def link_at(self, place: str) -> Link | None:
        """Return the link that changed a place of the template last, if any did."""
        step = self.outcome.changed_by(place)
        return self.link_of(step) if step else None

    @property
    def position(self) -> Position:
        """Return the position as documents have it: plugins call followers workers."""
        return "Entry" if self.request.position == "Entry" else "Follower"

    def brings(self, kind: str) -> bool:
        """Return whether a plugin adds an object of the kind beside the workload of these pods."""
        return any(companion.manifest["kind"] == kind for companion in self.outcome.companions)


# The pods of every role of a spot, those of its entries before those of its followers, their problems, and
# what plugins did wrong.
Made = tuple[tuple[Pods, ...], tuple[Problem, ...], tuple[LinkProblem, ...]]


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
        return tuple(companion for place, companion in enumerate(added) if companion not in added[:place])

    @property
    def provenance(self) -> str:
        """Return which plugins shaped the pods, those of followers alone behind those of entries."""
        texts = [pods.outcome.provenance for pods in self.positions]
        return ",".join(dict.fromkeys(entry for text in texts if text for entry in text.split(",")))


def by_role(made: Iterable[Pods]) -> Iterator[Role]:
    """Yield the pods of a spot by role, in the order of roles."""
    of_roles: dict[str, dict[str, Pods]] = {}
    for pods in made:
        of_roles.setdefault(pods.role, {})[pods.request.position] = pods
    for of_role in of_roles.values():
        yield Role(of_role["Entry"], of_role.get("Worker"))


def drain_seconds(every: Iterable[Pods]) -> int:
    """Return how long engines of these pods have for the requests in hand once they end, 0 without pods."""
    return max((pods.outcome.template["spec"]["terminationGracePeriodSeconds"] for pods in every), default=0)


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
    cloud: CloudPool | None


def pods(documents: Documents, spot: Spot, chains: Chains, cloud: Mapping[str, CloudPool] | None) -> Made:
    """Return the pods of every role of the spot, their problems, and what plugins did wrong.

    `cloud` are the pools of the spot's cluster in its cloud, where the stack creates it.
    """
    link_problems: list[LinkProblem] = []
    made: list[Pods] = []
    problems: list[Problem] = []
    for role, pool_name in spot.pools:
        pool = documents.clusters[spot.cluster].spec.pool(pool_name)
        inference_class = documents.classes[pool.class_name]
        empty = node(inference_class)
        if empty is None:
            continue  # a problem of the plan
        deployment = documents.deployments[spot.deployment]
        of_worker = shape(workers_of(deployment, role).topology, empty.gpus)
        claimed = claims(
            deployment,
            spot,
            role,
            inference_class=inference_class,
            shape=of_worker,
            stack=documents.settings.stack,
        )
        problems += claimed.problems
        created = cloud.get(pool_name) if cloud else None
        device = accelerator(inference_class)
        place = _Place(pool, inference_class, device, empty.gpus, claimed, created)
        of_role = _role(documents, spot, role, place, chains, of_worker=of_worker)
        for of_position, wrong in of_role:
            problems += [problem for problem in wrong if problem not in problems]
            link_problems += of_position.outcome.link_problems if of_position else ()
        whole = [of_position for of_position, _ in of_role if of_position]
        if len(whole) == len(of_role):
            problems += _clashing(*whole)
            made += whole
    return tuple(made), tuple(problems), tuple(link_problems)


# The pods of a position, None where they contradict their document, and their problems.
_Position = tuple[Pods | None, list[Problem]]


def _role(
    documents: Documents, spot: Spot, role: str, place: _Place, chains: Chains, *, of_worker: Shape
) -> list[_Position]:
    """Return the pods of each position of a role."""
    deployment = documents.deployments[spot.deployment]
    workers = workers_of(deployment, role)
    needs = _hardware(place, of_worker)
    if of_worker.pods > 1 and workers.of("Follower") is None:
        return [(None, [_no_follower(deployment, role, of_worker, place)])]
    serving = documents.clusters[spot.cluster].spec.serving
    nvidia = place.device is None or place.device.driver in NVIDIA_DRIVERS
    image = image_of(deployment, role, serving.images, nvidia=nvidia)
    stands = [
        Stand(deployment, spot, role, position, of_worker, needs, image, serving)
        for position in positions_of(of_worker.pods)
    ]
    return [_position(documents, stand, place, chains) for stand in stands]


def _hardware(place: _Place, of_worker: Shape) -> Hardware:
    created, made = place.cloud, place.inference_class.spec.provisioning
    recipe = made.gke if made else None
    return hardware(
        device=place.device,
        gpus=of_worker.gpus,
        pool=place.pool,
        label=created.name if created else None,
        taints=created.taints if created else (),
        devices=place.inference_class.spec.all_devices,
        labels=created.node_labels if created else {},
        allocation=place.inference_class.spec.allocation,
        claims=place.claims.pods,
        gpu_direct=recipe.networking.gpu_direct if recipe else "None",
    )


def _position(documents: Documents, stand: Stand, place: _Place, chains: Chains) -> _Position:
    problems = list(document_contradictions(stand))
    contradicts = bool(problems)
    problems += changing_image(stand)
    if contradicts:
        return None, problems
    generated = pod_template(stand)
    if mistakes := list(template_problems(generated, stand)):
        return None, problems + mistakes
    class_name = place.pool.class_name
    links = chains.of(stand.spot, class_name=class_name)
    asked = request(documents, stand, class_name=class_name, device=place.device, cloud=place.cloud)
    outcome = chain.run(generated, asked, links, template_check(stand))
    problems += outcome.problems
    problems += without_requests(outcome.template, stand)
    # Last, so that a plugin may give what is taken from pods that say nothing.
    outcome = replace(outcome, template=restrained(outcome.template, generated))
    generated = restrained(generated, generated)
    made = Pods(
        stand.spot,
        stand.role,
        generated,
        outcome,
        place.pool.autoscaled,
        asked,
        links,
        stand.shape,
        place.claims,
    )
    return made, problems


def _no_follower(deployment: ModelDeployment, role: str, of_worker: Shape, place: _Place) -> Problem:
    return Problem(
        f"on pool {place.pool.name}, whose nodes have {place.node_gpus} GPUs, a worker has "
        f"{of_worker.pods} pods, and only the entry has a template",
        "Write follower.template, or template for all pods",
        f"{path_of_role(role)}.workers.entry",
        kind="ModelDeployment",
        key=deployment.metadata.key,
    )


def _clashing(entries: Pods, followers: Pods | None = None) -> Iterator[Problem]:
    """Yield companions of one name that plugins make otherwise for followers than for entries."""
    if followers is None:
        return
    known = entries.outcome.companions
    for step in followers.outcome.steps:
        for companion in step.companions:
            try:
                known = add(known, companion)
            except PluginError as error:
                what = f"plugin {step.plugin} makes it otherwise for followers than for entries: {error}"
                next_step = "Give it the same contents for both, or limit scope.target to one"
                yield followers.link_of(step).problem(what, next_step)
