"""Queues and PodGroups on a real API server that knows the kinds of Volcano and Kueue.

The two themselves are missing, so nobody admits or schedules anything. It shows what is written, what is
taken, and what is refused before.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from documents import deployment, east, kueue_webhook
from dry_run import ApiServer
from project import Project

from inferfleet.documents.kinds.scheduler import Closeness
from inferfleet.fleet.scheduling import Scheduling
from inferfleet.fleet.spot import Spot
from inferfleet.serving.schedulers import pod_groups
from sandbox.toolchain.kinds_of_others import SCHEDULERS
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import make_tools

POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
SPOT = Spot("default/kimi", "east", (("decode", "h200"), ("encode", "l4")))
POD = {
    "spec": {
        "containers": [
            {
                "name": "engine",
                "resources": {"limits": {"cpu": "500m", "memory": "10Gi", "nvidia.com/gpu": "8"}},
            }
        ]
    }
}


@pytest.fixture(scope="module")
def queues(standing: Project) -> Iterator[Project]:
    """The fleet with the kinds of both schedulers on its eastern cluster."""
    folder = make_tools(Progress(), (SCHEDULERS,)).folder(SCHEDULERS.name) / "crds"
    standing.kubectl("east", "create", "-f", str(folder))
    standing.kubectl("east", "wait", "--for=condition=Established", "--timeout=600s", "-f", str(folder))
    yield standing
    # The objects of a stack go before their kinds do.
    left = standing.destroy()
    standing.kubectl("east", "delete", "-f", str(folder))
    name = kueue_webhook()["metadata"]["name"]
    standing.kubectl("east", "delete", "mutatingwebhookconfigurations", name, "--ignore-not-found")
    assert left.code == 0, left.output


@pytest.fixture(scope="module")
def server(queues: Project) -> ApiServer:
    return ApiServer(queues.root / ".sandbox" / queues.stack / "east.kubeconfig")


def single() -> dict[str, Any]:
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": POD}
    return {"kind": "Deployment", "metadata": {"name": "kimi-encode-l4"}, "spec": spec}


def group() -> dict[str, Any]:
    pods = {"size": 4, "leaderTemplate": POD, "workerTemplate": POD}
    return {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "kimi-decode-h200"},
        "spec": {"replicas": 2, "leaderWorkerTemplate": pods},
    }


SHAPES: dict[str, tuple[Scheduling, dict[str, dict[str, Any]]]] = {
    "a worker": (Scheduling("Volcano", "team-a", "volcano"), {"decode": group()}),
    "close by tier": (
        Scheduling("Volcano", "team-a", "volcano", Closeness(required=0)),
        {"decode": group()},
    ),
    "close by name": (
        Scheduling("Volcano", "team-a", "volcano", Closeness(preferred="rack")),
        {"decode": group()},
    ),
    "a gang": (
        Scheduling("Volcano", "default", "volcano", gang={"decode": 1, "encode": 2}),
        {"decode": group(), "encode": single()},
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_a_pod_group_is_taken(server: ApiServer, name: str) -> None:
    scheduling, workloads = SHAPES[name]
    (made,) = pod_groups(workloads, scheduling, spot=SPOT, stack="e2e")
    assert server.refuses(made, POD_GROUPS) == ""


def test_a_pod_group_with_a_typing_error_is_refused(server: ApiServer) -> None:
    (made,) = pod_groups({"decode": group()}, SHAPES["a worker"][0], spot=SPOT, stack="e2e")
    made["spec"]["subGroupPolicy"][0]["subGroupSizes"] = 4
    assert 'unknown field "spec.subGroupPolicy[0].subGroupSizes"' in server.refuses(made, POD_GROUPS)


def _add(project: Project, folder: Path, *objects: dict[str, Any]) -> None:
    file = folder / "queues.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    project.kubectl("east", "apply", "-f", str(file))


def _queue(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"clusterQueue": "all"},
    }


def _in_queue(**scheduler: Any) -> list[dict[str, Any]]:
    serving = east()["spec"]["serving"]
    return [east(serving={**serving, "scheduler": scheduler})]


def test_a_model_comes_up_in_a_queue_that_is_there(queues: Project, tmp_path: Path) -> None:
    queues.begin(clusters=_in_queue(type="Kueue", queue="team-a"), models=[deployment("one", on="east")])
    refused = queues.up()
    assert refused.code != 0
    assert "cluster 'east' has no LocalQueue 'team-a' of Kueue in namespace ml" in refused.output
    assert "cluster 'east' knows the kinds of Kueue, and has no controller of theirs" in refused.output

    if "ml" not in [space["metadata"]["name"] for space in queues.items("east", "namespaces")]:
        queues.kubectl("east", "create", "namespace", "ml")
    _add(queues, tmp_path, _queue("team-a"), kueue_webhook())
    done = queues.up()
    assert done.code == 0, done.output
    (model,) = queues.items("east", "deployments", "-l", "inferfleet.dev/role=decode")
    assert model["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
    assert queues.preview().operations == {}


def test_a_gang_is_a_group_that_status_tells_of_while_nobody_schedules_it(
    queues: Project, tmp_path: Path
) -> None:
    default = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "default"},
        "spec": {"weight": 1},
    }
    _add(queues, tmp_path, default)
    gang = {"gang": {"minRoleReplicas": {"decode": 1}}}
    queues.begin(clusters=_in_queue(type="Volcano"), models=[deployment("two", on="east", scheduler=gang)])
    queues.configure(**{"await": "applied"})
    done = queues.up()
    assert done.code == 0, done.output
    assert done.operations["PodGroup east/ml/two-l4-gang"] == "create"
    (made,) = queues.items("east", "podgroups.scheduling.volcano.sh")
    assert made["spec"] == {
        "queue": "default",
        "minMember": 1,
        "minResources": {"nvidia.com/gpu": "1"},
        "subGroupPolicy": [
            {
                "name": "decode",
                "labelSelector": {
                    "matchLabels": {
                        "inferfleet.dev/deployment": "two",
                        "inferfleet.dev/role": "decode",
                        "inferfleet.dev/placement": "l4",
                    }
                },
                "subGroupSize": 1,
                "minSubGroups": 1,
            }
        ],
    }
    assert queues.preview().operations == {}
    told = json.loads(queues.cli("status", "--stack", queues.stack, "--json").stdout)
    (placement,) = told["deployments"][0]["placements"]
    assert (placement["phase"], placement["message"]) == (
        "Pending",
        "PodGroup two-l4-gang waits for room in queue default of Volcano",
    )
