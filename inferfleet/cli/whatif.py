"""What the options `--without` and `--set` ask for, as values; what they make of a stack."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

import typer

from inferfleet.cli.source import Source
from inferfleet.documents.loading.edits import Edit, parse_edit
from inferfleet.documents.loading.load import KINDS, NAMESPACED
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing, one_line, shown
from inferfleet.fleet.whatif import KINDS as LOSSES
from inferfleet.fleet.whatif import Loss, without

Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        help="Plan as if this were lost: cluster=NAME, pool=CLUSTER/NAME or reservation=NAME (PROJECT/NAME "
        "where two projects have one of that name). Repeat it for more.",
        show_default=False,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Plan as if a document had another value: KIND/NAME.PATH=VALUE, such as "
        "ModelDeployment/ml/qwen.spec.replicas=4. Brackets name entries of lists and keys of maps; null "
        "removes a field. Repeat it for more.",
        show_default=False,
    ),
]
NMinusOne = Annotated[
    bool,
    typer.Option(
        "--n-minus-one",
        help="Say which models lose replicas or all service with each cluster, pool and reservation, and "
        "the cheapest repair.",
    ),
]


def losses_asked(written: Iterable[str]) -> tuple[Loss, ...]:
    """Return what is lost. Raises click's UsageError for what cannot be read."""
    return tuple(_loss(text) for text in written)


def edits_asked(written: Iterable[str]) -> tuple[Edit, ...]:
    """Return the edits of documents. Raises click's UsageError for what cannot be read."""
    made = []
    for text in written:
        edit = parse_edit(text, KINDS, NAMESPACED)
        if isinstance(edit, Problem):
            raise typer.BadParameter(one_line(f"{edit.what}. {edit.next_step}"), param_hint="--set")
        made.append(edit)
    return tuple(made)


def as_if(source: Source, lost: tuple[Loss, ...]) -> Source:
    """Return the stack without what is lost. Raises InvalidDocuments for what there is not."""
    if not lost:
        return source
    documents, lock = without(source.documents, source.lock, lost)
    return replace(source, documents=documents, lock=lock)


def _loss(written: str) -> Loss:
    kind, equals, name = written.partition("=")
    for known in LOSSES:
        if kind == known and equals and name:
            return Loss(known, name)
    if kind in LOSSES and equals:
        raise typer.BadParameter(f"{shown(written)!r} has no name: {kind}=...", param_hint="--without")
    forms = listing([f"{known}=..." for known in LOSSES])
    raise typer.BadParameter(f"{shown(written)!r} is none of {forms}", param_hint="--without")
