"""Policies enforced: what breaks them, less what waivers let off on the day.

A message names the thing, the policy, what that asks for, the values that its condition names, and the line
of the policy. It stands at the line of the thing, or at that of the policy where the thing has no document.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.policy.policy import Policy, Waiver
from inferfleet.documents.problems import Problem, Severity
from inferfleet.documents.wording import shown
from inferfleet.documents.work import take
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.selectors.growth import compiling, largest
from inferfleet.fleet.selectors.source import InvalidSelector
from inferfleet.review.policy.held import Before
from inferfleet.review.policy.things import Thing

if TYPE_CHECKING:
    from inferfleet.fleet.selectors.growth import Size
    from inferfleet.review.policy.gathered import Gathered

_CEL = "spec.cel"
# An exception is for a while: whoever needs it longer is reviewed again.
MOST_DAYS = 180
# Things of one policy that are told one by one, and what breaks all policies together.
MOST_TOLD, MOST_BROKEN = 50, 1_000
# Of what a waiver lets off, and of waivers that ended, so many are named.
_NAMED = 3
# Steps that an evaluation takes besides those of its condition.
_EACH = 30


@dataclass
class _Exceptions:
    """The waivers of one policy for one thing (or for all): the first that holds today, and those that ended.

    `off` is what they let off, `told` the beginning of that in words.
    """

    waivers: list[tuple[str, Waiver]] = field(default_factory=list)
    holding: tuple[str, Waiver] | None = None
    ended: list[tuple[str, Waiver]] = field(default_factory=list)
    used: bool = False
    off: int = 0
    told: list[str] = field(default_factory=list)


class _Asked(NamedTuple):
    """A thing with the variables that conditions have of it."""

    thing: Thing
    variables: dict[str, Any]


class _Enforced:
    """What policies say of a stack on a day."""

    def __init__(self, documents: Documents, gathered: "Gathered", today: date) -> None:
        self._documents, self._gathered = documents, gathered
        self._exceptions: dict[tuple[str, str | None], _Exceptions] = {}
        for key, waiver in documents.waivers.items():
            named = (waiver.spec.policy, waiver.spec.of)
            exceptions = self._exceptions.setdefault(named, _Exceptions())
            exceptions.waivers.append((key, waiver))
            if today > waiver.spec.last_day:
                exceptions.ended.append((key, waiver))
            elif exceptions.holding is None:
                exceptions.holding = (key, waiver)
        self._asked: dict[str, tuple[list[_Asked], dict[str, Size]]] = {}
        self._broken = 0

    def problems(self) -> Iterator[Problem]:
        """Yield what breaks policies and is not let off."""
        for name, policy in self._documents.policies.items():
            if self._broken > MOST_BROKEN:
                what = f"there are more than {MOST_BROKEN:,} problems; policies from {name} on were not asked"
                yield Problem(what, "Fix those first", _CEL, kind="Policy", key=name)
                return
            yield from self._of_policy(name, policy)

    def _of_policy(self, name: str, policy: Policy) -> Iterator[Problem]:
        from inferfleet.review.policy.rules import Rule

        spec = policy.spec
        asked, sizes = self._things(spec.each)
        take(compiling(spec.cel), f"compiling policy {name}")
        try:
            rule = Rule(spec.each, spec.cel, sizes)
        except InvalidSelector as invalid:
            yield _invalid(self._documents, name, policy, invalid)
            return
        take(len(asked) * (rule.steps + _EACH), f"evaluating policy {name}")
        told = 0
        for thing, variables in asked:
            objection = rule.objection(variables)
            if objection is None or self._let_off(name, thing):
                continue
            told += 1
            if told <= MOST_TOLD:
                objection = objection or rule.values(thing.fact, self._gathered.stack)
                ended = [waiver for of in self._of(name, thing) for waiver in of.ended]
                yield _broken(self._documents, name, policy, thing, objection, ended)
        self._broken += min(told, MOST_TOLD)
        if told > MOST_TOLD:
            what = f"{told - MOST_TOLD:,} more break policy {name}"
            yield Problem(what, "Change those above first", _CEL, None, "Policy", name, _severity(policy))

    def _things(self, each: str) -> "tuple[list[_Asked], dict[str, Size]]":
        from inferfleet.review.policy.typed import message, size

        if each not in self._asked:
            things: tuple[Thing, ...] = getattr(self._gathered, each)
            stack = self._gathered.stack
            of_stack = message(stack)
            asked = [_Asked(thing, {each: message(thing.fact), "stack": of_stack}) for thing in things]
            sizes = {"stack": size(stack)}
            if (most := largest(size(thing.fact) for thing in things)) is not None:
                sizes[each] = most
            self._asked[each] = asked, sizes
        return self._asked[each]

    def _of(self, policy: str, thing: Thing) -> list[_Exceptions]:
        named = ((policy, thing.name), (policy, None))
        return [self._exceptions[name] for name in named if name in self._exceptions]

    def _let_off(self, policy: str, thing: Thing) -> bool:
        """Return whether a waiver lets the thing off, and count it there."""
        exceptions = self._of(policy, thing)
        for of in exceptions:
            of.used = True
        holding = [of for of in exceptions if of.holding]
        if holding:
            first = min(holding, key=lambda of: of.holding or ())
            first.off += 1
            first.told += [thing.said] if first.off <= _NAMED else []
        return bool(holding)

    def waivers(self, today: date) -> Iterator[Problem]:
        """Yield what waivers let off, which hold too long, which ended, and which let nothing off."""
        last = today + timedelta(days=MOST_DAYS)
        for of in self._exceptions.values():
            if of.off and of.holding:
                yield _off(*of.holding, of)
            for key, waiver in of.waivers:
                yield from _odd(key, waiver, today, last, used=of.used)


def policy_problems(
    documents: Documents, lock: Lock, desired: Desired, *, today: date, before: Before | None = None
) -> tuple[Problem, ...]:
    """Return what breaks the policies of a stack, and what is odd about its waivers.

    Changes count from `before`; without it, from the replicas of the lock, with the documents at hand.
    """
    if not documents.policies and not documents.waivers:
        return ()
    # Every command comes by here, and few stacks have policies.
    from inferfleet.review.policy.gathered import Gathered

    before = before or Before(documents, lock.placements, desired.plan.demands)
    enforced = _Enforced(documents, Gathered(documents, lock, desired, before), today)
    return (*enforced.problems(), *enforced.waivers(today))


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
    over = "".join(f"; waiver {key} of it ended on {waiver.spec.until}" for key, waiver in ended[:_NAMED])
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


def _off(key: str, waiver: Waiver, of: _Exceptions) -> Problem:
    reason = waiver.spec.reason.rstrip(".")
    more = f" and {of.off - len(of.told):,} more" if of.off > len(of.told) else ""
    breaks, them = ("breaks", "it") if of.off == 1 else ("break", "them")
    return Problem(
        f"{', '.join(of.told)}{more} {breaks} policy {waiver.spec.policy}, and waiver {key} lets {them} off "
        f"until {waiver.spec.until}: {reason}",
        f"Change {them} before that day",
        "spec.until",
        kind="Waiver",
        key=key,
        severity="notice",
    )


def _odd(key: str, waiver: Waiver, today: date, last: date, *, used: bool) -> Iterator[Problem]:
    if waiver.spec.last_day > last:
        # The day of today is in the next step, so that the problem is the same tomorrow.
        what = f"waiver {key} holds until {waiver.spec.until}, which is more than {MOST_DAYS} days ahead"
        yield Problem(what, f"Write {last} or an earlier day", "spec.until", None, "Waiver", key)
    elif not used:
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
