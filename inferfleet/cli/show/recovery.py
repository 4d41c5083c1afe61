"""What `recover` found and would do, for people and for machines. No value of a resource is shown."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.cli.show.tables import print_table
from inferfleet.documents.problems import Problem
from inferfleet.recovery.locks import Holder
from inferfleet.recovery.state import Action
from inferfleet.recovery.survey import Survey

_HOLDERS = {
    Holder.GONE: "that process is gone",
    Holder.ALIVE: "that process is running",
    Holder.UNKNOWN: "whether that process is running cannot be seen from this machine",
}


def show(survey: Survey, planned: tuple[str, ...]) -> None:
    """Print tables of what an update left behind, then the commands that fix it."""
    if survey.nothing:
        print_line("Nothing to fix: no lock, no operation that did not finish, no broken node pool.")
    if survey.files:
        print_line("Half-written files, which keep the engine from reading the state beside them:")
        _print(str(file) for file in survey.files)
        print_line()
    if survey.locked:
        print_table("Locks", ("lock", "what is known"), _locks(survey))
        print_line()
    if survey.decisions:
        print_table(
            "Operations that did not finish",
            ("resource", "interrupted while", "found", "what to do"),
            (
                (decision.resource.title, decision.kind, decision.why, decision.action)
                for decision in survey.decisions
            ),
        )
        print_line()
    if survey.pools:
        print_table(
            "Node pools in status ERROR",
            ("cluster", "pool", "in the state", "what Google says"),
            ((pool.cluster, pool.name, "yes" if pool.known else "no", pool.message) for pool in survey.pools),
        )
        print_line(
            "The next update refreshes those in the state. If one stays as it is, or is not in the state,"
        )
        print_line("delete it by hand, and the update after that creates it again:")
        _print(command for pool in survey.pools for command in pool.commands)
        print_line()
    if planned:
        print_line("To fix it:")
        _print(planned)
    if any("state.json" in command for command in planned):
        print_line("  (state.json: what `pulumi stack export` prints, with these changes in it)")


def as_values(survey: Survey, planned: tuple[str, ...]) -> dict[str, Any]:
    """Return the same facts as values for JSON."""
    return {
        "files": [str(file) for file in survey.files],
        "locks": [
            {
                "host": lock.host,
                "user": lock.user,
                "process": lock.process,
                "since": lock.since,
                "holder": holder,
            }
            for lock, holder in survey.locks
        ],
        "busy": survey.busy,
        "operations": [
            {
                "urn": decision.resource.urn,
                "kind": decision.kind,
                "found": decision.why,
                "action": decision.action.name.lower(),
                "id": decision.id,
            }
            for decision in survey.decisions
        ],
        "pools": [
            {
                "cluster": pool.cluster,
                "name": pool.name,
                "known": pool.known,
                "message": pool.message,
                "commands": list(pool.commands),
            }
            for pool in survey.pools
        ],
        "commands": list(planned),
    }


def notices(survey: Survey, *, force_lock: bool) -> list[Problem]:
    """Return what could not be found out, and what is not touched because of it."""
    problems = [*survey.unknown, *(decision.problem for decision in survey.decisions if decision.problem)]
    if any(decision.action is Action.LEAVE for decision in survey.decisions):
        what = "some operations cannot be decided on and stay in the state, and all others with them"
        problems.append(Problem(what, "Fix what keeps them from being decided on, then run this again"))
    if survey.in_use and not force_lock:
        what = "an update of this stack may be running, so nothing is touched"
        step = "Wait for it, or add --force-lock when you know that its process is gone"
        problems.append(Problem(what, step))
    if survey.hidden and not force_lock:
        what = "only the engine can read the locks of this backend"
        step = "If `pulumi up` names a lock whose process is gone, add --force-lock"
        problems.append(Problem(what, step))
    return [replace(problem, severity="notice") for problem in problems]


def _locks(survey: Survey) -> Iterable[tuple[str, str]]:
    yield from ((str(lock), _HOLDERS[holder]) for lock, holder in survey.locks)
    if survey.busy:
        yield "the backend's own", "it says that an update is running"


def _print(commands: Iterable[str]) -> None:
    for command in commands:
        print_line(f"  {command}")
