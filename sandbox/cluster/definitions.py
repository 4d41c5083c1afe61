"""Installs the CRDs of a cluster, unless a record says that they are there already.

Applying them again when nothing has changed costs the API server as much as the first time.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.cluster import seeds
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.kwok import SCRATCH, KwokCluster
from sandbox.cluster.populate import wait
from sandbox.problem import SandboxProblem

_CRD = "customresourcedefinition"
_EACH = (
    "{range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.metadata.generation} "
    '{.status.conditions[?(@.type=="Established")].status}{"\\n"}{end}'
)


@dataclass(frozen=True)
class InstalledCrds:
    """The digest of the applied files, and `uid generation` of each of their objects, by its kind/name.

    A generation counts the changes of a spec, and a new object has a new uid. An object that has both
    unchanged is still what the files said.
    """

    digest: str
    objects: dict[str, str]


def define(cluster: KwokCluster, kubectl: Kubectl, files: tuple[Path, ...]) -> None:
    """Make the running cluster serve what the files define, its schema included.

    The first cluster that never had other definitions leaves a seed for later ones.
    """
    _define(cluster, kubectl, files)
    serve_schema(kubectl)


def serve_schema(kubectl: Kubectl) -> None:
    """Make the running API server build the schema that clients validate with, and wait for it.

    It builds it when it is first asked. Pulumi's provider and `kubectl apply` give up on that after 32 s,
    which a busy machine may need; a raw request waits.
    """
    kubectl("get", "--raw", "/openapi/v2")


def _define(cluster: KwokCluster, kubectl: Kubectl, files: tuple[Path, ...]) -> None:
    wanted = seeds.digest(files)
    known = read(cluster.folder / seeds.RECORD)
    if known and known.digest == wanted and _is_current(known, kubectl):
        return
    names = apply(kubectl, files)
    present = _present(kubectl, names)
    record = InstalledCrds(wanted, {name: present[name] for name in names if name in present})
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
    """Apply the files, wait until their CRDs are served, and return the kind/name of each object."""
    flags = [flag for file in files for flag in ("-f", str(file))]
    applied = kubectl("apply", "--server-side", "--force-conflicts", "-o", "name", *flags).split()
    wait(kubectl, "--for=condition=Established", *(name for name in applied if name.startswith(f"{_CRD}.")))
    return tuple(name_of(name) for name in applied)


def name_of(printed: str) -> str:
    """Return kind/name for the kind.group/name that kubectl prints."""
    kind, _, name = printed.partition("/")
    return f"{kind.partition('.')[0]}/{name}"


def served(printed: str) -> dict[str, str]:
    """Return `uid generation` by kind/name for printed objects, without CRDs that are not served."""
    versions = {}
    for line in printed.splitlines():
        kind, name, uid, generation, established = line.split(" ")
        if kind.lower() != _CRD or established == "True":
            versions[f"{kind.lower()}/{name}"] = f"{uid} {generation}"
    return versions


def fresh(record: InstalledCrds, names: Iterable[str]) -> bool:
    """Return whether each of the objects exists and has not changed since it was created."""
    return set(record.objects) == set(names) and all(
        version.endswith(" 1") for version in record.objects.values()
    )


def read(file: Path) -> InstalledCrds | None:
    """Return the record in the file, or None when there is none or it is damaged."""
    try:
        return InstalledCrds(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write(file: Path, record: InstalledCrds) -> None:
    """Write the record to the file."""
    file.write_text(json.dumps(asdict(record), indent=1))


def _is_current(record: InstalledCrds, kubectl: Kubectl) -> bool:
    try:
        return record.objects.items() <= _present(kubectl, record.objects).items()
    except SandboxProblem:
        return False


def _present(kubectl: Kubectl, names: Iterable[str]) -> dict[str, str]:
    kinds = sorted({name.partition("/")[0] for name in names})
    return served(kubectl("get", ",".join(kinds), "-o", f"jsonpath={_EACH}"))
