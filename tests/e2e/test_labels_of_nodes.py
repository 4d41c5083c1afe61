"""Templates that name labels of nodes run where the plan and the scheduler both find them."""

import json
from collections import Counter
from typing import Any

from documents import model
from project import Project

DISK = "example.com/disk"
POOL = "inferfleet.dev/pool"


def _asking(name: str, **spec: Any) -> dict[str, Any]:
    """A model that may run on both clusters, with these fields of its pods."""
    made = model(name)
    del made["spec"]["clusterSelector"]
    made["spec"]["workers"]["template"]["spec"] |= spec
    return made


def test_pods_run_on_nodes_with_the_labels_that_their_templates_name(project: Project) -> None:
    lacks = {"matchExpressions": [{"key": DISK, "operator": "DoesNotExist"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [lacks]}}
    project.write(
        "models",
        _asking("fast", nodeSelector={DISK: "nvme"}),
        _asking("slow", affinity={"nodeAffinity": required}),
        _asking("named", nodeSelector={POOL: "h100"}),
    )
    try:
        project.kubectl("west", "label", "nodes", "--selector", f"{POOL}=h100", f"{DISK}=nvme")
        # Nothing says it yet, so the cheapest nodes are as good as any, and the plan says what is not known.
        assert _planned(project) == {"fast": "east/l4", "slow": "east/l4", "named": "west/h100"}
        written = project.cli("capacity", "--stack", project.stack, "--write")
        assert written.returncode == 0, written.stderr
        assert _planned(project) == {"fast": "west/h100", "slow": "east/l4", "named": "west/h100"}
        done = project.up()
        assert done.code == 0, done.output
        assert _running(project) == {
            ("fast", "west", "h100"): 1,
            ("slow", "east", "l4"): 1,
            ("named", "west", "h100"): 1,
        }
    finally:
        project.kubectl("west", "label", "nodes", "--all", f"{DISK}-")


def _planned(project: Project) -> dict[str, str]:
    done = project.cli("plan", "--stack", project.stack, "--json")
    placements = json.loads(done.stdout)["placements"]
    return {
        each["deployment"].partition("/")[2]: f"{each['cluster']}/{each['pools']['decode']}"
        for each in placements
    }


def _running(project: Project) -> Counter[tuple[str, str, str]]:
    """How many pods of each model run on the nodes of which pool, as the scheduler put them."""
    running: Counter[tuple[str, str, str]] = Counter()
    for cluster in ("east", "west"):
        nodes = {
            node["metadata"]["name"]: node["metadata"]["labels"].get(POOL, "")
            for node in project.items(cluster, "nodes")
        }
        for pod in project.items(cluster, "pods", "--selector", "inferfleet.dev/role"):
            labels, phase = pod["metadata"]["labels"], pod["status"]["phase"]
            if phase == "Running" and not pod["metadata"].get("deletionTimestamp"):
                running[labels["inferfleet.dev/deployment"], cluster, nodes[pod["spec"]["nodeName"]]] += 1
    return running
