"""A project of its own for end-to-end tests: the program as it is, documents as the test writes them."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent.parent
# What the program consists of; the code is the very code under test, seen through a link.
PROGRAM = ("inferfleet", "sandbox", ".venv")

Operations = dict[str, str]  # "<Kind> <Pulumi name>" -> create | update | delete | replace | ...
QUIET = {"same", "read", "refresh"}
# The provider of the engine itself, by which a program reads its state.
_OWN = "::pulumi:providers:pulumi::default"


@dataclass(frozen=True)
class Run:
    """What the engine did in one command, by resource, and what it printed."""

    code: int
    output: str
    operations: Operations
    timeline: tuple[str, ...]  # "start <Kind> <name>" and "done <Kind> <name>", as it went
    changed: dict[str, tuple[str, ...]]  # resource -> paths that differ
    forced: dict[str, tuple[str, ...]]  # resource -> those of them that only another one can have
    seconds: dict[str, int]  # resource -> from start to done, of what came that far


@dataclass(frozen=True)
class Project:
    """A folder like a checkout, with one stack. `environment` is the sandbox's."""

    root: Path
    stack: str
    environment: Mapping[str, str]

    @property
    def documents(self) -> Path:
        return self.root / "stacks" / self.stack

    @property
    def lock_file(self) -> Path:
        return self.documents / "placement.lock"

    def write(self, name: str, *documents: Mapping[str, Any]) -> None:
        (self.documents / f"{name}.yaml").write_text(yaml.safe_dump_all(documents))

    def begin(self, **files: Sequence[Mapping[str, Any]]) -> None:
        """Exactly these files of documents, no lock, and settings as they come."""
        for path in self.documents.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, documents in files.items():
            self.write(name, *documents)
        self.configure()

    def configure(self, **settings: Any) -> None:
        values: dict[str, Any] = {
            "pulumi:disable-default-providers": ["kubernetes", "gcp"],
            # The sandbox writes its kubeconfigs into the project.
            "inferfleet:trustRepositoryKubeconfigs": True,
        }
        values |= {f"inferfleet:{name.rstrip('_')}": value for name, value in settings.items()}
        path = self.root / "stacks" / f"Pulumi.{self.stack}.yaml"
        kept = yaml.safe_load(path.read_text()) if path.exists() else {}
        path.write_text(yaml.safe_dump({**kept, "config": values}))

    @contextmanager
    def with_code(self, code: str) -> Iterator[None]:
        """Run this code before the program, until the block ends: what another version of it does."""
        program, start = self.root / "__main__.py", 'if __name__ == "__main__":'
        before, found, rest = program.read_text().partition(start)
        if not found:
            raise RuntimeError(f"{program} has no line {start}")
        program.write_text(before + code + found + rest)
        try:
            yield
        finally:
            shutil.copy(ROOT / "__main__.py", program)

    def up(self, *flags: str) -> Run:
        return self.engine("up", "--yes", "--skip-preview", *flags)

    def preview(self, *flags: str) -> Run:
        return self.engine("preview", *flags)

    def destroy(self) -> Run:
        return self.engine("destroy", "--yes", "--skip-preview")

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("inferfleet", *arguments)

    def kubectl(self, cluster: str, *arguments: str) -> str:
        """What kubectl prints, asked of one cluster. Fails loudly."""
        kubeconfig = self.root / ".sandbox" / self.stack / f"{cluster}.kubeconfig"
        done = self.run("kubectl", "--kubeconfig", str(kubeconfig), *arguments)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def items(self, cluster: str, kind: str, *arguments: str) -> list[dict[str, Any]]:
        """The objects of a kind in all namespaces of a cluster."""
        found = json.loads(self.kubectl(cluster, "get", kind, "-A", "-o", "json", *arguments))
        return list(found["items"])

    def broken(self, cluster: str) -> dict[str, str]:
        """What `status` says of each object of the cluster that does not serve, by kind and name."""
        told = json.loads(self.cli("status", "--stack", self.stack, "--json").stdout)
        endpoints = [one for deployment in told["deployments"] for one in deployment["endpoints"]]
        parts = [one[kind] for one in endpoints for kind in ("picker", "pool", "route")]
        parts += [one for each in told["services"] for one in each["routes"]]
        return {
            one["object"]: one["message"]
            for one in parts
            if one["cluster"] == cluster and one["phase"] != "Ready"
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.root,
            # Without it the engine knows no --event-log.
            env={**self.environment, "PULUMI_DEBUG_COMMANDS": "true"},
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
        )

    def state(self) -> list[str]:
        """Every resource of the stack's state, as `<Kind> <name>`, without the engine's own provider."""
        exported = self.run("pulumi", "stack", "export", "--stack", self.stack)
        resources = json.loads(exported.stdout)["deployment"].get("resources", [])
        return sorted(_short(urn) for resource in resources if not (urn := resource["urn"]).endswith(_OWN))

    def engine(self, verb: str, *flags: str) -> Run:
        """One command of the engine, and what it did."""
        handle, log = tempfile.mkstemp(suffix=".events")
        os.close(handle)
        try:
            done = self.run(
                "pulumi", verb, "--stack", self.stack, "--non-interactive", "--event-log", log, *flags
            )
        except subprocess.TimeoutExpired as late:
            output = "".join((part or b"").decode() for part in (late.stdout, late.stderr))
            raise AssertionError(f"{late}; not done: {_begun(_events(log))}\n{output}") from None
        events = _events(log)
        Path(log).unlink()
        return _read(events, code=done.returncode, output=done.stdout + done.stderr)


