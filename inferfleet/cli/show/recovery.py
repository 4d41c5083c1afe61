"""What `recover` found and would do, for people and for machines. No value of a resource is shown."""

from collections.abc import Iterable
from typing import Any

from inferfleet.api.problems import Problem
from inferfleet.cli.show.tables import print_table
from inferfleet.recovery.decide import Action
from inferfleet.recovery.locks import Holder
from inferfleet.recovery.survey import Survey

_HELD = {
    Holder.GONE: "that process is gone",
    Holder.ALIVE: "that process is at work",
    Holder.UNKNOWN: "whether that process lives cannot be seen from this machine",
}


def show(found: Survey, planned: tuple[str, ...]) -> None:
    """Tables of what was found, then the commands that mend it."""
    if found.nothing:
        print("Nothing to mend: no lock, no operation that did not end, no broken node pool.")
    if found.files:
        print("Half-written files, which keep the engine from reading the state beside them:")
        _print(str(file) for file in found.files)
        print()
    if found.locked:
        print_table("Locks", ("lock", "what is known"), _locks(found))
        print()
    if found.decisions:
        print_table(
            "Operations that did not end",
            ("resource", "interrupted while", "found", "what to do"),
            ((one.resource.shown, one.kind, one.why, one.action) for one in found.decisions),
        )
        print()
    if found.pools:
        print_table(
            "Node pools in status ERROR",
            ("cluster", "pool", "in the state", "what Google says"),
            ((one.cluster, one.name, "yes" if one.known else "no", one.message) for one in found.pools),
        )
        print("The next update looks again at those in the state. If one stays as it is, or is not in the")
        print("state, delete it by hand, and the update after that makes it anew:")
        _print(command for one in found.pools for command in one.commands)
        print()
    if planned:
        print("To mend it:")
        _print(planned)
    if any("state.json" in command for command in planned):
        print("  (state.json: what `pulumi stack export` prints, with these changes in it)")


def as_values(found: Survey, planned: tuple[str, ...]) -> dict[str, Any]:
    return {
        "files": [str(file) for file in found.files],
        "locks": [
            {
                "host": lock.host,
                "user": lock.user,
                "process": lock.process,
                "since": lock.since,
                "holder": held,
            }
            for lock, held in found.locks
        ],
        "busy": found.busy,
        "operations": [
            {
                "urn": one.resource.urn,
                "kind": one.kind,
                "found": one.why,
                "action": one.action.name.lower(),
                "id": one.id,
            }
            for one in found.decisions
        ],
        "pools": [
            {
                "cluster": one.cluster,
                "name": one.name,
                "known": one.known,
                "message": one.message,
                "commands": list(one.commands),
            }
            for one in found.pools
        ],
        "commands": list(planned),
    }


def notices(found: Survey, *, force_lock: bool) -> list[Problem]:
    """What nobody could find out, and what is not touched because of it."""
    told = [*found.unknown, *(one.problem for one in found.decisions if one.problem)]
    if any(one.action is Action.LEAVE for one in found.decisions):
        what = "operations that nobody can judge stay in the state, and all others with them"
        told.append(Problem(what, "Mend what keeps them from being judged, then run this again"))
    if found.in_use and not force_lock:
        what = "somebody may be at work on this stack, so nothing is touched"
        step = "Wait for them, or add --force-lock when you know that they are gone"
        told.append(Problem(what, step))
    if found.hidden and not force_lock:
        what = "only the engine can read the locks of this backend"
        step = "If `pulumi up` names a lock whose process is gone, add --force-lock"
        told.append(Problem(what, step))
    return told


def _locks(found: Survey) -> Iterable[tuple[str, str]]:
    yield from ((str(lock), _HELD[held]) for lock, held in found.locks)
    if found.busy:
        yield "the backend's own", "it says that an update is under way"


def _print(commands: Iterable[str]) -> None:
    for command in commands:
        print(f"  {command}")
