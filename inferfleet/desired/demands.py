"""What replicas need once plugins have edited their pods, worked out before the plan.

Pods of a role on nodes of one class are alike wherever they run, so their chain runs once, for one of
the pools where they may run; on clusters with a chain of their own, or another image for their engine, once
for each. A plugin that asks for more on one cluster than on another, by facts of it, would make the plan
wrong: that is found where its pods are placed, and is an error. No chain runs where no link acts on the pods:
the document says all then.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

from inferfleet.cloud.provider import cloud_pools
from inferfleet.cloud.values import CloudPool
from inferfleet.desired.pods import Chains, Pods, SpotPods, spot_pods
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.documents.pods.diff import changes, leaves
from inferfleet.documents.pods.gcsfuse import SIDECAR, fields, sidecar
from inferfleet.documents.problems import Problem, Where
from inferfleet.fleet.accelerators import DeviceRequest, missing_resource
from inferfleet.fleet.demands import Demand, Demands, RoleKey, Share, declared_demands, with_sidecars
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.node_conditions import known_labels
from inferfleet.fleet.roles import image_of, lacking_images, role_templates, selector_of, workers_of
from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector
from inferfleet.fleet.shapes import RESOURCES, Node, Pod, PoolKey, node, pod_of
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import LinkEffect, LinkProblem, Outcome
from inferfleet.plugins.link import Origin

# Where a pod has its containers.
_LISTS = ("containers", "initContainers")
_UNLIKE_STEP = (
    "Let what pods ask for follow from the deployment and its class; or name the plugin in the chains of the "
    "clusters, which are planned one by one"
)


@dataclass(frozen=True)
class EditedDemands:
    """What replicas need, and the pods that were made to find it out."""

    demands: Demands
    pods: Mapping[Spot, SpotPods]
    """The pods of one spot for all that are alike."""
    example: Mapping[tuple[RoleKey, PoolKey], Spot]
    """That spot, by role and pool."""


def edited_demands(documents: Documents, lock: Lock, chains: Chains) -> EditedDemands:
    """Return what replicas of every deployment need on every pool where they may run."""
    demands = declared_demands(documents)
    by_pool: dict[RoleKey, dict[PoolKey, Demand]] = {}
    pods_by_spot: dict[Spot, SpotPods] = {}
    examples: dict[tuple[RoleKey, PoolKey], Spot] = {}
    clouds = cloud_pools(documents, lock) if demands.conditions else None
    acting = _Acting(documents, chains)
    selectors = Selectors()
    nodes = {name: node(document) for name, document in documents.classes.items()}
    locked = {
        ((spot.deployment, role), (spot.cluster, pool))
        for spot in lock.placements
        for role, pool in spot.pools
    }
    for key in demands.declared:
        for spots in _alike_spots(
            documents,
            locked,
            key,
            request=demands.devices[key],
            acting=acting,
            selectors=selectors,
            nodes=nodes,
        ):
            if clouds is None:
                clouds = cloud_pools(documents, lock)
            example = _example(documents, spots, chains, made=pods_by_spot, clouds=clouds)
            for spot in spots:
                examples[key, pool_of(spot)] = example
                needs = before = demands.of(*key, pool_of(spot))
                for pods in pods_by_spot[example].pods:
                    needs = edited(needs, pods)
                if needs != before:
                    by_pool.setdefault(key, {})[pool_of(spot)] = needs
    labels = {
        (cluster, name): known_labels(
            documents.clusters[cluster], documents.clusters[cluster].spec.pool(name), pool.node_labels
        )
        for cluster, pools in (clouds or {}).items()
        for name, pool in pools.items()
    }
    demands = replace(demands, edited=by_pool, labels={**demands.labels, **labels})
    return EditedDemands(demands, pods_by_spot, examples)


def unplaced_link_problems(demands: EditedDemands, placed: Set[str]) -> Iterator[LinkProblem]:
    """Yield what plugins did wrong, and said, on pods of deployments that are not among those with a place.

    A link that fails is told where its replicas found no place as well, once for pods that are alike: free
    nodes would not make it run. Where no chain ran, or no pool suits, there is nothing to tell.
    """
    for spot in dict.fromkeys(demands.example.values()):
        if spot.deployment not in placed:
            yield from demands.pods[spot].link_problems
            for pods in demands.pods[spot].pods:
                yield from pods.outcome.output


class _Acting:
    """Where links act on the pods of a role; of chains that all deployments share it is found out once."""

    def __init__(self, documents: Documents, chains: Chains) -> None:
        self._documents = documents
        self._links = chains.links
        self._stack = chains.stack
        self._shared: dict[tuple[str, bool], tuple[bool, frozenset[str], frozenset[str]]] = {}

    def pools(self, deployment: str, role: str, *, several: bool) -> Iterator[tuple[str, NodePool, bool]]:
        """Yield the pools where links act on pods of the role, with their cluster, and whether that has links
        of its own. `several` pods of a worker are entry and followers.
        """
        if (role, several) not in self._shared:
            self._shared[role, several] = (
                self._acts("stack", self._stack, role, several),
                frozenset(
                    name for name in self._documents.classes if self._acts("class", name, role, several)
                ),
                frozenset(
                    name for name in self._documents.clusters if self._acts("cluster", name, role, several)
                ),
            )
        everywhere, classes, clusters = self._shared[role, several]
        everywhere = everywhere or self._acts("deployment", deployment, role, several)
        if not (everywhere or classes or clusters):
            return
        for cluster, document in sorted(self._documents.clusters.items()):
            for pool in document.spec.node_pools:
                if everywhere or cluster in clusters or pool.class_name in classes:
                    yield cluster, pool, cluster in clusters

    def _acts(self, origin: Origin, name: str, role: str, several: bool) -> bool:
        scopes = [bound.link.spec.scope for bound in self._links[origin, name]]
        positions = ("Entry", "Worker") if several else ("Entry",)
        return any(scope.has(role, position) for scope in scopes for position in positions)


def _alike_spots(
    documents: Documents,
    locked: Set[tuple[RoleKey, PoolKey]],
    key: RoleKey,
    *,
    request: DeviceRequest,
    acting: _Acting,
    selectors: Selectors,
    nodes: Mapping[str, Node | None],
) -> list[list[Spot]]:
    """Return the spots where links act on the pods of a role, those with alike pods together.

    Each has the pool of that role alone. Those of the lock come first: most likely they are placed again.
    """
    deployment, role = key
    document = documents.deployments[deployment]
    topology = workers_of(document, role).topology
    groups: dict[tuple[str, str, str | None], list[Spot]] = {}
    has_image = all("image" in written.template.engine for written in role_templates(document, role))
    # Where a group of `tensor` is larger than a node, a worker has several pods too.
    several = topology.gpus_per_worker > 1
    for cluster, pool, own in acting.pools(deployment, role, several=several):
        spot = Spot(deployment, cluster, ((role, pool.name),))
        empty = nodes[pool.class_name]
        if empty is not None and (
            (key, pool_of(spot)) in locked
            or (
                bool(empty.gpus) == (request.resource is not None)
                and not missing_resource(documents.classes[pool.class_name], request)
                and _may_run(documents, spot, role, pool.class_name, selectors)
            )
        ):
            images = documents.clusters[cluster].spec.serving.images
            image = None if has_image else image_of(document, role, images)
            groups.setdefault((pool.class_name, cluster if own else "", image), []).append(spot)
    return [
        sorted(spots, key=lambda spot: ((key, pool_of(spot)) not in locked, spot))
        for spots in groups.values()
    ]


def _may_run(documents: Documents, spot: Spot, role: str, class_name: str, selectors: Selectors) -> bool:
    """Return whether the deployment selects the cluster, with images there, and the class of the pool."""
    document = documents.deployments[spot.deployment]
    cluster = documents.clusters[spot.cluster]
    if cluster.spec.state == "abandoned" or not document.spec.cluster_selector.matches(
        cluster.metadata.labels
    ):
        return False
    if lacking_images(document, cluster.spec.serving.images):
        return False
    selector = selector_of(document, role)
    try:
        return selector is None or not selectors.mismatch(selector.cel, documents.classes[class_name])
    except InvalidSelector:
        return False  # a problem of the plan, which places nothing then


def _example(
    documents: Documents,
    spots: list[Spot],
    chains: Chains,
    *,
    made: dict[Spot, SpotPods],
    clouds: Mapping[str, Mapping[str, CloudPool]],
) -> Spot:
    """Make the pods of the first spot on which no plugin fails, or of the first one, and return the spot."""
    for spot in spots:
        made[spot] = spot_pods(documents, spot, chains, clouds.get(spot.cluster))
        if not made[spot].link_problems:
            return spot
    return spots[0]


def pool_of(spot: Spot) -> PoolKey:
    """Return the one pool of a spot."""
    return spot.cluster, spot.pools[0][1]


def edited(demand: Demand, pods: Pods) -> Demand:
    """Return what a role needs with the pods of one position as they are, and how much of it is for which
    plugin.

    A container, or what a pod asks for as a whole, counts as that of the plugin that changed it last; a
    sidecar that a webhook injects, as that of the plugin that says so, or that asked for it last. The share
    of a plugin is what the pod would request less with all of its parts as they were generated: an init
    container that needs no more than the running containers has none.
    """
    before, _ = demand.of(pods.placed.position)
    pod, shares = _pod_and_shares(before, pods)
    if pod == before:
        return demand
    # Followers without a shape of their own are like the entry as it was written.
    follower = demand.follower or (demand.pod if demand.gang > 1 else None)
    if pods.placed.position == "Entry":
        return replace(demand, pod=pod, shares=shares, follower=follower)
    return replace(demand, follower=pod, follower_shares=shares)


def _pod_and_shares(before: Pod, pods: Pods) -> tuple[Pod, tuple[Share, ...]]:
    """Return what the pods request, and how much of it is for which plugin."""
    final = admitted(pods.outcome)
    pod = pod_of(final, gpus=before.gpus)
    generated = pods.generated["spec"]
    owners: dict[str, set[tuple[str, str]]] = {}
    lines: dict[str, list[Where]] = {}
    for part, name in _parts(final, generated):
        effect = _changed_by(pods.outcome, f"spec.{part}[{name}]" if name else f"spec.{part}")
        if effect:
            owners.setdefault(effect.plugin, set()).add((part, name))
            if where := pods.link_of(effect).where:
                lines.setdefault(effect.plugin, []).append(where)
    shares = []
    for plugin, parts in owners.items():
        rest = pod_of(_without(final, generated, parts), gpus=pod.gpus)
        if rest != pod:
            share = Pod(*(whole - other for whole, other in zip(pod, rest, strict=True)))
            shares.append(Share(plugin, share, tuple(sorted(set(lines.get(plugin, ()))))))
    return pod, tuple(shares)


def admitted(outcome: Outcome) -> dict[str, Any]:
    """Return the pod spec with the sidecars that webhooks inject, as the last link for each says, and with
    that of Cloud Storage FUSE, as volumes and annotations ask for it.

    Each counts as a native one that starts before every init container, which is where Istio and Cloud
    Storage FUSE put theirs; a regular container would request no more. A chain refuses one whose name the
    template has; were it there, both would count, because nothing that a template asks for may be forgotten.
    """
    spec = outcome.template["spec"]
    by_links = {name: requests for effect in outcome.effects for name, requests in effect.injected.items()}
    return with_sidecars(spec, {**by_links, **sidecar(outcome.template)})


def _changed_by(outcome: Outcome, place: str) -> LinkEffect | None:
    """Return the last effect that changed a place of an admitted spec, if any did."""
    effect = outcome.changed_by(place)
    if effect or not place.startswith(f"spec.initContainers[{SIDECAR}]"):
        return effect
    asking = fields(outcome.template)
    return next(
        (
            effect
            for effect in reversed(outcome.effects)
            if any(path in asking for change in effect.changes for path, _, _ in leaves(change))
        ),
        None,
    )


def _parts(final: Mapping[str, Any], generated: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the parts of a pod that ask for something, and did not in the generated template.

    A part is a list of containers with the name of one, or a field of the pod with the name "".
    """
    for part in _LISTS:
        before = {container["name"]: container for container in generated.get(part, ())}
        for container in final.get(part, ()):
            old = before.get(container["name"], {})
            if old.get("resources") != container.get("resources"):
                yield part, container["name"]
    for part in ("resources", "overhead"):
        if final.get(part) != generated.get(part):
            yield part, ""