def checkout(root: Path, stack: str) -> Project:
    """A folder like a checkout, whose one stack has no documents yet. The program in it is this one's."""
    for name in PROGRAM:
        (root / name).symlink_to(ROOT / name)
    # A copy, because a link that leads out of a project is not read.
    shutil.copytree(ROOT / "classes", root / "classes")
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, root / name)
    made = Project(root, stack, {})
    made.documents.mkdir(parents=True)
    return made


def _events(log: str) -> list[dict[str, Any]]:
    """What an engine wrote of its steps. The last line of one that was killed may be half a line."""
    lines = Path(log).read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _begun(events: list[dict[str, Any]]) -> list[str]:
    """What an engine began and had not done."""
    steps = {line.partition(" ")[::2] for line in _read(events, code=0, output="").timeline}
    done = {name for word, name in steps if word == "done"}
    return sorted(name for word, name in steps if word == "start" and name not in done)


def _read(events: list[dict[str, Any]], *, code: int, output: str) -> Run:
    operations: Operations = {}
    changed: dict[str, tuple[str, ...]] = {}
    forced: dict[str, tuple[str, ...]] = {}
    begun: dict[str, int] = {}
    seconds: dict[str, int] = {}
    timeline: list[str] = []
    for event in events:
        for kind, word in (("resourcePreEvent", "start"), ("resOutputsEvent", "done")):
            step = event.get(kind, {}).get("metadata", {"op": "same"})
            own = step.get("urn", "").endswith(_OWN)
            if own or step["op"] in QUIET:
                continue
            name = _short(step["urn"])
            timeline.append(f"{word} {name}")
            if word == "start":
                # A replacement has several steps; the one that names it is the one to see.
                operations[name] = "replace" if "replac" in step["op"] else step["op"]
                # Of a replacement only the first steps have the paths.
                diff = step.get("detailedDiff") or {}
                if diff or name not in changed:
                    changed[name] = tuple(sorted(diff))
                    forced[name] = tuple(
                        sorted(path for path, one in diff.items() if one["diffKind"].endswith("-replace"))
                    )
                begun[name] = event["timestamp"]
            elif name in begun:
                seconds[name] = event["timestamp"] - begun[name]
            else:
                # A refresh says only at the end what it found.
                operations[name] = step["op"]
    return Run(code, output, operations, tuple(timeline), changed, forced, seconds)


def _short(urn: str) -> str:
    """`Deployment east/ml/x-decode-l4` for its URN."""
    *_, types, name = urn.split("::")
    return f"{types.rpartition('$')[2].rpartition(':')[2]} {name}"
