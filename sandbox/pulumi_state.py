"""Prepares the Pulumi home and backend of a stack's sandbox, and reads what its state holds."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from sandbox import with_salt
from sandbox.environment import environment, python_folder
from sandbox.passphrase import make_passphrase
from sandbox.places import StackPlaces
from sandbox.private import write_file
from sandbox.problem import SandboxProblem
from sandbox.toolchain.parts import PROVIDER
from sandbox.toolchain.tools import Tools
from sandbox.with_salt import salted


def prepare_pulumi(places: StackPlaces, tools: Tools) -> None:
    """Install the Kubernetes provider in the sandbox's Pulumi home, and create the stack and its passphrase.

    All of it only where it is missing.
    """
    _need_pip(places)
    plugin = places.pulumi_home / "plugins" / f"resource-kubernetes-v{PROVIDER.version}"
    plugin.mkdir(parents=True, exist_ok=True)
    link = plugin / PROVIDER.programs[0].name
    if not link.is_symlink() or link.readlink() != tools.provider:
        link.unlink(missing_ok=True)
        link.symlink_to(tools.provider)
    # A file in place of the folder in which the engine would keep an encrypted log, for a third of its time.
    (places.pulumi_home / "logs").touch()
    pulumi = tools.program("pulumi")
    _write_program(places, pulumi)
    variables = environment(places, tools)
    make_passphrase(places, _salt(places))
    if _state_file(places) is None:
        passphrase = places.passphrase.read_text().strip()
        _create_stack(places, pulumi, variables | {"PULUMI_CONFIG_PASSPHRASE": passphrase})


def _create_stack(places: StackPlaces, pulumi: Path, variables: dict[str, str]) -> None:
    places.state.mkdir(parents=True, exist_ok=True)
    with salted(places.settings, places.salt):
        done = subprocess.run(
            [str(pulumi), "stack", "init", places.stack, "--non-interactive"],
            cwd=places.root,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise SandboxProblem(f"pulumi cannot create the stack {places.stack}: {done.stderr.strip()}")


def _write_program(places: StackPlaces, pulumi: Path) -> None:
    """Put a `pulumi` on the PATH that keeps the salt out of the settings."""
    python, launcher = Path(sys.executable).resolve(), Path(with_salt.__file__).resolve()
    command = [python, "-I", "-S", launcher, places.settings, places.salt, pulumi]
    script = f'#!/bin/sh\nexec {shlex.join(map(str, command))} "$@"\n'
    write_file(places.programs / "pulumi", script, mode=0o700)


def resources_of(places: StackPlaces, cluster: str) -> int:
    """Return how many resources of the cluster (`<cluster>`, `<cluster>/...`) the stack's state holds.

    The number is 0 for a cluster of that name on the simulated cloud, whose data belongs to the cloud.
    """
    urns = [str(resource.get("urn", "")) for resource in _resources(places)]
    if any(urn.endswith(f"$inferfleet:components:GkeCluster::{cluster}") for urn in urns):
        return 0
    names = [urn.rpartition("::")[2] for urn in urns]
    return sum(name == cluster or name.startswith(f"{cluster}/") for name in names)


def _need_pip(places: StackPlaces) -> None:
    # Pulumi's language host runs `python -m pip list` to find packages with plugins, and fails without pip.
    library = python_folder(places).parent / "lib"
    if not any(library.glob("python*/site-packages/pip")):
        raise SandboxProblem(
            f"the Python environment {library.parent} has no pip, and Pulumi needs it to find its plugins. "
            "Install the project's requirements again."
        )


def _resources(places: StackPlaces) -> list[dict[str, Any]]:
    return list(_latest(places).get("resources") or [])


def _latest(places: StackPlaces) -> dict[str, Any]:
    text = _state_file(places)
    if text is None:
        return {}
    try:
        return dict(json.loads(text).get("checkpoint", {}).get("latest") or {})
    except (ValueError, AttributeError, TypeError) as error:
        raise SandboxProblem(
            f"the Pulumi state in {places.state} is damaged ({error}). Run `inferfleet sandbox down`."
        ) from error


def _salt(places: StackPlaces) -> str:
    """Return the salt of the passphrase that the state is encrypted with, or ""."""
    try:
        provider = _latest(places).get("secrets_providers") or {}
        return str((provider.get("state") or {}).get("salt") or "")
    except AttributeError:
        return ""


def _state_file(places: StackPlaces) -> str | None:
    """Return the text of the stack's state file, which is in a folder with the name of the Pulumi project."""
    files = list((places.state / ".pulumi" / "stacks").glob(f"*/{places.stack}.json"))
    return files[0].read_text() if files else None
