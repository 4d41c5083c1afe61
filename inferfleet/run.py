"""From files and clusters to what one run registers, or to every reason why it must not run."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from inferfleet.api import InvalidDocuments, Problem
from inferfleet.api.loading.files import read_text, write_text
from inferfleet.api.loading.stack import load_stack
from inferfleet.api.problems import of_severity
from inferfleet.desired import desired
from inferfleet.desired.addresses import Address
from inferfleet.desired.awaiting import with_leaving
from inferfleet.desired.gate import announcements, refusals
from inferfleet.desired.values import Desired
from inferfleet.fleet.lock.lock import Lock, parse, text
from inferfleet.preflight.capacity import capacity_warnings
from inferfleet.preflight.observe import SECONDS, identify, observe
from inferfleet.reach.asked import Asked
from inferfleet.reach.clusters import cluster_problem
from inferfleet.reach.gke import path_of
from inferfleet.reach.google_login import GOOGLE, Addresses
from inferfleet.reach.kubeconfig import GIVEN_UP, read_kubeconfigs

# Writing a lock on a train must not take long; `pulumi up` records what is missed then.
UID_SECONDS = 4.0


@dataclass(frozen=True)
class Prepared:
    """All that one run of the program needs. `kubeconfigs` holds texts by existing cluster, `addresses` those
    of gateways that are somebody else's. `warnings` are problems that do not stop the run.
    """

    desired: Desired
    kubeconfigs: Mapping[str, str]
    addresses: Mapping[str, Address]
    warnings: tuple[Problem, ...]
    lock_file: Path
    lock_text: str | None  # None: the file is as it should be, or must not be touched

    def remember(self) -> None:
        """Write the lock, so that the next run knows what this one set out to do."""
        if self.lock_text is not None:
            write_text(self.lock_file, self.lock_text)


def prepare(
    root: Path,
    stack: str,
    config: Mapping[str, str],
    *,
    ci: bool,
    preview: bool,
    google: Addresses = GOOGLE,
) -> Prepared:
    """Load, decide, ask the clusters, decide again with what is leaving them.

    `config` is the namespace `inferfleet` of the stack's configuration; at the addresses `google` Google says
    where its clusters are, and whether it has room. Raises InvalidDocuments with every problem of the stage
    that found one; until it returns nothing has been written anywhere.
    """
    documents, files = load_stack(root, stack, config=config)
    locked = documents.settings.locked if documents.settings.locked is not None else ci
    old_text = _lock_text(files.lock_file, root)
    lock = parse(old_text, file=_shown(files.lock_file, root), stack=stack)
    first = desired(documents, lock)
    problems = list(refusals(first, documents, lock, locked=locked, preview=preview))

    connections = [cluster.connection for cluster in first.clusters]
    kubeconfigs, unreadable = read_kubeconfigs(connections, config)
    until = time.monotonic() + SECONDS
    room = Asked({"room": partial(capacity_warnings, first, documents, lock, google=google)})
    seen = observe(first, kubeconfigs, container_api=google.container)
    problems += [*unreadable.values(), *of_severity(seen.problems, "error")]
    if problems:
        raise InvalidDocuments(documents.located(problems))

    final = with_leaving(first, documents, lock, seen.leaving)
    new_text = text(
        with_uids(final.plan.lock, seen.uids, gone={*seen.absent, *remade(lock, final.plan.lock)})
    )
    return Prepared(
        desired=final,
        kubeconfigs=kubeconfigs,
        addresses=seen.addresses,
        warnings=documents.located(
            [
                *announcements(final, documents, lock, locked=locked, preview=preview),
                *of_severity(seen.problems, "warning", "notice"),
                *room.answers(until=until).get("room", ()),
            ]
        ),
        lock_file=files.lock_file,
        lock_text=new_text if new_text != old_text and not locked else None,
    )


def with_reachable_uids(
    desired: Desired, before: Lock, *, container_api: str, seconds: float = UID_SECONDS
) -> tuple[Lock, tuple[Problem, ...]]:
    """The plan's lock with the UIDs of clusters that answer at once, and a warning for each that does not.

    `before` is the lock that the plan was made from: clusters that are made anew get their UID later.
    """
    lock = desired.plan.lock
    unknown = {name for name, cluster in lock.clusters.items() if cluster.uid is None} - remade(before, lock)
    clusters = tuple(
        cluster
        for cluster in desired.clusters
        if cluster.connection.cluster in unknown and cluster.connection.state not in GIVEN_UP
    )
    connections = [cluster.connection for cluster in clusters]
    if not connections:
        return lock, ()
    # Values of configuration keys may be encrypted: only Pulumi can read them.
    texts, unread = read_kubeconfigs([one for one in connections if one.kubeconfig], {})
    uids, silent = identify(
        replace(desired, clusters=clusters), texts, container_api=container_api, seconds=seconds
    )
    reasons = {name: problem.what for name, problem in (unread | silent).items()} | {
        one.cluster: f"the kubeconfig of cluster {one.cluster!r} is in the configuration, which Pulumi reads"
        for one in connections
        if one.config_key
    }
    step = "`pulumi up` records it, or run this again where the cluster answers"
    paths = {connection.cluster: path_of(connection) for connection in connections}
    return with_uids(lock, uids), tuple(
        cluster_problem(name, f"no UID recorded: {what}", step, paths[name], severity="warning")
        for name, what in sorted(reasons.items())
    )


def with_uids(lock: Lock, uids: Mapping[str, str], *, gone: Collection[str] = ()) -> Lock:
    """The lock with the UIDs of clusters that were reached and that it did not know.

    Those of clusters that are `gone` are forgotten: the ones made in their place will have others.
    """
    return replace(
        lock,
        clusters={
            name: replace(cluster, uid=None if name in gone else cluster.uid or uids.get(name))
            for name, cluster in lock.clusters.items()
        },
    )


def remade(before: Lock, after: Lock) -> set[str]:
    """Clusters that the update makes anew: what answers now is not what the lock is to know."""
    return {
        name
        for name, cluster in after.clusters.items()
        if name in before.clusters
        and before.clusters[name].settings
        and before.clusters[name].settings != cluster.settings
    }


def _lock_text(path: Path, root: Path) -> str | None:
    try:
        return read_text(path)
    except UnicodeDecodeError:
        why = "is not UTF-8 text"
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
    raise InvalidDocuments([Problem(f"{_shown(path, root)} {why}", "Restore it from version control")])


def _shown(path: Path, root: Path) -> str:
    return str(path.relative_to(root) if path.is_relative_to(root) else path)
