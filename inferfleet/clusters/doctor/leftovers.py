"""Whether anything of the stack is in Google Cloud: after `pulumi destroy` nothing should be."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from inferfleet.cloud.gke.leftovers import (
    CLUSTERS,
    COLLECTIONS,
    GLOBAL,
    NETWORKS,
    Footprint,
    Leftover,
    clusters_left,
    footprints,
    left,
    networks_left,
)
from inferfleet.clusters.connections.asked import Asked
from inferfleet.clusters.connections.google.inventory import Inventory
from inferfleet.clusters.connections.google_login import Addresses, GoogleLogin, preload
from inferfleet.clusters.connections.refusals import CloudError
from inferfleet.clusters.doctor.values import Check, unseen
from inferfleet.desired.values import Desired
from inferfleet.documents.problems import Problem

Look = Callable[[], Iterable[Leftover]]


def leftovers(desired: Desired, google: Addresses, *, seconds: float) -> tuple[Check, ...]:
    """Return a check for each kind of thing in each project that the stack has clusters in."""
    clouds = [cluster.connection.cloud for cluster in desired.clusters if cluster.connection.cloud]
    if not clouds:
        return ()
    preload()
    until = time.monotonic() + seconds
    inventory = Inventory(google, GoogleLogin(), seconds=seconds)
    marks = footprints(desired.stack, clouds)
    looks = {(mark.project, what): look for mark in marks for what, look in _looks(mark, inventory)}
    questions = {key: partial(_checked, *key, look) for key, look in looks.items()}
    answers = Asked(questions).answers(until=until)
    checks = [check for key in questions for check in answers.get(key, (_late(*key, seconds),))]
    return (*checks, *(check for mark in marks for check in _untold(mark)))


def _looks(mark: Footprint, inventory: Inventory) -> Iterator[tuple[str, Look]]:
    yield CLUSTERS, lambda: clusters_left(mark, inventory.clusters(mark.project))
    for collection, what in COLLECTIONS.items():
        yield what, partial(_listed, mark, inventory, collection)
    yield NETWORKS, lambda: networks_left(mark, inventory.of_no_place(mark.project, NETWORKS))


def _listed(mark: Footprint, inventory: Inventory, collection: str) -> Iterable[Leftover]:
    if collection in GLOBAL:
        return left(
            mark, collection, (("global", one) for one in inventory.of_no_place(mark.project, collection))
        )
    return left(mark, collection, inventory.aggregated(mark.project, collection))


def _checked(project: str, what: str, look: Look) -> tuple[Check, ...]:
    of = f"project {project}"
    try:
        found = tuple(look())
    except CloudError as error:
        return (unseen(of, what, error.what, error.next_step),)
    return tuple(Check(of, what, "wrong", _problem(project, what, one)) for one in found) or (
        Check(of, what),
    )


def _problem(project: str, what: str, one: Leftover) -> Problem:
    return Problem(
        f"{one.name} is there, of the stack's {what} (project {project}, {one.where})",
        f"Run `pulumi destroy`; where it has ended without it, run `{one.command}`",
    )


def _late(project: str, what: str, seconds: float) -> Check:
    return unseen(f"project {project}", what, f"no answer came within {seconds:.0f} s", "Try again")


def _untold(mark: Footprint) -> Iterator[Check]:
    for cluster in mark.shared:
        why = (
            "its network is not the stack's, so its load balancers, addresses, endpoint groups and firewalls "
            "are not told apart"
        )
        step = f"Look for them: gcloud compute forwarding-rules list --project {mark.project}"
        yield unseen(f"cluster {cluster}", "load balancers", why, step)
