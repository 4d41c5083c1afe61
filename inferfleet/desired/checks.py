"""Problems that belong to no single manifest: command lines, pickers, doubled names."""

from collections.abc import Iterable, Iterator

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.desired.values import Component, DesiredCluster
from inferfleet.fleet import engine_args
from inferfleet.fleet.decisions import Plan
from inferfleet.manifests.picker import check as picker_check
from inferfleet.profiles.table import profile


def engine_problems(documents: Documents) -> Iterator[Problem]:
    """Yield command lines that contradict topology or port, or do not show that they agree."""
    for _, deployment in sorted(documents.deployments.items()):
        yield from engine_args.check(deployment)


def picker_problems(documents: Documents, planned: Plan) -> Iterator[Problem]:
    """Yield what keeps endpoint pickers from starting, or from reading metrics, where they are planned."""
    sound = set()
    for name, cluster in sorted(documents.clusters.items()):
        problems = list(picker_check.check_cluster(cluster, profile(cluster.spec.serving.profile)))
        yield from problems
        if not problems:
            sound.add(name)
    for endpoint in planned.endpoints:
        if endpoint.cluster in sound:
            serving = documents.clusters[endpoint.cluster].spec.serving
            yield from picker_check.check_deployment(
                documents.deployments[endpoint.deployment],
                serving=serving,
                profile=profile(serving.profile),
            )


def doubles(clusters: Iterable[DesiredCluster]) -> Iterator[Problem]:
    """Yield objects of the same kind and name on a cluster, and components of the same Pulumi name."""
    for cluster in clusters:
        objects: dict[str, str] = {}
        components: dict[tuple[str, str], Component] = {}
        for component in cluster.components:
            before = components.setdefault((component.kind, component.name), component)
            if before is not component:
                # Both have the same name, so each is described by its last object.
                last = (before.objects[-1], component.objects[-1])
                by = [f"{made.kind} {made.namespace}/{made.kubernetes_name}" for made in last]
                yield _doubled(f"{component.kind} {component.name}", cluster, by)
            for made in component.objects:
                if made.key in objects:
                    by = sorted({objects[made.key], f"{component.kind} {component.name}"})
                    yield _doubled(f"{made.kind} {made.namespace}/{made.kubernetes_name}", cluster, by)
                objects[made.key] = f"{component.kind} {component.name}"


def _doubled(what: str, cluster: DesiredCluster, by: Iterable[str] = ()) -> Problem:
    wanted = f" (wanted by {' and '.join(by)})" if by else ""
    return Problem(
        f"two different things on cluster {cluster.connection.cluster} would be called {what}{wanted}",
        "Rename one of the deployments, services or pools from which the name is derived",
    )
