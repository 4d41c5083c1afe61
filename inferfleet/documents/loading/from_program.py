"""Fields of a Fleet's clusters that documents leave to its program, which hands them over.

Commands do not run that program. They take what a cluster was made with, which the lock knows, and what
somebody says in its place; of any other cluster they say what is missing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.loading.edits import Edit, apply_edits
from inferfleet.documents.loading.files import Source
from inferfleet.documents.problems import Problem, part_of
from inferfleet.documents.wording import listing, path_of, shown

_KIND = "InferenceCluster"
_GKE = ("spec", "cluster", "gke")
_NETWORK = "network.existing"
# Fields of a network, of which the last may be left out.
NETWORK_FIELDS = ("name", "subnetwork", "podsRange", "servicesRange", "project")
_FIELDS = ("project", *(f"{_NETWORK}.{name}" for name in NETWORK_FIELDS))
_HOST = _FIELDS[-1]


@dataclass(frozen=True)
class FromProgram:
    """What commands know of the fields, by cluster and path below its block `gke`, such as `project`."""

    made_with: Callable[[str, str], str | None]
    """What a field was when the cluster was made; None where no lock knows it."""
    options: str
    """Options by which commands find the Fleet."""
    given: tuple[Edit, ...] = ()
    """Edits of such fields, by which somebody says what the program hands over."""


def is_handed_over(edit: Edit) -> bool:
    """Return whether an edit is of a field that programs hand over."""
    return edit.kind == _KIND and edit.steps[: len(_GKE)] == _GKE and _path(edit) in _FIELDS


def edit_by_program(cluster: str, path: str, value: str) -> Edit:
    """Return the edit by which a program hands over a field. Of a network the document needs a block, by
    which commands know that there is something.
    """
    argument = "projects" if path == "project" else "networks"
    step = f"Remove cluster {cluster} from {argument}: only a cluster of source GKE has a block gke"
    needs: list[tuple[tuple[str, ...], str]] = [(_GKE, step)]
    if argument == "networks":
        step = "Write network: {existing: {}} below gke, by which commands see what the program hands over"
        needs.append((_steps(_NETWORK), step))
    written = f"{path.replace(_NETWORK, 'network')} of cluster {cluster} in the program"
    return Edit(_KIND, cluster, _steps(path), value, written, tuple(needs))


def completed(
    source: Source, cluster: str, from_program: FromProgram
) -> tuple[Source, list[Problem], list[str]]:
    """Return the document of a cluster with what its program hands over, problems, and the paths of fields
    that it lacks all the same, each of which is told.
    """
    open_fields = tuple(_open_fields(source.text.data))
    given = {_path(edit): edit for edit in from_program.given if edit.key == cluster}
    problems = [_not_open(edit) for path, edit in given.items() if path not in open_fields]
    edits, missing = [], []
    for path in open_fields:
        value = given[path].value if path in given else from_program.made_with(cluster, path)
        if value is not None:
            edits.append(Edit(_KIND, cluster, _steps(path), value, path))
        elif path != _HOST:
            missing.append(path)
    if missing:
        problems.append(_unknown(cluster, missing, from_program.options))
    completed_source, _ = apply_edits(source, edits)
    return completed_source, problems, [path_of(_steps(path)) for path in missing]


def _path(edit: Edit) -> str:
    return path_of(edit.steps[len(_GKE) :])


def _steps(path: str) -> tuple[str, ...]:
    return (*_GKE, *path.split("."))


def _open_fields(document: Any) -> Iterator[str]:
    """Yield the fields that a document leaves to its program: its project, and all that a network lacks of
    which something required is not there.
    """
    gke, network = part_of(document, _GKE), part_of(document, _steps(_NETWORK))
    if isinstance(gke, dict) and "project" not in gke:
        yield "project"
    if isinstance(network, dict) and not network.keys() >= {*NETWORK_FIELDS[:-1]}:
        yield from (f"{_NETWORK}.{name}" for name in NETWORK_FIELDS if name not in network)


def _not_open(edit: Edit) -> Problem:
    field = f"{_path(edit)} to the program of its Fleet"
    what = f"the document of cluster {shown(edit.key)} does not leave {field}: {shown(edit.written, 200)}"
    return Problem(what, "Change the document, or plan without writing the lock", path_of(edit.steps))


def _unknown(cluster: str, missing: list[str], options: str) -> Problem:
    what = f"cluster {shown(cluster)} has no {listing(missing)}: the program of the Fleet hands that over"
    sets = " ".join(f"--set {_KIND}/{shown(cluster)}.{path_of(_steps(path))}=VALUE" for path in missing)
    step = f"Say it once, and the lock knows it: `inferfleet plan {options} --write {sets}`"
    return Problem(f"{what}, and the lock does not know it yet", step, path_of(_GKE))