def _without(
    final: Mapping[str, Any], generated: Mapping[str, Any], parts: set[tuple[str, str]]
) -> dict[str, Any]:
    """Return a pod spec with these parts as they were generated."""
    spec = dict(final)
    for part in _LISTS:
        before = {container["name"]: container for container in generated.get(part, ())}
        spec[part] = [
            before[container["name"]] if (part, container["name"]) in parts else container
            for container in final.get(part, ())
            if (part, container["name"]) not in parts or container["name"] in before
        ]
    for part in ("resources", "overhead"):
        if (part, "") in parts:
            spec[part] = generated.get(part, {})
    return spec


def unlike_demand_problems(demands: EditedDemands, every: tuple[Pods, ...]) -> Iterator[Problem]:
    """Yield what placed pods ask for otherwise than was planned, with the plugin that asks for it."""
    for pods in every:
        spot = pods.spot
        alone = spot._replace(pools=((pods.role, spot.pool(pods.role)),))
        example = demands.example.get(((spot.deployment, pods.role), pool_of(alone)))
        if example is None or example == spot or pods.outcome.link_problems:
            continue
        position = pods.placed.position
        planned = next(
            (each for each in demands.pods[example].pods if each.placed.position == position), None
        )
        if planned is None or planned.outcome.link_problems:
            continue
        before, after = (_counted_spec(admitted(each.outcome)) for each in (planned, pods))
        for path, there, here in (leaf for change in changes(before, after) for leaf in leaves(change)):
            effect = _changed_by(pods.outcome, path) or _changed_by(planned.outcome, path)
            if effect is None:
                continue
            what = (
                f"plugin {effect.plugin} makes {path} of pods of {spot.deployment} {_or_nothing(here)} on "
                f"{'/'.join(pool_of(alone))}, and {_or_nothing(there)} on {'/'.join(pool_of(example))}, by "
                f"which the plan counted; both are of class {pods.request.node_class.name}"
            )
            yield pods.link_of(effect).problem(what, _UNLIKE_STEP)


def _counted_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a pod spec says about resources that are counted, in the shape of a template."""
    asked: dict[str, Any] = {
        part: [
            {key: container[key] for key in ("name", "restartPolicy") if key in container}
            | {"resources": _counted(container.get("resources", {}))}
            for container in spec.get(part, ())
        ]
        for part in _LISTS
    }
    asked["resources"] = _counted(spec.get("resources", {}))
    asked["overhead"] = _counted({"requests": spec.get("overhead", {})})["requests"]
    return {"spec": asked}


def _counted(resources: Mapping[str, Any]) -> dict[str, Any]:
    return {
        part: {name: amount for name, amount in resources.get(part, {}).items() if name in RESOURCES}
        for part in ("requests", "limits")
    }


def _or_nothing(amount: object) -> str:
    return "nothing" if amount is None else str(amount)
