"""Seeds: the etcd data a new cluster starts with, which holds the CRDs as an earlier API server stored them.

Defining CRDs costs an API server more than its start. A seed holds nothing else, so a cluster that starts
with it creates its own namespaces, accounts and addresses. Seeds only save time.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sandbox.cluster.etcd import EtcdError, bare_etcd, put, value
from sandbox.places import cache_folder
from sandbox.toolchain.tools import Tools

# In a cluster's folder: etcd's data, under kwokctl's name for it, and the record of its CRDs.
DATA, RECORD = "etcd", "definitions.json"
# The prefixes of the keys in etcd under which the API server stores the objects of the CRD files, by kind.
PREFIXES = {
    "customresourcedefinition": "/registry/apiextensions.k8s.io/customresourcedefinitions",
    "validatingadmissionpolicy": "/registry/validatingadmissionpolicies",
    "validatingadmissionpolicybinding": "/registry/validatingadmissionpolicybindings",
}


def digest(files: Iterable[Path]) -> str:
    """Return a digest of the files' names and contents, whatever their order."""
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()[:12]


def seed(tools: Tools, files: Iterable[Path]) -> Path:
    """Return the folder of the seed with exactly these files, whether it exists or not.

    It depends on the programs of etcd and API server too, because others may store the objects differently.
    """
    binaries = [tools.program(name).resolve() for name in ("etcd", "kube-apiserver")]
    identities = [(str(binary), binary.stat().st_size, binary.stat().st_mtime_ns) for binary in binaries]
    programs = hashlib.sha256(repr(identities).encode()).hexdigest()[:12]
    return cache_folder() / "seeds" / f"{digest(files)}-{programs}"


def plant(seed: Path, cluster: Path) -> bool:
    """Copy the seed into the folder of a new cluster. Return False when there is no readable seed."""
    if not seed.is_dir():
        return False
    cluster.mkdir(parents=True, exist_ok=True)
    # Most of etcd's log is a hole, which `cp` keeps and shutil would fill.
    try:
        subprocess.run(["cp", "-r", f"{seed}/.", str(cluster)], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        shutil.rmtree(cluster / DATA, ignore_errors=True)
        (cluster / RECORD).unlink(missing_ok=True)
        return False
    return True


def discard(seed: Path) -> None:
    """Remove the seed, so that no other cluster starts with it."""
    aside = seed.with_name(f"{seed.name}.{os.getpid()}")
    with suppress(OSError):
        seed.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def keep(seed: Path, names: Iterable[str], *, port: int, record: Path, etcd: Path, scratch: Path) -> None:
    """Make the seed of these objects (kind/name) from the etcd at the port, or leave none.

    `etcd` is the program. It is started through a link in `scratch`, a folder of the stack, so that it is
    found and ended like a cluster should it outlive its caller.
    """
    work = scratch / f"seed-{os.getpid()}-{port}"
    finished = seed.with_name(f"{seed.name}.{os.getpid()}-{port}")
    try:
        keys = keys_of(names)
        program = work / "bin" / "etcd"
        program.parent.mkdir(parents=True)
        program.symlink_to(etcd)
        with bare_etcd(program, work / DATA) as own:
            for key in keys:
                put(own, key, value(port, key))
        for prepared in (work / DATA / "member" / "wal").glob("*.tmp"):
            prepared.unlink()  # 64 MB of zeros that etcd allocates again
        finished.mkdir(parents=True)
        copy = ["cp", "-r", "--sparse=always", str(work / DATA), str(finished)]
        subprocess.run(copy, capture_output=True, check=True)
        shutil.copy(record, finished / RECORD)
        finished.rename(seed)
    except (OSError, EtcdError, subprocess.CalledProcessError, KeyError):
        pass  # another process was faster, or the next cluster may try
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(finished, ignore_errors=True)


def keys_of(names: Iterable[str]) -> list[str]:
    """Return the keys of objects (kind/name) in etcd. Raises KeyError for a kind without a known prefix."""
    split = [name.split("/") for name in names]
    return [f"{PREFIXES[kind]}/{name}" for kind, name in split]
