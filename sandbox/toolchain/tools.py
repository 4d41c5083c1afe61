"""The toolchain as the rest of the sandbox uses it: where a program is, and the PATH that finds them all."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from sandbox.problem import SandboxProblem
from sandbox.toolchain.parts import CRDS, PROVIDER
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.resolve import Resolved, programs, ready, resolve, store, without


@dataclass(frozen=True)
class Tools:
    """A complete toolchain. `path` begins with the programs from the cache and goes on with the caller's."""

    parts: tuple[Resolved, ...]
    path: str

    def program(self, name: str) -> Path:
        found = shutil.which(name, path=self.path)
        if found is None:
            raise SandboxProblem(f"the program {name} is missing. Run `inferfleet sandbox up`.")
        return Path(found)

    @property
    def crds(self) -> tuple[Path, ...]:
        """The files of the CustomResourceDefinitions a platform cluster has."""
        return tuple(sorted((self._folder(CRDS.name) / "crds").iterdir()))

    @property
    def provider(self) -> Path:
        """The executable of the Kubernetes provider plugin."""
        return self._folder(PROVIDER.name) / PROVIDER.programs[0].name

    def _folder(self, name: str) -> Path:
        folder = next((one.folder for one in self.parts if one.part.name == name), None)
        if folder is None:
            raise SandboxProblem(f"part {name} of the toolchain is missing. Run `inferfleet sandbox up`.")
        return folder


def make_tools(progress: Progress) -> Tools:
    """The toolchain, with what is missing fetched or built: minutes on the first run, nothing later."""
    return _tools(ready(progress))


def present_tools() -> Tools | None:
    """The toolchain when every part is there already, else None."""
    parts = resolve()
    return None if any(one.source == "missing" for one in parts) else _tools(parts)


def _tools(parts: tuple[Resolved, ...]) -> Tools:
    rest = without(store(), os.environ.get("PATH", ""))
    return Tools(parts, os.pathsep.join([str(programs(parts)), rest]))
