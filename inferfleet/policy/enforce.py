"""Policies enforced: what breaks them, less what waivers let off on the day.

A message names the thing, the policy, what that asks for, the values that its condition names, and the line
of the policy. It stands at the line of the thing, or at that of the policy where the thing has no document.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.policy.policy import Policy, Waiver
from inferfleet.api.problems import Problem, Severity
from inferfleet.api.wording import shown
from inferfleet.desired.values import Desired
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.selectors.source import InvalidSelector
from inferfleet.policy.held import Before
from inferfleet.policy.things import Thing

if TYPE_CHECKING:
    from inferfleet.policy.gathered import Gathered

_CEL = "spec.cel"
# An exception is for a while: whoever needs it longer is reviewed again.
MOST_DAYS = 180
# Things of one policy that are told one by one.
MOST_TOLD = 50
# What all evaluations may cost together, in units of selectors, and what each takes besides.
# The dearest units known take 0.3 microseconds, so all of them some ten seconds.
MAX_TOTAL_COST, _EACH = 40_000_000, 200


@dataclass
class _Used:
    """The waivers that something was let off by or that ended, and what evaluations cost so far."""

    waivers: set[str] = field(default_factory=set)
    cost: int = 0


def policy_problems(
    documents: Documents, lock: Lock, desired: Desired, *, today: date, before: Before | None = None
) -> tuple[Problem, ...]:
    """Return what breaks the policies of a stack, and what is odd about its waivers.

    Changes count from `before`; without it, from the replicas of the lock, with the documents at hand.
    """
    if not documents.policies and not documents.waivers:
        return ()
    # Every command comes by here, and few stacks have policies.
    from inferfleet.policy.gathered import Gathered

    before = before or Before(documents, lock.placements, desired.plan.demands)
    gathered = Gathered(documents, lock, desired, before)
    used = _Used()
    problems: list[Problem] = []
    for name, policy in documents.policies.items():
        problems += _of_policy(documents, name, policy, gathered, today, used)
    return (*problems, *_of_waivers(documents, today, used.waivers))


def _of_policy(
    documents: Documents, name: str, policy: Policy, gathered: "Gathered", today: date, used: _Used
) -> Iterator[Problem]:
    from inferfleet.policy.rules import Rule

    try:
        rule = Rule(policy.spec.each, policy.spec.cel)
    except InvalidSelector as invalid:
        yield _invalid(documents, name, policy, invalid)
        return
    things: tuple[Thing, ...] = getattr(gathered, policy.spec.each)
    used.cost += len(things) * (rule.cost + _EACH)
    if used.cost > MAX_TOTAL_COST:
        what = f"the policies up to {name} cost more than {MAX_TOTAL_COST:,} units, so it is not evaluated"
        yield Problem(what, "Write fewer policies, or shorter ones", _CEL, kind="Policy", key=name)
        return
    told = 0
    for thing in things:
        objection = rule.objection(thing.fact, gathered.stack)
        if objection is None:
            continue
        waivers = [
            (key, waiver)
            for key, waiver in documents.waivers.items()
            if waiver.spec.policy == name and waiver.spec.of in (None, thing.name)
        ]
        used.waivers.update(key for key, _ in waivers)
        if holding := [(key, waiver) for key, waiver in waivers if today <= waiver.spec.last_day]:
            yield _let_off(thing, name, *holding[0])
            continue
        told += 1
        if told <= MOST_TOLD:
            yield _broken(documents, name, policy, thing, objection, waivers)
    if told > MOST_TOLD:
        what = f"{told - MOST_TOLD:,} more break policy {name}"
        yield Problem(what, "Change those above first", _CEL, None, "Policy", name, _severity(policy))


def _broken(
    documents: Documents,
    name: str,
    policy: Policy,
    thing: Thing,
    objection: str,
    ended: list[tuple[str, Waiver]],
) -> Problem:
    where = documents.where("Policy", name, _CEL)
    # In the next step, so that a digest knows the problem again where the policy has moved.
    line = f" ({where})" if where else ""
    folder = " from the same folder" if ("Policy", name) in documents.of_all_stacks else ""
    values = f" ({objection})" if objection else ""
    over = "".join(f"; waiver {key} of it ended on {waiver.spec.until}" for key, waiver in ended)
    kind, key, path = (thing.kind, thing.key, thing.path) if thing.kind else ("Policy", name, _CEL)
    return Problem(
        f"{thing.said} breaks policy {name}: {policy.spec.message.rstrip('.')}{values}{over}",
        f"Change it, or have a Waiver of policy {name}{line}{folder} with of: {thing.name} let it off until "
        "a day",
        path,
        kind=kind,
        key=key,
        severity=_severity(policy),
    )


def _severity(policy: Policy) -> Severity:
    return "error" if policy.spec.enforce == "Refuse" else "warning"


def _let_off(thing: Thing, name: str, key: str, waiver: Waiver) -> Problem:
    reason = waiver.spec.reason.rstrip(".")
    return Problem(
        f"{thing.said} breaks policy {name}, and waiver {key} lets it off until {waiver.spec.until}: "
        f"{reason}",
        "Change it before that day",
        "spec.until",
        kind="Waiver",
        key=key,
        severity="notice",
    )


def _of_waivers(documents: Documents, today: date, used: set[str]) -> Iterator[Problem]:
    """Yield which waivers hold too long, which ended, and which let nothing off."""
    last = today + timedelta(days=MOST_DAYS)
    for key, waiver in documents.waivers.items():
        if waiver.spec.last_day > last:
            # The day of today is in the next step, so that the problem is the same tomorrow.
            what = f"waiver {key} holds until {waiver.spec.until}, which is more than {MOST_DAYS} days ahead"
            yield Problem(what, f"Write {last} or an earlier day", "spec.until", None, "Waiver", key)
            continue
        if key in used:
            continue
        ended = today > waiver.spec.last_day
        of = f", which {shown(waiver.spec.of)!r} does not break" if waiver.spec.of else ""
        nothing = f"lets nothing off policy {waiver.spec.policy}{of}"
        why = f"ended on {waiver.spec.until}" if ended else nothing
        step = "Remove it" if ended or not of else "Remove it, or correct spec.of"
        yield Problem(f"waiver {key} {why}", step, "spec", kind="Waiver", key=key, severity="notice")


def _invalid(documents: Documents, name: str, policy: Policy, invalid: InvalidSelector) -> Problem:
    """Say where in the file the condition is wrong, as far as that is known."""
    where = documents.where("Policy", name, _CEL)
    place = where.inside(policy.spec.cel, invalid.at) if where and invalid.line else None
    column = ""
    if where and place:
        where, column = replace(where, line=place[0]), f"column {place[1]}: "
    elif invalid.line:
        column = f"line {invalid.line}, column {invalid.column} of the condition: "
    return Problem(f"{column}{invalid.what}", invalid.next_step, _CEL, where, "Policy", name)
