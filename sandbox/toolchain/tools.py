"""The toolchain as the rest of the sandbox uses it: the path of each program, and a PATH with all of them."""

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sandbox.problem import SandboxProblem
from sandbox.toolchain.parts import CRDS, GKE_AUTOSCALING, GKE_NETWORKS, ISTIO, LWS, PROVIDER, Part
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.resolve import Resolved, programs, resolve, store, without
from sandbox.toolchain.supply import bring


@dataclass(frozen=True)
class Tools:
    """A complete toolchain. `path` has the programs from the cache before the caller's PATH."""

    parts: tuple[Resolved, ...]
    path: str

    @property
    def own(self) -> Path:
        """The folder with all programs from the cache."""
        return Path(self.path.partition(os.pathsep)[0])

    def program(self, name: str) -> Path:
        """Return the path of a program. Raises SandboxProblem."""
        path = shutil.which(name, path=self.path)
        if path is None:
            raise SandboxProblem(f"the program {name} is missing. Run `inferfleet sandbox up`.")
        return Path(path)

    @property
    def crds(self) -> tuple[Path, ...]:
        """The files of the CustomResourceDefinitions a platform cluster has."""
        return tuple(sorted((self.folder(CRDS.name) / "crds").iterdir()))

    @property
    def gke_networks(self) -> tuple[Path, ...]:
        """The files of the CustomResourceDefinitions of clusters of GKE with many networks."""
        return tuple(sorted((self.folder(GKE_NETWORKS.name) / "crds").iterdir()))

    @property
    def gke_autoscaling(self) -> tuple[Path, ...]:
        """The files of the CustomResourceDefinitions by which the autoscaler of GKE is asked for nodes."""
        return tuple(sorted((self.folder(GKE_AUTOSCALING.name) / "crds").iterdir()))

    @property
    def lws(self) -> Path:
        """The folder with the files of the LeaderWorkerSet controller: `crds` and `webhooks`."""
        return self.folder(LWS.name)

    @property
    def istio_crds(self) -> tuple[Path, ...]:
        """The files of the CustomResourceDefinitions of Istio."""
        return tuple(sorted((self.folder(CRDS.name) / "istio-crds").iterdir()))

    @property
    def istio(self) -> Path:
        """The folder with the files that istiod makes the pods of Gateways from."""
        return self.folder(ISTIO.name) / "istio"

    @property
    def provider(self) -> Path:
        """The executable of the Kubernetes provider plugin."""
        return self.folder(PROVIDER.name) / PROVIDER.programs[0].name

    def has(self, part: Part) -> bool:
        """Return whether a part is there that only some stacks need."""
        return any(resolved.part == part and resolved.folder for resolved in self.parts)

    def folder(self, name: str) -> Path:
        folder = next((resolved.folder for resolved in self.parts if resolved.part.name == name), None)
        if folder is None:
            raise SandboxProblem(f"part {name} of the toolchain is missing. Run `inferfleet sandbox up`.")
        return folder


def make_tools(
    progress: Progress,
    extra: Iterable[Part] = (),
    *,
    spare: Iterable[Part] = (),
    begin: Callable[[], None] = lambda: None,
) -> Tools:
    """Return the toolchain, after fetching or building what is missing: minutes on the first run.

    Of the parts that only some stacks need, `extra` are built where they cannot be fetched, and `spare` are
    not. `begin` is called before what takes minutes.
    """
    needed, dispensable = tuple(extra), tuple(spare)
    resolved = resolve((*needed, *dispensable))
    if missing := [part.part for part in resolved if part.source == "missing"]:
        bring(missing, dispensable, progress, begin)
    return _tools(resolve(needed))


def present_tools() -> Tools | None:
    """Return the toolchain if every part is there already, else None."""
    parts = resolve()
    return None if any(resolved.source == "missing" for resolved in parts) else _tools(parts)


def _tools(parts: tuple[Resolved, ...]) -> Tools:
    rest = without(store(), os.environ.get("PATH", ""))
    return Tools(parts, os.pathsep.join([str(programs(parts)), rest]))
