"""What the etcd of a new cluster begins with: the CRDs, as the API server of an earlier cluster stored them.

Defining them costs an API server more than its start. A seed holds nothing else, so that a cluster from it
makes its namespaces, accounts and addresses itself. It only saves time: without one, clusters are made too.
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

# Of a cluster's folder: etcd's data, by kwokctl's name for it, and what is known of the CRDs in it.
DATA, RECORD = "etcd", "definitions.json"
# Where the API server keeps the objects of the CRD files, by their kinds.
PREFIXES = {
    "customresourcedefinition": "/registry/apiextensions.k8s.io/customresourcedefinitions",
    "validatingadmissionpolicy": "/registry/validatingadmissionpolicies",
    "validatingadmissionpolicybinding": "/registry/validatingadmissionpolicybindings",
}


def digest(files: Iterable[Path]) -> str:
    """Of the files' names and contents, in any order."""
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()[:12]


def seed(tools: Tools, files: Iterable[Path]) -> Path:
    """The folder of the seed with exactly these files, whether it is there or not.

    Others for other programs: they may store the objects in another way.
    """
    programs = [tools.program(name).resolve() for name in ("etcd", "kube-apiserver")]
    kept = [(str(one), one.stat().st_size, one.stat().st_mtime_ns) for one in programs]
    stored = hashlib.sha256(repr(kept).encode()).hexdigest()[:12]
    return cache_folder() / "seeds" / f"{digest(files)}-{stored}"


def plant(seed: Path, cluster: Path) -> bool:
    """The folder of a cluster that never ran begins with the seed. False where none can be read."""
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
    """No other cluster begins with it."""
    aside = seed.with_name(f"{seed.name}.{os.getpid()}")
    with suppress(OSError):
        seed.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def keep(seed: Path, names: Iterable[str], *, port: int, record: Path, etcd: Path, scratch: Path) -> None:
    """Makes the seed of these objects (kind/name) from the etcd at the port, or leaves none.

    `etcd` is the program. It is started by a name in `scratch`, of the stack's folder: should it outlive its
    caller, it is found, and ended, like a cluster.
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
            prepared.unlink()  # 64 MB of zeros that etcd makes again
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
    """The keys of objects (kind/name) in etcd. KeyError for a kind whose place is not known."""
    split = [name.split("/") for name in names]
    return [f"{PREFIXES[kind]}/{name}" for kind, name in split]
