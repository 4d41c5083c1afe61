"""Measures the planner on random fleets (bench/fleets.py): `python bench/planning.py`.

Printed are for each fleet CPU seconds of a plan from nothing and of the next one, what the plan adds to the
memory of the process, replicas placed of those wanted, and the price of the GPUs that they hold.

On one machine, before pools were indexed and since:

| clusters x deployments | plan, s    | next, s   | MiB        | placed              | price           |
|------------------------|------------|-----------|------------|---------------------|-----------------|
| 100 x 100              | 0.87  0.09 | 0.65 0.03 |   28    15 | 221/221   221/221   |  4,743    2,787 |
| 1000 x 100             | 9.64  0.14 | 6.99 0.07 |  155    17 | 223/223   223/223   |  3,033    1,928 |
| 1000 x 1000            | 105   0.42 | 74   0.30 | 1375    21 | 2130/2130 2130/2130 | 40,216   23,140 |
| 10 x 1000, full        | 1.22  0.17 | 1.27 0.10 |   31    18 | 162/182   180/182   |  2,676    2,730 |

Each fleet is planned in a process of its own.
"""

import resource
import subprocess
import sys
import time

from bench.fleets import CLASSES, fleet
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

# Clusters, deployments, the part of all GPUs that is asked for, whether with gangs and roles.
FLEETS = (
    (100, 100, 0.7, False),
    (1000, 100, 0.7, False),
    (1000, 1000, 0.7, False),
    (1000, 1000, 0.7, True),
    (10, 1000, 1.0, False),
    (100, 1000, 1.0, True),
    (100, 1000, 1.3, True),
)


def measured(clusters: int, deployments: int, load: float, gangs: bool) -> str:
    """Return a line about planning one fleet twice."""
    documents = fleet(clusters, deployments, load=load, gangs=gangs)
    wanted = sum(document.spec.replicas for document in documents.deployments.values())
    before, start = _mebibytes(), time.process_time()
    first = plan(documents, Lock(stack="bench"))
    took, memory = time.process_time() - start, _mebibytes() - before
    start = time.process_time()
    second = plan(documents, first.lock)
    again = time.process_time() - start
    placed = sum(placement.replicas for placement in first.placements)
    name = f"{clusters} x {deployments}, load {load}{', gangs and roles' if gangs else ''}"
    moved = f"; the next one moves {len(second.changes)}" if second.changes else ""
    return (
        f"{name:42} plan {took:6.2f} s, next {again:6.2f} s, {memory:4.0f} MiB, placed {placed}/{wanted}, "
        f"price {_price(first):,.0f}{moved}"
    )


def _price(planned: Plan) -> float:
    """Return the price of the GPUs that all replicas hold."""
    total = 0.0
    for placement in planned.placements:
        spot = placement.spot
        for role, pool in spot.pools:
            gpus, _, price = CLASSES[pool]
            needs = planned.demands.of(spot.deployment, role, (spot.cluster, pool))
            total += placement.replicas * needs.gpus * price / gpus
    return total


def _mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    if len(sys.argv) > 1:
        print(measured(*FLEETS[int(sys.argv[1])]))
        return
    for index in range(len(FLEETS)):
        subprocess.run([sys.executable, "-m", "bench.planning", str(index)], check=True)


if __name__ == "__main__":
    main()
