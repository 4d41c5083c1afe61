"""What breaks the policies of a stack, less what waivers let off on the day.

A message names the thing, the policy, what that asks for, the values that its condition names, and the line
of the policy. It stands at the line of the thing, or at that of the policy where the thing has no document.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.policy import Policy, Waiver
from inferfleet.documents.problems import Problem, Severity
from inferfleet.documents.wording import shown
from inferfleet.documents.work import spend
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.selectors.expressions import InvalidSelector, compiling, largest
from inferfleet.fleet.spot import Spot

if TYPE_CHECKING:
    from inferfleet.fleet.selectors.expressions import Size
    from inferfleet.review.policy.subjects import Subject, Subjects

_CEL = "spec.cel"
# An exception is for a while: whoever needs it longer is reviewed again.
MOST_DAYS = 180
# Subjects of one policy that have a problem each, and problems of all policies together.
MOST_SUBJECTS, MOST_BROKEN = 50, 1_000
# Of what a waiver lets off, and of waivers that ended, so many are named.
_NAMED = 3
# Units that an evaluation takes besides those of its condition.
_EACH = 30


@dataclass(frozen=True)
class FleetState:
    """A fleet at one time: documents, replicas by place, and what these replicas need."""

    documents: Documents
    placements: Mapping[Spot, int]
    demands: Demands


def policy_problems(
    documents: Documents,
    lock: Lock,
    desired: Desired,
    *,
    today: date,
    state_before: FleetState | None = None,
) -> tuple[Problem, ...]:
    """Return what breaks the policies of a stack, and what is wrong with its waivers.

    Changes count from `state_before`; without it, from the replicas of the lock, with the documents at hand.
    """
    if not documents.policies and not documents.waivers:
        return ()
    # Every command comes by here, few stacks have policies, and the import takes 20 ms.
    from inferfleet.review.policy.subjects import Subjects

    state_before = state_before or FleetState(documents, lock.placements, desired.plan.demands)
    enforcement = _Enforcement(documents, Subjects(documents, lock, desired, state_before), today)
    return (*enforcement.policy_problems(), *enforcement.waiver_problems())


@dataclass
class _Exceptions:
    """The waivers of one policy for one subject, or for all: the first holding today, and those that ended.

    `off` counts the subjects that they let off, and `titles` has the first of these.
    """

    waivers: list[tuple[str, Waiver]] = field(default_factory=list)
    holding: tuple[str, Waiver] | None = None
    ended: list[tuple[str, Waiver]] = field(default_factory=list)
    used: bool = False
    off: int = 0
    titles: list[str] = field(default_factory=list)


class _Question(NamedTuple):
    """A subject with the variables that conditions have of it."""

    subject: "Subject"
    variables: dict[str, Any]


class _Enforcement:
    """The policies and waivers of a stack on a day."""

    def __init__(self, documents: Documents, subjects: "Subjects", today: date) -> None:
        self._documents, self._subjects, self._today = documents, subjects, today
        self._exceptions: dict[tuple[str, str | None], _Exceptions] = {}
        for key, waiver in documents.waivers.items():
            target = (waiver.spec.policy, waiver.spec.of)
            exceptions = self._exceptions.setdefault(target, _Exceptions())
            exceptions.waivers.append((key, waiver))
            if today > waiver.spec.last_day:
                exceptions.ended.append((key, waiver))
            elif exceptions.holding is None:
                exceptions.holding = (key, waiver)
        self._questions: dict[str, tuple[list[_Question], dict[str, Size]]] = {}
        self._broken = 0

    def policy_problems(self) -> Iterator[Problem]:
        """Yield what breaks policies and is not let off."""
        for name, policy in self._documents.policies.items():
            if self._broken > MOST_BROKEN:
                what = f"there are more than {MOST_BROKEN:,} problems; policies from {name} on were not asked"
                yield Problem(what, "Fix those first", _CEL, kind="Policy", key=name)
                return
            yield from self._breach_problems(name, policy)

    def _breach_problems(self, name: str, policy: Policy) -> Iterator[Problem]:
        from inferfleet.review.policy.conditions import Condition

        spec = policy.spec
        questions, sizes = self._questions_about(spec.each)
        spend(compiling(spec.cel), f"compiling policy {name}")
        try:
            condition = Condition(spec.each, spec.cel, sizes)
        except InvalidSelector as invalid:
            yield _invalid(self._documents, name, policy, invalid)
            return
        spend(len(questions) * (condition.steps + _EACH), f"evaluating policy {name}")
        count = 0
        for subject, variables in questions:
            breach = condition.breach(variables)
            if breach is None or self._let_off(name, subject):
                continue
            count += 1
            if count <= MOST_SUBJECTS:
                values = breach or condition.values(subject.fact, self._subjects.stack)
                ended = [waiver for of in self._exceptions_of(name, subject) for waiver in of.ended]
                yield _broken(self._documents, name, policy, subject, values, ended)
        self._broken += min(count, MOST_SUBJECTS)
        if count > MOST_SUBJECTS:
            what = f"{count - MOST_SUBJECTS:,} more break policy {name}"
            yield Problem(what, "Change those above first", _CEL, None, "Policy", name, _severity(policy))

    def _questions_about(self, each: str) -> "tuple[list[_Question], dict[str, Size]]":
        from inferfleet.review.policy.conditions import message, size

        if each not in self._questions:
            subjects: tuple[Subject, ...] = getattr(self._subjects, each)
            stack = self._subjects.stack
            stack_message = message(stack)
            questions = [
                _Question(subject, {each: message(subject.fact), "stack": stack_message})
                for subject in subjects
            ]
            sizes = {"stack": size(stack)}
            if (most := largest(size(subject.fact) for subject in subjects)) is not None:
                sizes[each] = most
            self._questions[each] = questions, sizes
        return self._questions[each]

    def _exceptions_of(self, policy: str, subject: "Subject") -> list[_Exceptions]:
        targets = ((policy, subject.name), (policy, None))
        return [self._exceptions[target] for target in targets if target in self._exceptions]

    def _let_off(self, policy: str, subject: "Subject") -> bool:
        """Return whether a waiver lets the subject off, and count it there."""
        every = self._exceptions_of(policy, subject)
        for exceptions in every:
            exceptions.used = True
        holding = [exceptions for exceptions in every if exceptions.holding]
        if holding:
            first = min(holding, key=lambda exceptions: exceptions.holding or ())
            first.off += 1
            if first.off <= _NAMED:
                first.titles.append(subject.title)
        return bool(holding)

    def waiver_problems(self) -> Iterator[Problem]:
        """Yield what waivers let off, which hold too long, which ended, and which let nothing off."""
        for exceptions in self._exceptions.values():
            if exceptions.off and exceptions.holding:
                yield _off(*exceptions.holding, exceptions)
            for key, waiver in exceptions.waivers:
                yield from _waiver_problems(key, waiver, self._today, used=exceptions.used)


def _broken(
    documents: Documents,
    name: str,
    policy: Policy,
    subject: "Subject",
    values: str,
    ended: list[tuple[str, Waiver]],
) -> Problem:
    """Return the problem of a subject that breaks a policy, at the field that can be mended."""
    line_of_policy = documents.where("Policy", name, _CEL)
    # In the next step, so that a digest knows the problem again where the policy has moved.
    line = f" ({line_of_policy})" if line_of_policy else ""
    folder = " from the same folder" if ("Policy", name) in documents.of_all_stacks else ""
    values = f" ({values})" if values else ""
    over = "".join(f"; waiver {key} of it ended on {waiver.spec.until}" for key, waiver in ended[:_NAMED])
    kind, key, path = (subject.kind, subject.key, subject.path) if subject.kind else ("Policy", name, _CEL)
    return Problem(
        f"{subject.title} breaks policy {name}: {policy.spec.message.rstrip('.')}{values}{over}",
        f"Change it, or have a Waiver of policy {name}{line}{folder} with of: {subject.name} let it off "
        "until a day",
        path,
        kind=kind,
        key=key,
        severity=_severity(policy),
    )


def _severity(policy: Policy) -> Severity:
    return "error" if policy.spec.enforce == "Refuse" else "warning"


def _off(key: str, waiver: Waiver, exceptions: _Exceptions) -> Problem:
    reason = waiver.spec.reason.rstrip(".")
    unnamed = exceptions.off - len(exceptions.titles)
    and_others = f" and {unnamed:,} more" if unnamed else ""
    breaks, them = ("breaks", "it") if exceptions.off == 1 else ("break", "them")
    return Problem(
        f"{', '.join(exceptions.titles)}{and_others} {breaks} policy {waiver.spec.policy}, and waiver {key} "
        f"lets {them} off until {waiver.spec.until}: {reason}",
        f"Change {them} before that day",
        "spec.until",
        kind="Waiver",
        key=key,
        severity="notice",
    )


def _waiver_problems(key: str, waiver: Waiver, today: date, *, used: bool) -> Iterator[Problem]:
    last = today + timedelta(days=MOST_DAYS)
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
