"""From files and clusters to everything that one run registers, or to every reason why it must not run."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path

from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.gke import path_of
from inferfleet.clusters.connections.google import GOOGLE, Addresses
from inferfleet.clusters.connections.kubeconfig import GIVEN_UP, read_kubeconfigs
from inferfleet.clusters.connections.questions import Questions
from inferfleet.clusters.preflight.observe import SECONDS, identify, observe
from inferfleet.clusters.preflight.quotas import capacity_warnings
from inferfleet.desired import desired
from inferfleet.desired.gate import announcements, queues, refusals
from inferfleet.desired.transition import with_leaving, with_numbers, without_kinds
from inferfleet.desired.values import Desired
from inferfleet.documents import InvalidDocuments, Problem
from inferfleet.documents.loading.files import write_text
from inferfleet.documents.loading.project import read_capacity, read_lock
from inferfleet.documents.loading.settings import keys_in_repository
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import cluster_problem, joined, of_severity
from inferfleet.documents.work import counted
from inferfleet.fleet.lock.capacity import capacity_doubts, stale_capacity
from inferfleet.fleet.lock.capacity import parse as parse_capacity
from inferfleet.fleet.lock.lock import Lock, lock_doubts, parse, text
from inferfleet.plugins.loading import registered
from inferfleet.review.policy.enforcement import policy_problems
from inferfleet.serving.gateway import Address

# Seconds: `plan --write` must not take long without a network; `pulumi up` records what is missing.
UID_SECONDS = 4.0


@dataclass(frozen=True)
class Prepared:
    """Everything that one run of the program needs.

    `kubeconfigs` holds texts by existing cluster, `addresses` those of gateways that are somebody else's.
    `warnings` are problems that do not stop the run. `lock_text` is None where the file is up to date or must
    not be touched.
    """

    desired: Desired
    kubeconfigs: Mapping[str, str] = field(repr=False)
    addresses: Mapping[str, Address]
    warnings: tuple[Problem, ...]
    lock_file: Path
    lock_text: str | None

    def remember(self) -> None:
        """Write the lock, so that the next run knows what this one was to do."""
        if self.lock_text is not None:
            write_text(self.lock_file, self.lock_text)


@counted()
def prepare(
    root: Path,
    stack: str,
    config: Mapping[str, str],
    *,
    ci: bool,
    preview: bool,
    today: date,
    google: Addresses = GOOGLE,
    outside_plugins: bool = True,
    parallel: int | None = None,
) -> Prepared:
    """Load, decide, ask the clusters, and decide again with what is leaving them. Write nothing.

    `config` is the namespace `inferfleet` of the stack's configuration. Google is asked at the addresses
    `google` where its clusters are and whether quotas suffice. By `today` what capacity.lock saw is old or
    not, and waivers of policies hold or have ended. Without `outside_plugins` no plugin of others is
    imported. `parallel` is the number of operations that Pulumi runs at once, where it says so. Raises
    InvalidDocuments with every problem of the first stage that has one.
    """
    documents, files = load_stack(root, stack, config=config)
    locked = documents.settings.is_locked(ci=ci)
    lock_name = _shown_path(files.lock_file, root)
    old_text = read_lock(files, lock_name)
    seen_name = _shown_path(files.capacity_file, root)
    seen_before = parse_capacity(read_capacity(files, seen_name), file=seen_name, stack=stack)
    lock = replace(parse(old_text, file=lock_name, stack=stack), seen=seen_before)
    odd = (
        *lock_doubts(documents, lock, file=lock_name, exists=old_text is not None),
        *capacity_doubts(documents, seen_before, today=today),
        *stale_capacity(seen_before, today=today),
    )
    with registered(documents, root, outside=outside_plugins) as registry:
        first = desired(documents, lock, registry=registry)
    of_policies = policy_problems(documents, lock, first, today=today)
    problems = [
        *refusals(first, documents, lock, locked=locked, preview=preview),
        *of_severity(of_policies, "error"),
    ]

    connections = [cluster.connection for cluster in first.clusters]
    keys = [connection.config_key for connection in connections if connection.config_key]
    repository = Repository(
        files.root,
        trusted=documents.settings.trust_repository_kubeconfigs,
        keys=keys_in_repository(files, keys),
    )
    kubeconfigs = read_kubeconfigs(connections, config, repository)
    until = time.monotonic() + SECONDS
    room = Questions({"room": partial(capacity_warnings, first, documents, lock, google=google)})
    seen = observe(
        first, kubeconfigs.texts, deployments=documents.deployments, container_api=google.container
    )
    problems += [*kubeconfigs.problems.values(), *of_severity(seen.problems, "error")]
    if problems:
        raise InvalidDocuments(documents.located(problems))

    left = without_kinds(with_leaving(first, documents, lock, seen.leaving), seen.unknown)
    final = with_numbers(left, seen.scaled)
    new_text = text(
        with_uids(final.plan.lock, seen.uids, gone={*seen.absent, *replaced_clusters(lock, final.plan.lock)})
    )
    return Prepared(
        desired=final,
        kubeconfigs=kubeconfigs.texts,
        addresses=seen.addresses,
        warnings=joined(
            documents.located(
                [
                    *odd,
                    *of_severity(of_policies, "warning", "notice"),
                    *announcements(final, documents, lock, locked=locked, preview=preview),
                    *queues(final.plan, parallel=parallel),
                    *kubeconfigs.warnings,
                    *of_severity(seen.problems, "warning", "notice"),
                    *room.answers(until=until).get("room", ()),
                ]
            )
        ),
        lock_file=files.lock_file,
        lock_text=new_text if new_text != old_text and not locked else None,
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
    # Values of configuration keys may be encrypted: only Pulumi can read them.
    by_path = [known for known in connections if known.kubeconfig]
    kubeconfigs = read_kubeconfigs(by_path, {}, repository)
    uids, silent = identify(
        replace(desired, clusters=clusters), kubeconfigs.texts, container_api=container_api, seconds=seconds
    )
    problems = {**kubeconfigs.problems, **silent}
    reasons = {name: problem.what for name, problem in problems.items()}
    for connection in connections:
        if connection.config_key:
            what = f"the kubeconfig of cluster {connection.cluster!r} is in the configuration"
            reasons[connection.cluster] = f"{what}, which only Pulumi reads"
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
