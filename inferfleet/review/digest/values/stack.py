"""The digest: what changes for people, stack by stack."""

from dataclasses import dataclass
from typing import Literal

from inferfleet.documents.problems import Severity
from inferfleet.review.digest.values.files import File
from inferfleet.review.digest.values.models import Drain, Missing, Model, Plugin, Route
from inferfleet.review.digest.values.nodes import Cluster, Cost, Pool, Quota, Reservation, Resource, Use
from inferfleet.review.digest.values.written import Waiver, Written

State = Literal["unchanged", "added", "removed", "changed", "refused", "not compared"]


@dataclass(frozen=True)
class Told:
    """One problem, warning or notice, at its line."""

    severity: Severity
    """`error`, `warning` or `notice`."""
    what: str
    """What is the matter, in one sentence without a full stop."""
    step: str
    """What to do next."""
    file: str
    """File relative to the project's folder, `""` where no file of the project is to blame."""
    line: int
    """Line in the file, from 1; 0 without a file."""
    path: str
    """Field of the document or setting, `""` for the whole of it."""
    new: bool
    """Whether the base does not say it."""
    catalogue: str = ""
    """Class of the catalogue that comes with inferfleet which it is about, `""` where it is about none. Then
    there is no file.
    """


@dataclass(frozen=True)
class Stack:
    """What changes for people in one stack."""

    stack: str
    """Its name."""
    state: State
    """`refused`: its documents or lock have errors. `not compared`: those of the base have. `removed`: the
    project has it no more, which changes nothing where it runs."""
    models: tuple[Model, ...] = ()
    """Models that come, go, move, restart or change in number, those with gaps and most GPUs first."""
    missing: tuple[Missing, ...] = ()
    """Replicas without a place afterwards."""
    drains: tuple[Drain, ...] = ()
    """Clusters that replicas should leave."""
    services: tuple[Route, ...] = ()
    """Routes of services that change."""
    clusters: tuple[Cluster, ...] = ()
    """Clusters that change."""
    pools: tuple[Pool, ...] = ()
    """Pools that change."""
    uses: tuple[Use, ...] = ()
    """Classes of which other nodes are used or paid for."""
    costs: tuple[Cost, ...] = ()
    """What all nodes with a price cost, by currency."""
    unpriced: tuple[int, int] = (0, 0)
    """Nodes without a known price, before and after."""
    quotas: tuple[Quota, ...] = ()
    """Quotas of which more is needed."""
    reservations: tuple[Reservation, ...] = ()
    """Reservations that new pools need."""
    plugins: tuple[Plugin, ...] = ()
    """Plugins whose output changes."""
    waivers: tuple[Waiver, ...] = ()
    """Waivers of policies that come, go or say something else."""
    written: tuple[Written, ...] = ()
    """Settings, policies, connections and other fields that differ and that nothing else here tells."""
    resources: tuple[Resource, ...] = ()
    """Every resource that an update touches."""
    problems: tuple[Told, ...] = ()
    """All problems, warnings and notices, those of the base too (not `new`)."""
    gone: tuple[Told, ...] = ()
    """What the base says and this version does not."""


@dataclass(frozen=True)
class Digest:
    """What changes for people between a commit and the working tree."""

    base: str
    """The commit that is compared with, its whole hash."""
    head: str
    """The commit of HEAD, its whole hash, `""` where there is none yet."""
    merges: str
    """The commit that HEAD merges into the base, as hosts check out what somebody proposes, else `""`."""
    uncommitted: bool
    """Whether tracked files of the project differ from HEAD, or files are new that inferfleet reads."""
    folder: str
    """Folder of the project in its repository, with a slash at the end, `""` for its top."""
    files: tuple[File, ...]
    """Files that differ, and by which programs, packages, access or rules of an update become others."""
    others: int
    """Number of other files of the repository that differ and that a digest does not read."""
    remarks: tuple[Told, ...]
    """What is odd about the comparison itself."""
    stacks: tuple[Stack, ...]
    """All stacks of both sides, by name."""
