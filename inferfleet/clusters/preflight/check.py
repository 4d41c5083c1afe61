"""What was looked at for a person, and what came of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from inferfleet.documents.problems import Problem

Verdict = Literal["fine", "wrong", "unseen"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: `of` what (a machine, project or cluster), and `what` of it.

    `problem` is why it is wrong, or why it could not be seen, and what mends that; None where all is fine.
    """

    of: str
    what: str
    verdict: Verdict = "fine"
    problem: Problem | None = None


def unseen(of: str, what: str, why: str, step: str) -> Check:
    """Return a check that could not be made. It is a warning: the thing itself may be fine."""
    return Check(of, what, "unseen", Problem(f"{what} of {of}: not seen, {why}", step, severity="warning"))


def problems(checks: Iterable[Check]) -> list[Problem]:
    """Return the problems of the checks, each once."""
    return list(dict.fromkeys(check.problem for check in checks if check.problem))
