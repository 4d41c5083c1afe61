"""Compares the planner with bounds and with a greedy, on random fleets (bench/fleets.py): `python
bench/planner.py`.

Printed for each fleet, as one line: CPU seconds of a plan from nothing and of the next one; MiB that the plan
adds to the process; the replicas that the next plan moves; replicas placed of the bound; the price of the
GPUs that they hold as a multiple of the least one of as many replicas at equal spread (`bench/bounds.py`);
and how many of them share a cluster with another replica of their deployment. The greedy has the same three
figures, its price as a multiple of the least one of its own placement: it places other replicas, so that
prices alone would not compare. It counts GPUs alone, so it is left out where cores run out. Last comes what
1,000 deployments take, as a multiple of ten times 100, for all seeds together. Everything takes an hour, most
of it the bounds; options pick parts.

Where there are more nodes than the deployments ask for (100 x 100, and all with 1,000 clusters), the load
changes nothing. Each fleet is planned in a process of its own. Deployments with requests of their own that
use up cores before GPUs are on 10 clusters.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping

from bench.bounds import Bounds, InfeasibleError
from bench.fleets import CLASSES, Kind, fleet
from bench.greedy import greedy
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

# Clusters and deployments.
FLEETS = ((10, 100), (100, 100), (100, 1000), (1000, 100), (1000, 1000), (10, 1000))
LOADS = (0.7, 1.0, 1.3)
KINDS: tuple[Kind, ...] = ("singles", "gangs", "cores")
SEEDS = (1, 2, 3, 4, 5)


def measured(
    clusters: int, deployments: int, load: float, seed: int, *, kind: Kind, bounds: bool = True
) -> str:
    """Return a line about planning one fleet twice."""
    documents = fleet(clusters, deployments, load=load, kind=kind, seed=seed)
    wanted = sum(document.spec.wanted for document in documents.deployments.values())
    before, start = _mebibytes(), time.process_time()
    first = plan(documents, Lock(stack="bench"))
    took, memory = time.process_time() - start, _mebibytes() - before
    start = time.process_time()
    second = plan(documents, first.lock)
    again = time.process_time() - start
    there, price = by_cluster(first), price_of(first)
    name = f"{clusters} x {deployments}, load {load}, seed {seed}, {kind}"
    said = (
        f"{name:40} plan {took:5.2f} s, next {again:5.2f} s, {memory:4.0f} MiB, moves {len(second.changes)}"
    )
    if not bounds:
        return f"{said}, placed {_total(there)} of {wanted}, price {price:,.0f}, shared {_shared(there)}"
    best = Bounds(documents)
    most = best.placed()
    said = f"{said}; {_held(best, there, price, most)}"
    if kind == "cores":
        return said
    try:
        return f"{said}; greedy {_held(best, *greedy(documents), most)}"
    except InfeasibleError:
        return f"{said}; greedy places more than there are cores for"


def _held(bounds: Bounds, there: Mapping[str, Counter[str]], price: float, most: int) -> str:
    placed, least = _total(there), bounds.price(there)
    return (
        f"placed {placed}/{most} = {placed / most:.4f}, price {price / least:.4f} of the least, "
        f"shared {_shared(there)}"
    )


def _total(there: Mapping[str, Counter[str]]) -> int:
    return sum(counts.total() for counts in there.values())


def _shared(there: Mapping[str, Counter[str]]) -> int:
    """Return how many replicas share a cluster with one of their deployment that was there before."""
    return sum(number - 1 for counts in there.values() for number in counts.values())


def by_cluster(planned: Plan) -> dict[str, Counter[str]]:
    """Return the replicas of each deployment by cluster."""
    there: dict[str, Counter[str]] = {}
    for placement in planned.placements:
        counts = there.setdefault(placement.spot.deployment, Counter())
        counts[placement.spot.cluster] += placement.replicas
    return there


def price_of(planned: Plan) -> float:
    """Return the price of the GPUs that all replicas hold."""
    total = 0.0
    for placement in planned.placements:
        spot = placement.spot
        for role, pool in spot.pools:
            gpus, _, price = CLASSES[pool]
            needs = planned.demands.of(spot.deployment, role, (spot.cluster, pool))
            total += placement.replicas * needs.gpus * price / gpus
    return total


def growth(load: float) -> str:
    """Return how a plan on 100 clusters grows from 100 to 1,000 deployments."""
    plan(fleet(1, 10, kind="gangs"), Lock(stack="bench"))  # what a process loads once counts for neither
    took = []
    for deployments in (100, 1000):
        fleets = [fleet(100, deployments, load=load, kind="gangs", seed=seed) for seed in SEEDS]
        start = time.process_time()
        for documents in fleets:
            plan(documents, Lock(stack="bench"))
        took.append(time.process_time() - start)
    return f"100 clusters, 100 -> 1000 deployments, load {load}: {took[1] / took[0] / 10:.2f} x linear"


def _mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    names = [f"{clusters}x{deployments}" for clusters, deployments in FLEETS]
    parser = argparse.ArgumentParser(description="Compares the planner with bounds and with a greedy.")
    parser.add_argument("--fleet", action="append", choices=names, help="only these (repeat it)")
    parser.add_argument("--load", action="append", type=float, help="only these (repeat it)")
    parser.add_argument("--seed", action="append", type=int, help="only these (repeat it)")
    parser.add_argument("--kind", choices=KINDS, help="only these")
    parser.add_argument("--no-bounds", action="store_true", help="only measure time, memory and moves")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for (clusters, deployments), name in zip(FLEETS, names, strict=True):
        if asked.fleet and name not in asked.fleet:
            continue
        for load in asked.load or LOADS:
            for seed in asked.seed or SEEDS:
                for kind in [asked.kind] if asked.kind else KINDS[: 3 if clusters == 10 else 2]:
                    if asked.here:
                        bounds = not asked.no_bounds
                        print(measured(clusters, deployments, load, seed, kind=kind, bounds=bounds))
                        continue
                    picked = ["--fleet", name, "--load", str(load), "--seed", str(seed), "--kind", kind]
                    rest = ["--here", *(["--no-bounds"] if asked.no_bounds else [])]
                    subprocess.run([sys.executable, "-m", "bench.planner", *picked, *rest], check=True)
    if not asked.here and not asked.fleet:
        for load in asked.load or LOADS:
            print(growth(load))


if __name__ == "__main__":
    main()
