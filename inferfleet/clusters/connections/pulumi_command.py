"""Run the user's own `pulumi` as they would: in the project's folder, with their environment."""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferfleet.documents.problems import InvalidDocuments, Problem

# Seconds to read a state or a name; a backend that takes longer does not answer.
SECONDS = 60.0
# Parts of the engine's messages, and what to do then. The first that matches counts.
_STEPS = (
    ("no stack named", "Name one that `pulumi stack ls` has, or log in to the backend that has it"),
    ("passphrase", "Set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to the stack's passphrase"),
    (
        "currently locked",
        "Wait for that process, or run `inferfleet recover --force-lock` when it is known to be gone",
    ),
    ("PULUMI_ACCESS_TOKEN", "Log in (`pulumi login`), or set PULUMI_BACKEND_URL"),
)


@dataclass(frozen=True)
class Pulumi:
    """The command `pulumi` for one stack. Every failure raises InvalidDocuments with the engine's words."""

    root: Path
    stack: str

    def backend(self) -> str:
        """Return the address of the backend that holds the state."""
        return str(self._json(["whoami", "--verbose", "--json"])["url"])

    def export(self) -> dict[str, Any]:
        """Return the state; its secrets stay encrypted."""
        return dict(self._json(["stack", "export", "--stack", self.stack]))

    def preview(self) -> dict[str, Any]:
        """Return what an update would do, for as long as that takes to find out; secrets are left out."""
        return dict(self._json(["preview", "--json", "--stack", self.stack], None))

    def busy(self) -> bool:
        """Return whether a backend that knows (Pulumi Cloud) says that an update is running."""
        return any(
            stack.get("updateInProgress")
            for stack in self._json(["stack", "ls", "--json"])
            if str(stack.get("name")).rpartition("/")[2] == self.stack
        )

    def setting(self, key: str) -> str:
        """Return one setting of the stack in plain text, also of a secret: never print it."""
        return self._run(["config", "get", f"inferfleet:{key}", "--stack", self.stack], SECONDS).strip()

    def run(self, arguments: Sequence[str]) -> None:
        """Run a command that changes the state, for as long as it takes. Only `work` calls this."""
        self._run(arguments, None)

    def _json(self, arguments: Sequence[str], seconds: float | None = SECONDS) -> Any:
        """Return what a command of Pulumi prints as JSON. Raises InvalidDocuments where it prints no JSON."""
        try:
            return json.loads(self._run(arguments, seconds))
        except ValueError:
            what = f"`{command_line(arguments)}` printed no JSON"
            raise InvalidDocuments([Problem(what, "Run it yourself to see what it says")]) from None

    def _run(self, arguments: Sequence[str], seconds: float | None) -> str:
        """Return what a `pulumi` command prints. Raises InvalidDocuments where it fails or takes too long."""
        try:
            process = subprocess.run(
                ["pulumi", *arguments, "--non-interactive"],
                cwd=self.root,
                env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds,
            )
        except FileNotFoundError:
            step = (
                "Install it (https://www.pulumi.com/docs/install/), or take that of `inferfleet sandbox env`"
            )
            raise InvalidDocuments([Problem("there is no `pulumi` on the PATH", step)]) from None
        except subprocess.TimeoutExpired:
            what = f"`{command_line(arguments)}` gave no answer within {seconds:.0f} s"
            step = "Check whether the backend answers: pulumi whoami --verbose"
            raise InvalidDocuments([Problem(what, step)]) from None
        if process.returncode != 0:
            # What `config get` prints is the value of a setting.
            printed = "" if arguments[0] == "config" else process.stdout
            raise InvalidDocuments([_failed(arguments, f"{process.stderr}\n{printed}")])
        return process.stdout


def command_line(arguments: Sequence[str]) -> str:
    """Return the command as a person would type it."""
    return shlex.join(["pulumi", *arguments])


def _failed(arguments: Sequence[str], output: str) -> Problem:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error:")]
    # The first error of an operation on resources does not name them, the others do.
    words = " ".join(errors or lines[-1:]).removeprefix("error:").strip().rstrip(".")
    step = next((step for part, step in _STEPS if part in output), "Run it yourself to see all it says")
    return Problem(f"`{command_line(arguments)}` failed: {words}", step)
