"""The CustomResourceDefinitions of a cluster: known to be there by a record, or applied.

Applying them again where nothing changes costs the API server as much as the first time.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.cluster import seeds
from sandbox.cluster.furnish import wait
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.kwok import SCRATCH, KwokCluster
from sandbox.problem import SandboxProblem

_CRD = "customresourcedefinition"
_EACH = (
    "{range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.metadata.generation} "
    '{.status.conditions[?(@.type=="Established")].status}{"\\n"}{end}'
)


@dataclass(frozen=True)
class Record:
    """What came of the files: uid and generation of each object by its kind/name.

    A generation counts the changes of a spec, and a new object has a new uid: one that has both still says
    what the files said.
    """

    digest: str
    objects: dict[str, str]


def define(cluster: KwokCluster, kubectl: Kubectl, files: tuple[Path, ...]) -> None:
    """What the files define is in the running cluster and served.

    The first cluster that never had other definitions leaves a seed for the next ones.
    """
    wanted = seeds.digest(files)
    known = read(cluster.folder / seeds.RECORD)
    if known and known.digest == wanted and _holds(known, kubectl):
        return
    names = apply(kubectl, files)
    there = _standing(kubectl, names)
    record = Record(wanted, {name: there[name] for name in names if name in there})
    write(cluster.folder / seeds.RECORD, record)
    if known is None and fresh(record, names):
        seeds.keep(
            seeds.seed(kubectl.tools, files),
            names,
            port=cluster.etcd_port,
            record=cluster.folder / seeds.RECORD,
            etcd=kubectl.tools.program("etcd"),
            scratch=cluster.places.kwok / SCRATCH,
        )


def apply(kubectl: Kubectl, files: Iterable[Path]) -> tuple[str, ...]:
    """Applies the files and waits until their CRDs are served. The kind/name of each object."""
    given = [argument for file in files for argument in ("-f", str(file))]
    printed = kubectl("apply", "--server-side", "--force-conflicts", "-o", "name", *given).split()
    wait(kubectl, "--for=condition=Established", *(one for one in printed if one.startswith(f"{_CRD}.")))
    return tuple(name_of(one) for one in printed)


def name_of(printed: str) -> str:
    """kind/name, of the kind.group/name that kubectl prints."""
    kind, _, name = printed.partition("/")
    return f"{kind.partition('.')[0]}/{name}"


def served(printed: str) -> dict[str, str]:
    """`uid generation` by kind/name, from what kubectl printed of all objects; of CRDs, the served ones."""
    found = {}
    for line in printed.splitlines():
        kind, name, uid, generation, established = line.split(" ")
        if kind.lower() != _CRD or established == "True":
            found[f"{kind.lower()}/{name}"] = f"{uid} {generation}"
    return found


def fresh(record: Record, names: Iterable[str]) -> bool:
    """True when each of the objects is there, and is as it was first made."""
    return set(record.objects) == set(names) and all(one.endswith(" 1") for one in record.objects.values())


def read(file: Path) -> Record | None:
    """None when there is none, or one that says nothing."""
    try:
        return Record(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write(file: Path, record: Record) -> None:
    file.write_text(json.dumps(asdict(record), indent=1))


def _holds(record: Record, kubectl: Kubectl) -> bool:
    try:
        return record.objects.items() <= _standing(kubectl, record.objects).items()
    except SandboxProblem:
        return False


def _standing(kubectl: Kubectl, names: Iterable[str]) -> dict[str, str]:
    kinds = sorted({name.partition("/")[0] for name in names})
    return served(kubectl("get", ",".join(kinds), "-o", f"jsonpath={_EACH}"))
