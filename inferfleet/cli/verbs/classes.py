"""`inferfleet classes`: the kinds of nodes in the catalogue."""

import os.path
from dataclasses import astuple
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import typer

from inferfleet.cli.output import print_line, print_yaml
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.show.classes import Search, print_classes
from inferfleet.cli.show.manifests import manifest_text
from inferfleet.cli.source import AsJson, StackName, catalogue, read_source
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.loading.load import load
from inferfleet.documents.loading.project import find_root, stacks_of
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import one_of, shown

NamesOrPaths = Annotated[
    list[str] | None,
    typer.Argument(help="Classes to show in full, or paths of further documents.", show_default=False),
]
Gpu = Annotated[
    str | None,
    typer.Option("--gpu", help="Words of the GPU's name: L4, H100, Hopper.", show_default=False),
]
Count = Annotated[int | None, typer.Option("--count", min=1, help="GPUs per node.", show_default=False)]
MinMemory = Annotated[
    str | None,
    typer.Option(
        "--min-memory",
        help="Memory of each GPU, such as 75Gi. Drivers report less than the name says: an H100 of 80 GB "
        "has 79.6Gi.",
        show_default=False,
    ),
]
Provider = Annotated[
    Literal["GKE", "EKS", "AKS", "Nebius", "Vultr", "none"] | None,
    typer.Option(
        "--provider",
        help="Who provisions the nodes; none: they exist already.",
        case_sensitive=False,
        show_default=False,
    ),
]


def classes(
    names: NamesOrPaths = None,
    gpu: Gpu = None,
    count: Count = None,
    min_memory: MinMemory = None,
    provider: Provider = None,
    stack: StackName = None,
    as_json: AsJson = False,
) -> None:
    """List the classes of the catalogue and the stack, all or those that match, or show some in full."""
    paths = [Path(word) for word in names or [] if _is_path(word)]
    wanted = [word for word in names or [] if not _is_path(word)]
    with reporting(as_json=as_json) as report:
        search = Search(gpu, count, _bytes(min_memory), provider)
        if wanted and any(criterion is not None for criterion in astuple(search)):
            raise typer.BadParameter("name classes or search for them, not both", param_hint="NAMES")
        documents = _documents(paths, stack)
        report.documents = documents
        report.problems += documents.notices
        known = dict(sorted(documents.classes.items()))
        report.problems += [
            Problem(f"there is no class {shown(name)!r}", one_of(name, known, "Known classes"))
            for name in wanted
            if name not in known
        ]
        if not report.failed:
            chosen = [known[name] for name in wanted]
            chosen = chosen or [document for document in known.values() if search.matches(document)]
            _show(report, chosen, full=bool(wanted), as_json=as_json)


def _bytes(quantity: str | None) -> Decimal | None:
    try:
        return None if quantity is None else parse_quantity(quantity)
    except ValueError as wrong:
        raise typer.BadParameter(str(wrong), param_hint="--min-memory") from None


def _is_path(word: str) -> bool:
    return "/" in word or word.endswith((".yaml", ".yml")) or os.path.exists(word)


def _documents(paths: list[Path], stack: str | None) -> Documents:
    """Return the documents of the stack, if one is named or there is only one, and else the catalogue."""
    if paths or stack is not None:
        return read_source(paths, stack).documents
    try:
        several = len(stacks_of(find_root(Path.cwd()))) != 1
    except InvalidDocuments:
        several = True
    return load([], catalogue=catalogue()) if several else read_source(None, None).documents


def _show(report: Report, chosen: list[InferenceClass], *, full: bool, as_json: bool) -> None:
    written = [class_.model_dump(mode="json", by_alias=True, exclude_none=True) for class_ in chosen]
    if as_json:
        report.values["classes"] = written
    elif full:
        print_yaml("---\n".join(manifest_text(class_, as_format="yaml") for class_ in written))
    elif chosen:
        print_classes(chosen)
    else:
        print_line("no class matches")
