"""Claims of 1, 2 and 8 GPUs: the real scheduler allocates them where the plan says, and nothing more fits."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from documents import Document, cluster, deployment
from project import ROOT, Project
from sandboxes import running

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.fleet.selectors.claims import claim_conditions
from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector

STACK = "dra"
TABLE = ROOT / "tests" / "fleet" / "selectors" / "kubernetes" / "results.jsonl"
CEL = 'capacity["gpu.nvidia.com/memory"].compareTo(quantity("75Gi")) >= 0 && attributes["nic.example/fast"]'
H100 = {
    "apiVersion": "inferfleet.dev/v1alpha1",
    "kind": "InferenceClass",
    "metadata": {"name": "claimed-h100-8x"},
    "spec": {
        "node": {"cpu": "200", "memory": "1800Gi"},
        "allocation": "DRA",
        "devices": [
            {
                "name": "gpu",
                "driver": "gpu.nvidia.com",
                "deviceClassName": "gpu.nvidia.com",
                "count": 8,
                "attributes": {
                    "productName": {"string": "NVIDIA H100 80GB HBM3"},
                    "architecture": {"string": "Hopper"},
                    "cudaComputeCapability": {"version": "9.0.0"},
                },
                "capacity": {"memory": {"value": "81559Mi"}},
            },
            {
                "name": "rdma",
                "driver": "rdma.example",
                "deviceClassName": "rdma.example",
                "count": 4,
            },
            {
                "name": "nic",
                "driver": "nic.example",
                "claim": "Synthetic",
                "attributes": {"fast": {"bool": True}},
            },
        ],
    },
}


RACK = {
    "apiVersion": "inferfleet.dev/v1alpha1",
    "kind": "InferenceClass",
    "metadata": {"name": "gb200-4x"},
    "spec": {
        "node": {"cpu": "140", "memory": "884Gi"},
        "devices": [
            {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 4},
            {
                "name": "imex",
                "driver": "compute-domain.nvidia.com",
                "deviceClassName": "compute-domain-default-channel.nvidia.com",
            },
        ],
    },
}


def claimed(**spec: Any) -> Document:
    pools = {"h100": ("claimed-h100-8x", 3), "rack": ("gb200-4x", 1)}
    return cluster("east", stack=STACK, pools=pools, **spec)


def models(ones: int = 4, twos: int = 2) -> list[Document]:
    """By default 8 x 1, 2 x 2 GPUs on one node, and two pods of whole nodes: all 24 GPUs."""
    small = {"nodeSelector": {"cel": CEL}}
    return [
        deployment("ones", gpus=1, replicas=ones, **small),
        deployment("twos", gpus=2, replicas=twos, **small),
        deployment("whole", gpus=8, replicas=2, **small),
    ]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with running(tmp_path_factory.mktemp("dra"), STACK, H100, RACK, claimed()) as project:
        yield project
        left = project.destroy()
        assert left.code == 0, left.output


def placed(project: Project) -> dict[str, list[str]]:
    """By name of the workload the nodes of its running pods."""
    nodes: dict[str, list[str]] = {}
    for pod in project.items("east", "pods", "-l", "inferfleet.dev/serves=true"):
        assert pod["status"]["phase"] == "Running", pod["status"]
        name = pod["metadata"]["labels"]["inferfleet.dev/deployment"]
        nodes.setdefault(name, []).append(pod["spec"]["nodeName"])
    return nodes


def allocated(project: Project) -> dict[str, int]:
    """By pool of devices, which is one node and kind, how many the scheduler has given away."""
    counts: dict[str, int] = {}
    for claim in project.items("east", "resourceclaims"):
        for result in claim["status"]["allocation"]["devices"]["results"]:
            counts[result["pool"]] = counts.get(result["pool"], 0) + 1
    return counts


def test_a_fleet_is_claimed_to_its_last_gpu_as_planned(fleet: Project) -> None:
    fleet.write("models", *models())
    up = fleet.up()
    assert up.code == 0, up.output
    nodes = placed(fleet)
    assert {name: len(on) for name, on in nodes.items()} == {"ones": 4, "twos": 2, "whole": 2}
    assert allocated(fleet) == {
        **{f"east-h100-{number}-gpu": 8 for number in range(3)},
        # Pods of 1 GPU have no share of four cards, those of 2 GPUs one card, those of 8 GPUs all.
        **{f"east-h100-{number}-rdma": count for number, count in enumerate(rdma(nodes))},
    }


def rdma(nodes: dict[str, list[str]]) -> list[int]:
    names = [f"east-h100-{number}" for number in range(3)]
    return [nodes["twos"].count(name) + 4 * nodes["whole"].count(name) for name in names]


def test_what_stands_serves_and_nobody_changed_it(fleet: Project) -> None:
    said = fleet.cli("status", "--stack", STACK)
    assert said.returncode == 0, said.stdout + said.stderr


def test_a_second_update_changes_nothing(fleet: Project) -> None:
    again = fleet.up()
    assert (again.code, again.operations) == (0, {}), again.output


def test_one_more_stays_unplaced_and_says_why(fleet: Project) -> None:
    fleet.write("models", *models(ones=5))
    more = fleet.cli("plan", "--stack", STACK, "--json")
    (unplaced,) = json.loads(more.stdout)["unplaced"]
    assert (unplaced["deployment"], unplaced["replicas"]) == ("ml/ones", 1)
    fleet.write("models", *models())


def test_a_larger_claim_is_a_new_template_beside_the_old_one(fleet: Project) -> None:
    def templates() -> set[str]:
        return {item["metadata"]["name"] for item in fleet.items("east", "resourceclaimtemplates")}

    before = templates()
    fleet.write("models", *models(ones=2)[:1], *models()[1:])
    assert fleet.up().code == 0
    assert templates() == before
    fleet.write("models", deployment("ones", gpus=2, replicas=2, nodeSelector={"cel": CEL}), *models()[1:])
    up = fleet.up()
    assert up.code == 0, up.output
    assert len(templates() - before) == 1
    assert len(templates()) == len(before)


def test_the_api_server_takes_every_object_of_claims(fleet: Project) -> None:
    kinds = ("resourceclaimtemplates", "deviceclasses", "resourceslices")
    rendered = [again(item) for kind in kinds for item in fleet.items("east", kind)]
    assert {item["kind"] for item in rendered} == {"ResourceClaimTemplate", "DeviceClass", "ResourceSlice"}
    file = fleet.root / "again.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": rendered}))
    said = fleet.kubectl("east", "create", "--dry-run=server", "--validate=strict", "-f", str(file))
    assert said.count("created (server dry run)") == len(rendered)


def test_the_api_server_takes_every_condition_that_claims_ask(fleet: Project) -> None:
    """Of all expressions that Kubernetes is known to take, each as far as claims may ask it."""
    asked = {
        expression
        for row in map(json.loads, TABLE.read_text().splitlines())
        if row["result"] not in ("refused", "too costly")
        for expression in conditions(row["expression"])
    }
    assert len(asked) > 80
    templates = []
    for at, expression in enumerate(sorted(asked)):
        exactly = {"deviceClassName": "x", "selectors": [{"cel": {"expression": expression}}]}
        requests = [{"name": "gpu", "exactly": exactly}]
        templates.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaimTemplate",
                "metadata": {"name": f"asked-{at}", "namespace": "default"},
                "spec": {"spec": {"devices": {"requests": requests}}},
            }
        )
    file = fleet.root / "asked.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": templates}))
    said = fleet.kubectl("east", "create", "--dry-run=server", "-f", str(file))
    assert said.count("created (server dry run)") == len(asked)


def conditions(expression: str) -> list[str]:
    try:
        Selectors().check(expression)
    except InvalidSelector:
        return []
    asked = claim_conditions(expression, InferenceClass.model_validate(H100), devices={"gpu", "rdma"})
    return [asked.expression(device) for device in asked.conditions]


def again(item: dict[str, Any]) -> dict[str, Any]:
    """The same object by another name, as somebody would create it."""
    metadata = {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]}
    return {**item, "metadata": {**metadata, "name": f"{metadata['name']}-again"}}


def test_a_node_gives_its_one_channel_to_one_pod_of_a_compute_domain(fleet: Project) -> None:
    """So a worker of several pods takes whole nodes: another one could not have the rest."""
    domain = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "r1", "namespace": "default"},
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "r1-channel"}}},
    }
    create(fleet, domain, channel_pod("first"))
    fleet.kubectl("east", "wait", "--for=condition=Ready", "pod/first", "--timeout=600s")
    create(fleet, channel_pod("second"))
    fleet.kubectl("east", "wait", "--for=condition=PodScheduled=false", "pod/second", "--timeout=600s")
    fleet.kubectl("east", "delete", "pod/first", "pod/second", "computedomain/r1")


def create(fleet: Project, *objects: dict[str, Any]) -> None:
    file = fleet.root / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    fleet.kubectl("east", "create", "-f", str(file))


def channel_pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"of": "r1"}},
        "spec": {
            "containers": [{"name": "main", "image": "x:1", "resources": {"claims": [{"name": "channel"}]}}],
            "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": "r1-channel"}],
            "tolerations": [{"operator": "Exists"}],
        },
    }


def test_a_missing_device_class_stops_the_update_with_the_next_step(fleet: Project) -> None:
    fleet.kubectl("east", "delete", "deviceclass", "rdma.example")
    stopped = fleet.up()
    assert stopped.code != 0
    assert "has no DeviceClass 'rdma.example'" in stopped.output
