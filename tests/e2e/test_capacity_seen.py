"""What a cluster really has is noted, and the next plan counts on no more than that."""

import json

from asking import until
from documents import model
from project import Project

POOL = "inferfleet.dev/pool=l4"


def test_pods_of_others_and_cordoned_nodes_leave_less_room_for_new_replicas(project: Project) -> None:
    project.write("models", model("chat", on="east", replicas=2))
    done = project.up()
    assert done.code == 0, done.output
    first = _written(project)
    assert "east/l4: {seen:" in first
    assert "foreign" not in first
    assert "held" not in first
    # Two nodes with four GPUs each.
    project.write("models", model("chat", on="east", replicas=8))
    assert _planned(project) == 8
    try:
        _foreign_pod(project, gpus=2)
        assert "foreign: [2]" in _written(project)
        assert _planned(project) == 6
        node = _nodes_by_gpus_of_ours(project)[0]
        project.kubectl("east", "cordon", node)
        written = _written(project)
        assert "held: [" in written
        # What runs stays: fewer are placed than before, and never less than the two.
        assert 2 <= _planned(project) < 6
        project.kubectl("east", "uncordon", node)
    finally:
        project.kubectl("east", "delete", "pod", "theirs", "--namespace", "default", "--wait=false")
        project.kubectl("east", "uncordon", "--selector", POOL)
    until("the foreign pod is gone", lambda: not _theirs(project))
    assert "foreign" not in _written(project)
    assert _planned(project) == 8


def _written(project: Project) -> str:
    done = project.cli("capacity", "--stack", project.stack, "--write")
    assert done.returncode == 0, done.stderr
    return (project.documents / "capacity.lock").read_text()


def _planned(project: Project) -> int:
    done = project.cli("plan", "--stack", project.stack, "--json")
    return sum(placed["replicas"] for placed in json.loads(done.stdout)["placements"])


def _foreign_pod(project: Project, *, gpus: int) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "theirs", "namespace": "default"},
        "spec": {
            "nodeSelector": {"inferfleet.dev/pool": "l4"},
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "train",
                    "image": "docker.io/library/busybox:1",
                    "resources": {"limits": {"nvidia.com/gpu": str(gpus)}},
                }
            ],
        },
    }
    file = project.root / "theirs.json"
    file.write_text(json.dumps(pod))
    project.kubectl("east", "apply", "--filename", str(file))
    until("the foreign pod has a node", lambda: any(pod["spec"].get("nodeName") for pod in _theirs(project)))


def _theirs(project: Project) -> list[dict[str, object]]:
    pods = project.items("east", "pods", "--field-selector", "metadata.name=theirs")
    return [pod for pod in pods if pod["metadata"]["namespace"] == "default"]


def _nodes_by_gpus_of_ours(project: Project) -> list[str]:
    """The nodes of the pool, the one with the fewest of our pods first."""
    nodes = [node["metadata"]["name"] for node in project.items("east", "nodes", "--selector", POOL)]
    ours = [
        pod["spec"].get("nodeName")
        for pod in project.items("east", "pods")
        if pod["metadata"]["namespace"] == "ml"
    ]
    return sorted(nodes, key=lambda node: (ours.count(node), node))
