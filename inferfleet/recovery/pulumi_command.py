"""The user's own `pulumi`, called as they would call it: in the project's folder, with their environment."""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferfleet.api.problems import InvalidDocuments, Problem

# To read a state or a name; a backend that takes longer does not answer.
SECONDS = 60.0
# What the engine says, and what then helps. The first that fits counts.
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
    """The command for one stack. Every failure is InvalidDocuments with the engine's words."""

    root: Path
    stack: str

    def backend(self) -> str:
        """The address of the backend that holds the state."""
        return str(self._json(["whoami", "--verbose", "--json"])["url"])

    def export(self) -> dict[str, Any]:
        """The state; its secrets stay encrypted."""
        return dict(self._json(["stack", "export", "--stack", self.stack]))

    def busy(self) -> bool:
        """Whether a backend that keeps count (Pulumi Cloud) says that an update is under way."""
        listed = self._json(["stack", "ls", "--json"])
        named = (one for one in listed if str(one.get("name")).rpartition("/")[2] == self.stack)
        return any(one.get("updateInProgress") for one in named)

    def setting(self, key: str) -> str:
        """One setting of the stack in plain text, secrets too: never print it."""
        return self._run(["config", "get", f"inferfleet:{key}", "--stack", self.stack], SECONDS).strip()

    def run(self, arguments: Sequence[str]) -> None:
        """Runs a command that changes the state, for as long as it takes."""
        self._run(arguments, None)

    def _json(self, arguments: Sequence[str]) -> Any:
        try:
            return json.loads(self._run(arguments, SECONDS))
        except ValueError:
            what = f"`{shown(arguments)}` printed no JSON"
            raise InvalidDocuments([Problem(what, "Run it yourself to see what it says")]) from None

    def _run(self, arguments: Sequence[str], seconds: float | None) -> str:
        try:
            done = subprocess.run(
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
            step = "Install it (https://www.pulumi.com/docs/install/), or take the one of `sandbox env`"
            raise InvalidDocuments([Problem("there is no `pulumi` on the PATH", step)]) from None
        except subprocess.TimeoutExpired:
            what = f"`{shown(arguments)}` gave no answer within {seconds:.0f} s"
            step = "Look whether the backend answers: pulumi whoami --verbose"
            raise InvalidDocuments([Problem(what, step)]) from None
        if done.returncode != 0:
            raise InvalidDocuments([_failed(arguments, f"{done.stderr}\n{done.stdout}")])
        return done.stdout


def shown(arguments: Sequence[str]) -> str:
    """The command as somebody would type it."""
    return shlex.join(["pulumi", *arguments])


def _failed(arguments: Sequence[str], said: str) -> Problem:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error:")]
    # Of an operation on resources the first error names none of them.
    words = " ".join(errors or lines[-1:]).removeprefix("error:").strip().rstrip(".")
    step = next((step for part, step in _STEPS if part in said), "Run it yourself to see all it says")
    return Problem(f"`{shown(arguments)}` failed: {words}", step)
