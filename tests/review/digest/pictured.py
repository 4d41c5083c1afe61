"""Pictures of fleets of any size, with all that a picture can have: changes, gaps, silent clusters."""

from datetime import UTC, datetime

from digested import loaded, side
from documents import API, Document, cluster
from small_sides import PRICE, l4, model

from inferfleet.clusters.status.status import status
from inferfleet.desired.gate import announced_problems, blocking_problems
from inferfleet.documents.problems import Problem
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.picture import Picture, picture

NOW = datetime(2026, 11, 24, tzinfo=UTC)
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def service(name: str) -> Document:
    return {
        "apiVersion": API,
        "kind": "ModelService",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"endpoints": [{"selector": {"matchLabels": {"model": name}}}]},
    }


def fleet(clusters: int, *, edited: bool) -> list[Document]:
    """Every third cluster is drained with the edit, and one model more has no place."""
    made = [l4(PRICE)]
    made += [
        cluster(
            f"c{number:03}",
            pools={"l4": ("l4", 1 + (edited and number % 6 == 0))},
            state="drained" if edited and number % 3 == 2 else "active",
        )
        for number in range(clusters)
    ]
    made += [
        model(f"m{number:03}", replicas=4, workers=_workers(1 + number % 2))
        for number in range(max(clusters // 5, 2))
    ]
    made += [service(f"m{number:03}") for number in range(max(clusters // 5, 2))]
    if edited:
        made.append(model("large", replicas=max(clusters * 5 // 6, 3), workers=_workers(4), unplaced="Warn"))
    return made


def _workers(tensor: int) -> dict[str, object]:
    template = model()["spec"]["workers"]["template"]
    return {"topology": {"tensor": tensor}, "template": template}


def pictured(clusters: int, *, live: bool = False) -> Picture:
    base = side(loaded(fleet(clusters, edited=False), "prod"))
    head = side(loaded(fleet(clusters, edited=True), "prod"), base=base)
    compared = stack_digest("prod", base, head)
    problems = head.documents.located(
        (
            *head.notices,
            *announced_problems(head.desired, head.documents, head.lock, locked=False, preview=False),
            *blocking_problems(head.desired, head.documents, head.lock, locked=False, preview=False),
        )
    )
    silent: dict[str, Problem] = {
        each.connection.cluster: Problem("it does not answer", "Look at it") for each in head.desired.clusters
    }
    seen = status(head.desired, {**silent}, NOW) if live else None
    return picture(head, problems, base=COMMIT, compared=compared, live=seen)
