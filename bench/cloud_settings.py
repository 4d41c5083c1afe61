"""Measures how long cloud settings take compared with placement, for 50 GKE clusters with 4 pools each.

    python bench/cloud_settings.py [--clusters 50] [--rounds 5]

Each cluster has one deployment. Prints the best of some rounds of both, in one run, and their ratio.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from inferfleet.cloud.provider import decide
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.loading.load import load
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

ROOT = Path(__file__).parent.parent
POOLS = (
    {"name": "spot", "className": "gke-l4-1x-g2", "maxNodeCount": 8, "capacity": {"model": "Spot"}},
    {"name": "l4", "className": "gke-l4-4x-g2", "minNodeCount": 1, "maxNodeCount": 4},
    {"name": "a100", "className": "gke-a100-80-8x", "maxNodeCount": 2},
    {
        "name": "h100",
        "className": "gke-h100-mega-8x-tcpxo",
        "nodeCount": 2,
        "zones": ["us-central1-a"],
        "capacity": {"model": "Reservation", "reservation": {"name": "mega"}},
    },
)


def stack(clusters: int) -> Documents:
    """Return documents with the catalogue's classes, so many clusters, and one deployment for each."""
    documents = load([], catalogue=ROOT / "classes")
    gke = {"project": "acme-inference", "region": "us-central1"}
    return Documents(
        settings=documents.settings,
        classes=documents.classes,
        clusters={
            name: InferenceCluster.model_validate(
                {
                    "metadata": {"name": name},
                    "spec": {"cluster": {"source": "GKE", "gke": gke}, "nodePools": POOLS},
                }
            )
            for name in (f"c{number:02}" for number in range(clusters))
        },
        deployments={
            f"ml/{name}": ModelDeployment.model_validate(
                {
                    "metadata": {"name": name, "namespace": "ml"},
                    "spec": {
                        "replicas": 4,
                        "workers": {
                            "topology": {"tensor": 1},
                            "template": {"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}},
                        },
                    },
                }
            )
            for name in (f"m{number:02}" for number in range(clusters))
        },
    )


def best(rounds: int, work: Callable[[], object]) -> float:
    """Return the seconds of the quickest round."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    documents, lock = stack(arguments.clusters), Lock(stack="")
    planned = plan(documents, lock)
    cloud = decide(documents, lock, planned)
    components = [component for cluster in cloud.clusters.values() for component in cluster.components]
    resources = sum(len(component.resources) for component in components)
    placing = best(arguments.rounds, lambda: plan(documents, lock))
    deciding = best(arguments.rounds, lambda: decide(documents, lock, planned))
    again = best(arguments.rounds, lambda: decide(documents, cloud.lock, planned))
    print(f"{arguments.clusters} clusters, {len(POOLS)} pools each: ", end="")
    print(f"{resources} cloud resources, {len(cloud.problems)} problems")
    print(f"placement            {placing:.3f} s")
    print(f"cloud settings       {deciding:.3f} s   {deciding / placing:.2f}x placement")
    print(f"  against a lock     {again:.3f} s   {again / placing:.2f}x placement")


if __name__ == "__main__":
    main()
