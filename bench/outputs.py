"""Writes the outputs of a checkout to files, to compare those of two commits.

    python bench/outputs.py CHECKOUT FOLDER      # once per commit; then: diff -r FOLDER-1 FOLDER-2

The files hold, for each stack, the plan, the lock, manifests, cloud settings and what is registered under
which Pulumi name; and every message about documents with seeded mistakes. They show what a change of the code
alters. The commands of the checkout itself are run.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

STACKS = ("local", "gke-demo")
ROUNDS = 40
CLI = "from inferfleet.cli.start import main; main()"
REGISTERED = """
import sys
from pathlib import Path
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.lock.lock import Lock
from inferfleet.desired import desired
documents, _ = load_stack(Path.cwd(), sys.argv[1])
for cluster in desired(documents, Lock()).clusters:
    print(cluster.connection.identifier, cluster.gateway_class, cluster.gateway_ref, cluster.objects_needed)
    for component in cluster.connection.cloud.components if cluster.connection.cloud else ():
        print(" ", component.kind, component.name)
        for resource in component.resources:
            print("   ", resource)
    for component in cluster.components:
        print(" ", component.kind, component.name)
        for thing in component.objects:
            print("   ", thing.key, thing.after, thing.timeout, thing.retain, thing.deleted_with)
"""
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3,
    70_000,
    "",
    "x",
    "80Gb",
    "Nope",
    [],
    {},
    [1],
    {"a": 1},
    "l4",
    "1h",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    checkout, folder = arguments.checkout.resolve(), arguments.folder.resolve()
    folder.mkdir(parents=True)
    for stack in STACKS:
        _stack(checkout, stack, folder / stack)
    _write(folder / "schema.json", _run(checkout, checkout, CLI, "schema"))
    for number in range(ROUNDS):
        _write(folder / "mistakes" / f"{number:02}.txt", _mistakes(checkout, number))


def _stack(checkout: Path, stack: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        project = _project(checkout, Path(temporary))
        _write(folder / "plan.json", _run(checkout, project, CLI, "plan", "--stack", stack, "--json"))
        _write(folder / "registered.txt", _run(checkout, project, REGISTERED, stack))
        _run(checkout, project, CLI, "render", "--stack", stack, "-o", str(folder / "rendered"))
        # The changed documents below are planned against this lock, so that its reading is covered too.
        _run(checkout, project, CLI, "plan", "--stack", stack, "--write")
        lock = project / "stacks" / stack / "placement.lock"
        _write(folder / "placement.lock", lock.read_text() if lock.exists() else "none\n")
        for path in sorted((project / "stacks" / stack).glob("*.yaml")):
            path.write_text(path.read_text().replace("replicas: 2", "replicas: 3"))
        _write(folder / "changed.txt", _run(checkout, project, CLI, "plan", "--stack", stack))
        deployments = _run(checkout, project, CLI, "plan", "--stack", stack, "--json")
        for name in sorted({placement["deployment"] for placement in json.loads(deployments)["placements"]}):
            _write(
                folder / f"explain-{name.replace('/', '-')}.txt",
                _run(checkout, project, CLI, "explain", name, "-s", stack),
            )


def _mistakes(checkout: Path, seed: int) -> str:
    """Return what `validate` prints about a stack with a mistake in most of its documents."""
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as temporary:
        project = _project(checkout, Path(temporary))
        stack = generator.choice(STACKS)
        for path in sorted((project / "stacks" / stack).glob("*.yaml")):
            documents = [document for document in yaml.safe_load_all(path.read_text()) if document]
            for document in documents:
                if generator.random() < 0.7:
                    _spoil(document, generator)
            path.write_text(yaml.safe_dump_all(documents, sort_keys=False))
        return _run(checkout, project, CLI, "validate", "--stack", stack)


def _spoil(document: Any, generator: random.Random) -> None:
    """Remove, rename or replace one value of the document."""
    places = list(_places(document))
    holder, key = generator.choice(places)
    how = generator.random()
    if how < 0.25:
        del holder[key]
    elif how < 0.45 and isinstance(holder, dict):
        holder[key[:-1] + "x"] = holder.pop(key)
    else:
        holder[key] = generator.choice(VALUES)


def _places(value: Any) -> Any:
    """Yield every place of a value in the document, as its dict or list and its key or index."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _places(inner)


def _project(checkout: Path, folder: Path) -> Path:
    """Copy the stacks and the catalogue of the checkout to the folder, without locks of earlier runs."""
    for name in ("stacks", "classes"):
        shutil.copytree(checkout / name, folder / name, ignore=shutil.ignore_patterns("placement.lock"))
    shutil.copy(checkout / "Pulumi.yaml", folder)
    return folder


def _run(checkout: Path, project: Path, code: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(checkout), "COLUMNS": "200"}
    environment.pop("CI", None)
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=project, env=environment, capture_output=True, text=True
    )
    errors = ended.stderr.replace(str(project), "PROJECT").replace(str(checkout), "CHECKOUT")
    if arguments[-1:] == ("--json",) and ended.returncode == 0:
        return ended.stdout
    return ended.stdout.replace(str(project), "PROJECT") + errors + f"exit code {ended.returncode}\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    main()
