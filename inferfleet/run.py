"""From documents and clusters to all that one run registers, or to every reason why it must not run."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from inferfleet.cloud.provider import made_with
from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.gke import path_of
from inferfleet.clusters.connections.google import GOOGLE, Addresses
from inferfleet.clusters.connections.kubeconfig import Kubeconfigs, read_files, read_kubeconfigs
from inferfleet.clusters.connections.questions import Questions
from inferfleet.clusters.preflight.observe import SECONDS, identify, observe
from inferfleet.clusters.preflight.quotas import cloud_problems
from inferfleet.desired import desired
from inferfleet.desired.addons import unrendered_problems
from inferfleet.desired.gate import (
    announced_problems,
    blocking_problems,
    parallelism_problems,
    unfilled_problems,
)
from inferfleet.desired.transition import (
    Unfilled,
    unfilled,
    with_held,
    with_leaving,
    with_newer,
    with_numbers,
    with_starting,
    without_kinds,
)
from inferfleet.desired.values import Desired
from inferfleet.documents import Documents, InvalidDocuments, Problem
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.loading.files import write_text
from inferfleet.documents.loading.from_program import edit_by_program
from inferfleet.documents.loading.project import StackFiles, read_capacity, read_lock
from inferfleet.documents.loading.settings import keys_in_repository
from inferfleet.documents.loading.stack import load_files
from inferfleet.documents.problems import cluster_problem, joined, of_severity
from inferfleet.documents.wording import one_of, shown
from inferfleet.documents.work import counted
from inferfleet.fleet.lock.capacity import observation_problems
from inferfleet.fleet.lock.capacity import parse as parse_capacity
from inferfleet.fleet.lock.lock import Lock, LockedCluster, lock_problems, parse, text
from inferfleet.plugins.loading import registered
from inferfleet.review.policy.enforcement import policy_problems
from inferfleet.serving.gateway import Address

# What previews have where a program does not know yet of what a cluster is made.
LATER = "known-in-the-update"
# Seconds: `plan --write` must not take long without a network; `pulumi up` records what is missing.
UID_SECONDS = 4.0


@dataclass(frozen=True)
class Prepared:
    """Everything that one run of the program needs.

    `kubeconfigs` holds texts by existing cluster, `addresses` those of gateways that are somebody else's, and
    `uids` those of the namespace kube-system, by which a cluster is recognized. `warnings` are problems that
    do not stop the run. `lock_text` is None where the file is up to date or must not be touched.
    """

    desired: Desired
    kubeconfigs: Mapping[str, str] = field(repr=False)
    addresses: Mapping[str, Address]
    uids: Mapping[str, str]
    warnings: tuple[Problem, ...]
    lock_file: Path
    lock_text: str | None

    def remember(self) -> None:
        """Write the lock, so that the next run knows what this one was to do."""
        if self.lock_text is not None:
            write_text(self.lock_file, self.lock_text)


@dataclass(frozen=True)
class Handed:
    """What a program hands over of the clusters of its Fleet; None is what it does not know yet.

    That happens in previews, and of clusters that are given up. Nobody looks at such a cluster.
    """

    kubeconfigs: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    """Texts of kubeconfigs, by cluster."""
    fields: Mapping[tuple[str, str], str | None] = field(default_factory=dict)
    """Values for fields of the block `gke`, by cluster and path in that block, such as `project`."""

    @property
    def unknown(self) -> frozenset[str]:
        """Return the clusters of which something is not known."""
        clusters = {name for name, text in self.kubeconfigs.items() if text is None}
        return frozenset(clusters | {name for (name, _), value in self.fields.items() if value is None})


@counted()
def load_fleet(
    files: StackFiles,
    handed: Handed,
    *,
    config: Mapping[str, str],
    settings: Mapping[str, Any] | None,
    written: Sequence[Mapping[str, Any]] | None,
) -> tuple[Documents, StackFiles]:
    """Return the documents of a Fleet with what its program hands over. Raises InvalidDocuments.

    A field that is not known yet has what its cluster was made with, by the lock, or else a word for it.
    """
    locked: Mapping[str, LockedCluster] = {}
    if None in handed.fields.values():
        name = _shown_path(files.lock_file, files.root)
        locked = parse(
            read_lock(files, name), file=name, stack=files.stack, options=files.fleet_options
        ).clusters
    edits = tuple(
        edit_by_program(
            cluster, path, (made_with(locked, cluster, path) or LATER) if value is None else value
        )
        for (cluster, path), value in handed.fields.items()
    )
    documents, files = load_files(files, config=config, settings=settings, written=written, edits=edits)
    problems = [
        Problem(f"the program hands over a kubeconfig of cluster {shown(name)}, {why}", step)
        for name in handed.kubeconfigs
        for why, step in _pointless(documents, name)
    ]
    if problems:
        raise InvalidDocuments(problems)
    return documents, files


def _pointless(documents: Documents, cluster: str) -> Iterator[tuple[str, str]]:
    """Yield why nobody needs the kubeconfig of a cluster."""
    if cluster not in documents.clusters:
        yield "which no document has", one_of(cluster, documents.clusters, "There are")
    elif documents.clusters[cluster].spec.cluster.source == "GKE":
        yield "which the Fleet creates", "Remove it from kubeconfigs"


@counted()
def prepare(
    documents: Documents,
    files: StackFiles,
    config: Mapping[str, str],
    *,
    ci: bool,
    preview: bool,
    today: date,
    handed: Handed = Handed(),
    google: Addresses = GOOGLE,
    outside_plugins: bool = True,
    parallel: int | None = None,
) -> Prepared:
    """Decide, ask the clusters, and decide again with what is leaving them. Write nothing.

    `config` is the namespace `inferfleet` of the stack's configuration. Google is asked at the addresses
    `google` where its clusters are and whether quotas suffice. By `today` what capacity.lock saw is old or
    not, and waivers of policies hold or have ended. Without `outside_plugins` no plugin of others is
    imported. `parallel` is the number of operations that Pulumi runs at once, where it says so. Raises
    InvalidDocuments with every problem of the first stage that has one.
    """
    locked = documents.settings.is_locked(ci=ci)
    lock, old_text, problems_of_locks = _lock_of(documents, files, today)
    with registered(documents, files.root, outside=outside_plugins) as registry:
        first = desired(documents, lock, registry=registry)
    of_policies = policy_problems(documents, lock, first, today=today)
    problems = [
        *blocking_problems(first, documents, lock, locked=locked, preview=preview),
        *of_severity(of_policies, "error"),
        *unrendered_problems(
            documents, {cluster.connection.cluster: cluster.addons for cluster in first.clusters}
        ),
    ]

    kubeconfigs = _kubeconfigs_of(documents, files, first, config, handed)
    asked = replace(
        first,
        clusters=tuple(
            cluster for cluster in first.clusters if cluster.connection.cluster not in handed.unknown
        ),
    )
    until = time.monotonic() + SECONDS
    asking = Questions({"google": partial(cloud_problems, asked, documents, lock, google=google)})
    seen = observe(
        asked, kubeconfigs.texts, deployments=documents.deployments, container_api=google.container
    )
    of_google = asking.answers(until=until).get("google", ())
    problems += [*kubeconfigs.problems.values(), *of_severity((*seen.problems, *of_google), "error")]
    if problems:
        raise InvalidDocuments(documents.located(problems))

    weights = unfilled(first, documents, seen.filled, seen.running, seen.filling)
    if weights.held:
        documents = with_held(documents, weights.deployments)
        with registered(documents, files.root, outside=outside_plugins) as registry:
            first = desired(documents, lock, registry=registry)
        # No document says that these are paused: what they wait for is told.
        told = [problem for problem in first.warnings if not _is_of_held(problem, weights)]
        first = replace(first, warnings=tuple(told))
    leaving = [workload for workload in seen.leaving if workload.deployment not in weights.deployments]
    with_old = without_kinds(with_leaving(first, documents, lock, leaving), seen.unknown)
    final = with_newer(with_starting(with_numbers(with_old, seen.scaled), weights), seen.newer)
    new_lock = with_uids(
        final.plan.lock, seen.uids, gone={*seen.absent, *replaced_clusters(lock, final.plan.lock)}
    )
    new_text = text(new_lock)
    return Prepared(
        desired=final,
        kubeconfigs=kubeconfigs.texts,
        addresses=seen.addresses,
        uids={name: cluster.uid for name, cluster in new_lock.clusters.items() if cluster.uid},
        warnings=joined(
            documents.located(
                [
                    *problems_of_locks,
                    *of_severity(of_policies, "warning", "notice"),
                    *announced_problems(final, documents, lock, locked=locked, preview=preview),
                    *parallelism_problems(final.plan, parallel=parallel),
                    *unfilled_problems(weights),
                    *kubeconfigs.warnings,
                    *_unseen_cluster_problems(first, lock, handed),
                    *of_severity(seen.problems, "warning", "notice"),
                    *of_severity(of_google, "warning", "notice"),
                ]
            )
        ),
        lock_file=files.lock_file,
        lock_text=new_text if new_text != old_text and not locked else None,
    )


def _is_of_held(problem: Problem, weights: Unfilled) -> bool:
    return problem.path == "spec.paused" and problem.key in weights.deployments


def _lock_of(
    documents: Documents, files: StackFiles, today: date
) -> tuple[Lock, str | None, tuple[Problem, ...]]:
    """Return the lock with what capacity.lock saw, the text of placement.lock, and what is wrong with both.

    The text is None where there is no file.
    """
    lock_name, capacity_name = (
        _shown_path(file, files.root) for file in (files.lock_file, files.capacity_file)
    )
    lock_text = read_lock(files, lock_name)
    seen = parse_capacity(read_capacity(files, capacity_name), file=capacity_name, stack=files.stack)
    lock = parse(lock_text, file=lock_name, stack=files.stack, options=documents.fleet)
    lock = replace(lock, seen=seen)
    return (
        lock,
        lock_text,
        (
            *lock_problems(documents, lock, file=lock_name, exists=lock_text is not None),
            *observation_problems(documents, seen, today=today),
        ),
    )


def _kubeconfigs_of(
    documents: Documents, files: StackFiles, first: Desired, config: Mapping[str, str], handed: Handed
) -> Kubeconfigs:
    """Return the kubeconfigs of all clusters but those that the program does not know yet.

    Texts that the repository has are read only where its settings trust them.
    """
    connections = [cluster.connection for cluster in first.clusters]
    keys = [connection.config_key for connection in connections if connection.config_key]
    repository = Repository(
        files.root,
        trusted=documents.settings.trust_repository_kubeconfigs,
        keys=keys_in_repository(files, keys),
    )
    return read_kubeconfigs(
        [connection for connection in connections if connection.cluster not in handed.unknown],
        config,
        repository,
        handed={name: text for name, text in handed.kubeconfigs.items() if text is not None},
    )


def _unseen_cluster_problems(desired: Desired, lock: Lock, handed: Handed) -> Iterator[Problem]:
    """Yield what a preview says of clusters that nobody looked at, or that are yet to come."""
    for connection in (cluster.connection for cluster in desired.clusters):
        name = connection.cluster
        if name not in handed.unknown or connection.state in GIVEN_UP:
            continue
        stands = name in lock.clusters
        what = "was not looked at in this preview" if stands else "is yet to come"
        yield cluster_problem(
            name,
            f"cluster {name!r} {what}: the program knows only in the update where it is",
            "The update says what is wrong there, before it changes anything",
            path_of(connection),
            severity="warning" if stands else "notice",
        )


def with_reachable_uids(
    desired: Desired,
    before: Lock,
    repository: Repository,
    *,
    container_api: str,
    seconds: float = UID_SECONDS,
) -> tuple[Lock, tuple[Problem, ...]]:
    """Return the plan's lock with the UIDs of clusters that answer in time, and warnings about the others.

    `before` is the lock that the plan was made from: clusters that the update replaces get their UID later.
    """
    lock = desired.plan.lock
    without_uid = {name for name, cluster in lock.clusters.items() if cluster.uid is None}
    asked = without_uid - replaced_clusters(before, lock)
    clusters = tuple(
        cluster
        for cluster in desired.clusters
        if cluster.connection.cluster in asked and cluster.connection.state not in GIVEN_UP
    )
    connections = [cluster.connection for cluster in clusters]
    if not connections:
        return lock, ()
    kubeconfigs = read_files(connections, repository)
    uids, silent = identify(
        replace(desired, clusters=clusters), kubeconfigs.texts, container_api=container_api, seconds=seconds
    )
    reasons = {name: problem.what for name, problem in {**kubeconfigs.problems, **silent}.items()}
    step = "`pulumi up` records it, or run this again where the cluster answers"
    steps = {name: problem.next_step for name, problem in kubeconfigs.problems.items()}
    paths = {connection.cluster: path_of(connection) for connection in connections}
    return with_uids(lock, uids), (
        *kubeconfigs.warnings,
        *(
            cluster_problem(
                name, f"no UID recorded: {what}", steps.get(name, step), paths[name], severity="warning"
            )
            for name, what in sorted(reasons.items())
        ),
    )


def with_uids(lock: Lock, uids: Mapping[str, str], *, gone: Collection[str] = ()) -> Lock:
    """Return the lock with the UIDs of clusters that answered and that it did not know.

    UIDs of clusters that are `gone` are forgotten: those created in their place will have others.
    """
    return replace(
        lock,
        clusters={
            name: replace(cluster, uid=None if name in gone else cluster.uid or uids.get(name))
            for name, cluster in lock.clusters.items()
        },
    )


def replaced_clusters(before: Lock, after: Lock) -> set[str]:
    """Return the clusters that the update replaces, so that their UID of today must not be recorded."""
    return {
        name
        for name, cluster in after.clusters.items()
        if name in before.clusters
        and before.clusters[name].settings
        and before.clusters[name].settings != cluster.settings
    }


def _shown_path(path: Path, root: Path) -> str:
    return str(path.relative_to(root) if path.is_relative_to(root) else path)
