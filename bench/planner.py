"""Compares the planner with bounds and with a greedy, on random fleets (bench/fleets.py): `python
bench/planner.py`.

Printed for each fleet, as one line: replicas placed of the bound, and of the greedy; the price of the GPUs
that they hold as a multiple of the least one at equal spread (`bench/bounds.py`), and for the greedy; CPU
seconds of a plan from nothing and of the next one; MiB that the plan adds to the process; and the replicas
that the next plan moves. Last comes what 1,000 deployments take, as a multiple of ten times 100. Everything
takes half an hour, most of it the bounds; options pick parts.

Where there are more nodes than the deployments ask for (100 x 100, and all with 1,000 clusters), the load
changes nothing. Each fleet is planned in a process of its own.
"""

import argparse
import resource
import subprocess
import sys
import time

from bench.bounds import Bounds
from bench.fleets import CLASSES, fleet
from bench.greedy import greedy
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

# Clusters and deployments.
FLEETS = ((10, 100), (100, 100), (100, 1000), (1000, 100), (1000, 1000))
LOADS = (0.7, 1.0, 1.3)
SEEDS = (1, 2, 3, 4, 5)


def measured(
    clusters: int, deployments: int, load: float, seed: int, *, gangs: bool, bounds: bool = True
) -> str:
    """Return a line about planning one fleet twice."""
    documents = fleet(clusters, deployments, load=load, gangs=gangs, seed=seed)
    wanted = sum(document.spec.replicas for document in documents.deployments.values())
    before, start = _mebibytes(), time.process_time()
    first = plan(documents, Lock(stack="bench"))
    took, memory = time.process_time() - start, _mebibytes() - before
    start = time.process_time()
    second = plan(documents, first.lock)
    again = time.process_time() - start
    placed, price = sum(placement.replicas for placement in first.placements), price_of(first)
    name = f"{clusters} x {deployments}, load {load}, seed {seed}{', gangs and roles' if gangs else ''}"
    said = (
        f"{name:46} plan {took:5.2f} s, next {again:5.2f} s, {memory:4.0f} MiB, moves {len(second.changes)}"
    )
    if not bounds:
        return f"{said}, placed {placed} of {wanted}, price {price:,.0f}"
    best = Bounds(documents)
    most, least = best.placed(), best.price(first)
    by_greedy, price_of_greedy = greedy(documents)
    return (
        f"{said}, placed {placed}/{most} = {placed / most:.4f} (greedy {by_greedy}), "
        f"price {price:,.0f} = {price / least:.4f} of the least (greedy {price_of_greedy:,.0f})"
    )


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
    took = []
    for deployments in (100, 1000):
        documents = fleet(100, deployments, load=load, gangs=True)
        start = time.process_time()
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
    parser.add_argument("--kind", choices=("singles", "gangs"), help="only these")
    parser.add_argument("--no-bounds", action="store_true", help="only measure time, memory and moves")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for (clusters, deployments), name in zip(FLEETS, names, strict=True):
        if asked.fleet and name not in asked.fleet:
            continue
        for load in asked.load or LOADS:
            for seed in asked.seed or SEEDS:
                for kind in [asked.kind] if asked.kind else ("singles", "gangs"):
                    if asked.here:
                        bounds = not asked.no_bounds
                        print(
                            measured(clusters, deployments, load, seed, gangs=kind == "gangs", bounds=bounds)
                        )
                        continue
                    picked = ["--fleet", name, "--load", str(load), "--seed", str(seed), "--kind", kind]
                    rest = ["--here", *(["--no-bounds"] if asked.no_bounds else [])]
                    subprocess.run([sys.executable, "-m", "bench.planner", *picked, *rest], check=True)
    if not asked.here and not asked.fleet:
        print(growth(1.0))


if __name__ == "__main__":
    main()
