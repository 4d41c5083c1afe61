"""`inferfleet report`: one picture of the fleet, in one file for a browser."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from inferfleet.cli.output import print_line
from inferfleet.cli.report import reporting
from inferfleet.cli.show.manifests import refuse_links
from inferfleet.cli.sides import compared
from inferfleet.cli.source import (
    AsJson,
    ByFile,
    FleetFolder,
    FleetLock,
    FleetName,
    StackName,
    edits_by_file,
    fleet_place,
    read_source,
)
from inferfleet.cli.verbs.report_page import page
from inferfleet.clusters.status.values import Status
from inferfleet.desired.gate import announced_problems, blocking_problems
from inferfleet.documents.loading.files import write_text
from inferfleet.review.commit import Revision
from inferfleet.review.digest.update import Side
from inferfleet.review.digest.values import StackDigest
from inferfleet.review.picture import picture

File = Annotated[Path, typer.Option("--output", "-o", help="Write this HTML file.")]
Base = Annotated[
    str | None,
    typer.Option(
        "--base",
        help="Mark what changes against this commit: a branch, a tag, or a hash.",
        show_default=False,
    ),
]
Live = Annotated[bool, typer.Option("--live", help="Ask the clusters, and show phases as `status` does.")]


def report(
    output: File,
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    kubeconfig: ByFile = None,
    base: Base = None,
    live: Live = False,
    as_json: AsJson = False,
) -> None:
    """Write one picture of the fleet as an HTML file: clusters and pools with their GPUs and who fills them,
    models with where and why, services with weights, cost, replicas without a place, and problems.

    The file needs no network and no script to be read. Without --live nobody is asked, and equal documents
    and locks give an equal file.
    """
    with reporting(as_json=as_json) as outcome:
        place = fleet_place(folder, stack, fleet, lock_file)
        source = read_source(None, stack, fleet=place, edits=edits_by_file(kubeconfig))
        root = source.root
        outcome.documents = source.documents
        head = Side(source.documents, source.lock, source.desired(), source.notices, day=source.today)
        before: Revision | None = None
        differences: StackDigest | None = None
        if base is not None:
            head, before, differences = compared(root, place or source.documents.settings.stack, base)
            outcome.problems += before.notices
        problems = source.documents.located(
            (
                *head.notices,
                *announced_problems(head.desired, head.documents, head.lock, locked=False, preview=False),
                *blocking_problems(head.desired, head.documents, head.lock, locked=False, preview=False),
                *source.policy_problems(head.desired),
            )
        )
        status = _look(head, root) if live else None
        drawn = picture(
            head,
            problems,
            base=before.commit if before else "",
            head=before.head if before else "",
            merges=before.merges if before else "",
            uncommitted=before.uncommitted if before else False,
            compared=differences,
            live=status,
        )
        outcome.values |= asdict(drawn)
        refuse_links(output.parent, [output.name])
        write_text(output, page(drawn))
        if not as_json:
            print_line(f"{output} is written")


def _look(side: Side, root: Path) -> Status:
    """Return what clusters say now; only this needs the libraries that ask them."""
    from inferfleet.cli.verbs.status import look
    from inferfleet.clusters.connections.git import Repository

    return look(side.desired, Repository(root, side.documents.settings.trust_repository_kubeconfigs))
