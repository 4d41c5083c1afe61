"""Random fleets for the planner, each edited a few times: `python tests/fuzz/fleet_campaign.py --seed 1`.

After each edit the fleet is planned with the lock of the plan before, and the plan is held against
`plan_faults.py`. A fleet with a fault is made again from its seed and number (`--seed 1 --only 17`).
"""

import argparse
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from fleet_cases import made
from fleet_documents import Fleet
from fleet_edits import edited
from plan_faults import faults

from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import matches
from inferfleet.fleet.planning import plan

# Edits of one fleet.
MOST_EDITS = 6
# The part of plans whose advice is looked at too, which takes longer than the plan.
_THOROUGH = 0.3


@dataclass(frozen=True)
class Fault:
    """A plan that is wrong: which fleet, the edits that led there, and what is wrong."""

    number: int
    edits: tuple[str, ...]
    what: str


def history(seed: int, number: int) -> tuple[int, list[Fault]]:
    """Plan one fleet from nothing and after each of its edits, as long as nothing is wrong. Return how many
    edited ones were planned, and what is wrong with the last.
    """
    random = Random(f"{seed}/{number}")
    fleet, edits = made(random), ["made"]
    for planned_fleets in range(1 + random.randint(1, MOST_EDITS)):
        if planned_fleets:
            edit, fleet = edited(fleet, random)
            edits.append(edit)
        try:
            planned = plan(fleet.loaded(), fleet.known())
            wrong = [*faults(fleet, fleet.lock, planned), *_unsteady(fleet, planned, random)]
        except Exception:  # noqa: BLE001 (whatever it is, it is what is looked for)
            wrong = [f"raises {traceback.format_exc()}"]
        if wrong:
            return planned_fleets, [Fault(number, tuple(edits), what) for what in wrong]
        fleet.lock = planned.lock
    return planned_fleets, []


def _unsteady(fleet: Fleet, planned: Plan, random: Random) -> Iterator[str]:
    """Yield what a second plan changes, what the order of documents does, and fixes that place nothing."""
    again = plan(fleet.loaded(), replace(planned.lock, seen=fleet.seen))
    if again.changes or not matches(planned.lock, again.lock):
        yield f"the next plan changes {[str(change) for change in again.changes]}"
    # What an abandoned cluster had ran before this plan, not before the next.
    ended = tuple(replace(missing, running=0) for missing in planned.unplaced)
    if (again.placements, again.unplaced) != (planned.placements, ended):
        yield "the next plan has other replicas without a place"
    documents = fleet.loaded()
    shuffled = {}
    for kind in ("classes", "clusters", "deployments", "services", "quotas"):
        items = [*getattr(documents, kind).items()]
        random.shuffle(items)
        shuffled[kind] = dict(items)
    placements = [*fleet.lock.placements.items()]
    random.shuffle(placements)
    lock = replace(fleet.known(), placements=dict(placements))
    other = plan(replace(documents, **shuffled), lock)
    thorough = random.random() < _THOROUGH
    if (other if thorough else _bare(other)) != (planned if thorough else _bare(planned)):
        yield "another order of documents gives another plan"
    if not thorough:
        return
    for unplaced in planned.unplaced:
        yield from _unfixed(fleet, planned, unplaced.deployment)
    for spot, runner_up in planned.runners_up.items():
        if runner_up is not None and not runner_up.why:
            yield f"{spot}: a runner-up without a reason"
    for deployment in planned.reasons:
        if not all(reason.why for reason in planned.reasons[deployment]):
            yield f"{deployment}: a reason says nothing"


def _bare(planned: Plan) -> Plan:
    """Return the plan without the advice that is worked out when it is asked for."""
    return replace(planned, fixes={}, runners_up={}, reasons={})


def _unfixed(fleet: Fleet, planned: Plan, deployment: str) -> Iterator[str]:
    """Yield that the fix of a deployment does not place its replicas, whatever is done with it."""
    fix = planned.fixes[deployment]
    if fix is None or any((more.cluster, more.pool) in fleet.seen for more in fix.pools):
        return
    bigger = Fleet({**fleet.documents}, fleet.objective, fleet.lock, fleet.seen)
    for more in fix.pools:
        raw = bigger.documents["InferenceCluster", more.cluster]
        pools = [
            {**pool, ("maxNodeCount" if "maxNodeCount" in pool else "nodeCount"): more.size}
            if pool["name"] == more.pool
            else pool
            for pool in raw["spec"]["nodePools"]
        ]
        bigger.documents["InferenceCluster", more.cluster] = {
            **raw,
            "spec": {**raw["spec"], "nodePools": pools},
        }
    fixed = plan(bigger.loaded(), replace(planned.lock, seen=fleet.seen))
    if deployment in {unplaced.deployment for unplaced in fixed.unplaced}:
        yield f"{deployment} has no place with the nodes of its fix either: {fix}"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=10_000, help="edited fleets")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", type=int, help="the number of one fleet")
    chosen = options.parse_args()
    if chosen.only is not None:
        _, found = history(chosen.seed, chosen.only)
        print("\n".join(f"{' > '.join(fault.edits)}: {fault.what}" for fault in found) or "no fault")
        return 1 if found else 0
    begun, planned, wrong, number = time.process_time(), 0, 0, 0
    while planned < chosen.count:
        more, found = history(chosen.seed, number)
        planned, wrong = planned + more, wrong + bool(found)
        for fault in found:
            print(
                f"--seed {chosen.seed} --only {number}, {' > '.join(fault.edits)}: {fault.what}", flush=True
            )
        number += 1
        if number % 100 == 0:
            print(f"{planned} edited fleets, {wrong} with a fault", flush=True)
    took = time.process_time() - begun
    print(f"{planned} edited fleets of {number}, {wrong} with a fault, {took:.0f} CPU-s (seed {chosen.seed})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
