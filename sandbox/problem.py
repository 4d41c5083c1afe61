"""The error that stops a command of the sandbox with a message instead of a traceback."""

from pathlib import Path


class SandboxProblem(Exception):  # noqa: N818 (people read its text, not its name)
    """Raised with a message that names the thing, says what is wrong and what to do next."""


def not_started(what: str, log: Path) -> SandboxProblem:
    """Return that a program of a cluster did not start, with the last lines of its log."""
    last = log.read_text(errors="replace").strip().splitlines()[-3:]
    return SandboxProblem(
        f"{what}:\n  "
        + "\n  ".join(line[:300] for line in last)
        + "\nRun the same command again, or `inferfleet sandbox down` and `up` for a new cluster."
    )
