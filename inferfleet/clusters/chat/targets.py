"""Who is asked: a service or deployment of the plan, on one cluster. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import listing, shown
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.roles import target_ports
from inferfleet.fleet.traffic import Requests, of_deployment, of_service

Kind = Literal["service", "deployment"]


@dataclass(frozen=True)
class Pods:
    """The pods that answer for a deployment on the cluster: the labels that they have, and their port."""

    deployment: str
    labels: tuple[tuple[str, str], ...]
    port: int


@dataclass(frozen=True)
class Target:
    """A service or deployment (namespace/name) on a cluster.

    `requests` are those that its gateway hands to it, None for a deployment without a route of its own.
    `model` is what requests must name, where its route goes by that. `pods` are those of every deployment
    behind it, the largest share first.
    """

    kind: Kind
    key: str
    cluster: str
    requests: Requests | None
    model: str | None
    pods: tuple[Pods, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} on cluster {self.cluster}"

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def route(self) -> str:
        """Return the name of its HTTPRoute."""
        return names.service_route(self.key) if self.kind == "service" else names.endpoint(self.key)


def target(documents: Documents, plan: Plan, name: str | None, cluster: str | None) -> Target:
    """Return who is meant by `name` or `namespace/name`, a service before a deployment of the same name.

    Without a name it is the only service, or else the only deployment. Raises InvalidDocuments.
    """
    every = [*_services(documents, plan), *_deployments(documents, plan)]
    if not every:
        what = f"stack {plan.lock.stack} has no replicas with a place, so there is nobody to ask"
        raise InvalidDocuments([Problem(what, "Write a ModelDeployment, and look at `inferfleet plan`")])
    named = _named(every, name)
    there = [target for target in named if cluster in (None, target.cluster)]
    if not there:
        what = f"{named[0].kind} {named[0].key} is not on cluster {shown(cluster or '')}"
        raise InvalidDocuments([Problem(what, f"It is on {listing([target.cluster for target in named])}")])
    if len(there) > 1:
        what = f"{there[0].kind} {there[0].key} is on {listing([target.cluster for target in there])}"
        raise InvalidDocuments([Problem(what, f"Name one of them: --cluster {there[0].cluster}")])
    return there[0]


def _named(every: list[Target], name: str | None) -> list[Target]:
    """Return the one that is meant, on each of its clusters."""
    services = [target for target in every if target.kind == "service"]
    if name is None:
        candidates = services or every
    else:
        fitting = [target for target in every if name in (target.key, target.key.partition("/")[2])]
        candidates = [target for target in fitting if target.kind == "service"] or fitting
    keys = sorted({target.key for target in candidates})
    if len(keys) == 1:
        return candidates
    if keys:
        what = f"there are several {candidates[0].kind}s" if name is None else f"{shown(name)} is not clear"
        raise InvalidDocuments([Problem(f"{what}: {listing(keys)}", "Name one of them")])
    there = sorted({f"{target.kind} {target.key}" for target in every})
    what = f"there is no service or deployment {shown(name or '')} with replicas that have a place"
    raise InvalidDocuments([Problem(what, f"There is {listing(there)}")])


def _services(documents: Documents, plan: Plan) -> Iterator[Target]:
    for route in plan.services:
        backends = sorted(route.backends, key=lambda backend: -backend.weight)
        yield Target(
            "service",
            route.service,
            route.cluster,
            of_service(documents, route),
            documents.services[route.service].spec.route.model,
            tuple(_pods(documents, ((backend.deployment, backend.revision) for backend in backends))),
        )


def _deployments(documents: Documents, plan: Plan) -> Iterator[Target]:
    for endpoint in plan.endpoints:
        deployment = documents.deployments[endpoint.deployment]
        form = deployment.spec.route
        gateway = documents.clusters[endpoint.cluster].spec.serving.gateway
        yield Target(
            "deployment",
            endpoint.deployment,
            endpoint.cluster,
            of_deployment(deployment, gateway) if form.enabled else None,
            form.model,
            tuple(_pods(documents, [(endpoint.deployment, endpoint.revision)])),
        )


def _pods(documents: Documents, revisions: Iterable[tuple[str, str]]) -> Iterator[Pods]:
    for key, revision in revisions:
        labels = tuple(sorted(names.pool_selector(key, revision).items()))
        yield Pods(key, labels, target_ports(documents.deployments[key])[0])
