"""Deployments with `accelerator: None` run on classes without accelerators, and ask for none."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import L4, NOTHING, Document, deployment, lock, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.fleet.decisions import Reason, Unplaced

TAINT = {"key": "models", "value": "only", "effect": "NoSchedule"}


def cores(name: str, cpu: str = "32", price: str | None = None, **spec: Any) -> InferenceClass:
    """A class of nodes with so many cores, and 4Gi of memory for each."""
    asked = {"asOf": "2026-04-14", "source": "a test", "currency": "USD"}
    return InferenceClass.model_validate(
        {
            "metadata": {"name": name},
            "spec": {
                "node": {"cpu": cpu, "memory": f"{4 * int(cpu)}Gi"},
                **({"price": {"onDemand": price, **asked}} if price else {}),
                **spec,
            },
        }
    )


def cluster(*pools: dict[str, Any]) -> Document:
    return InferenceCluster.model_validate(
        {
            "metadata": {"name": "east"},
            "spec": {
                "cluster": {"source": "Existing", "existing": {"kubeconfig": {"configKey": "east"}}},
                "nodePools": [{"nodeCount": 2, **pool} for pool in pools],
                "serving": {"gateway": {"className": "any"}},
            },
        }
    )


CPU = {"name": "cpu", "className": "cpu"}
GPU = {"name": "l4", "className": "l4"}


def documents(*written: Document, classes: tuple[InferenceClass, ...] = (cores("cpu"),)) -> Documents:
    return replace(stack(*written), classes={"l4": L4, **{one.metadata.name: one for one in classes}})


def on_cores(
    replicas: int = 1, cpu: str = "8", memory: str = "16Gi", engine: dict[str, Any] | None = None, **spec: Any
) -> Document:
    container = {"resources": {"requests": {"cpu": cpu, "memory": memory}}, **(engine or {})}
    return deployment("a", replicas, engine=container, accelerator="None", **spec)


def made(*written: Document, **more: Any) -> Desired:
    return desired(documents(*written, **more), NOTHING)


def placed(found: Desired) -> dict[str, int]:
    return {str(placement.spot): placement.replicas for placement in found.plan.placements}


def template(found: Desired, name: str) -> dict[str, Any]:
    (one,) = (one for part in found.clusters for one in part.objects if one.kubernetes_name == name)
    pod: dict[str, Any] = one.manifest["spec"]["template"]
    return pod


def test_pods_ask_for_no_accelerators_whatever_the_topology_says() -> None:
    spec = template(made(cluster(GPU, {**CPU, "taints": [TAINT]}), on_cores(gpus=2)), "a-decode-cpu")["spec"]
    (container,) = spec["containers"]
    assert container["resources"] == {"requests": {"cpu": "8", "memory": "16Gi"}}
    assert {key: spec[key] for key in ("nodeSelector", "tolerations", "volumes")} == {
        "nodeSelector": {"inferfleet.dev/pool": "cpu"},
        "tolerations": [{**TAINT, "operator": "Equal"}],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
    }
    assert "resourceClaims" not in spec


def test_pods_are_packed_by_cores_and_memory() -> None:
    found = made(cluster(CPU), on_cores(9, cpu="8"))
    full = "2 of 2 nodes full: 0 free cores on the emptiest node, needs 8"
    assert placed(found) == {"ml/a east decode=cpu": 8}
    assert found.plan.unplaced == (Unplaced("ml/a", 1, (Reason("east", "cpu", full),)),)
    found = made(cluster(CPU), on_cores(4, cpu="1", memory="100Gi"))
    short = "2 of 2 nodes full: 28Gi of free memory beside enough cores, needs 100Gi"
    assert found.plan.unplaced == (Unplaced("ml/a", 2, (Reason("east", "cpu", short),)),)


@pytest.mark.parametrize(
    ("resources", "warned"),
    [({}, 1), ({"requests": {"cpu": "8"}}, 0), ({"limits": {"memory": "16Gi"}}, 0)],
)
def test_pods_that_request_neither_cores_nor_memory_are_warned_of(
    resources: dict[str, Any], warned: int
) -> None:
    found = made(cluster(CPU, {**CPU, "name": "more"}), on_cores(150, engine={"resources": resources}))
    warning = Problem(
        "the pods have accelerator: None and request neither cpu nor memory, so the plan puts as many on a "
        "node as it may run",
        "Write resources.requests with cpu and memory",
        "spec.workers.template.spec.containers[0].resources",
        kind="ModelDeployment",
        key="ml/a",
        severity="warning",
    )
    assert list(found.warnings) == [warning] * warned


def test_each_kind_of_deployment_has_its_kind_of_pools() -> None:
    found = made(cluster(GPU, CPU), on_cores(), deployment("b", 9))
    assert placed(found) == {"ml/a east decode=cpu": 1, "ml/b east decode=l4": 8}
    full = Reason("east", "l4", "2 of 2 nodes full: 0 free GPUs on the emptiest node, needs 1")
    assert found.plan.unplaced == (
        Unplaced("ml/b", 1, (Reason("east", "cpu", "class cpu has no accelerator"), full)),
    )
    why = "class l4 has accelerators, and the pods ask for none"
    assert found.plan.reasons["ml/a"] == (Reason("east", "l4", why),)


def test_a_running_replica_moves_when_it_needs_accelerators_no_more() -> None:
    before = lock({"a east/l4": 1})
    found = desired(documents(cluster(GPU, CPU), on_cores()), before)
    assert placed(found) == {"ml/a east decode=cpu": 1}


def test_the_cheapest_core_is_taken_first() -> None:
    classes = cores("dear", "64", "8.00"), cores("cheap", "32", "2.00"), cores("unknown", "16")
    pools = [{"name": one.metadata.name, "className": one.metadata.name} for one in classes]
    found = made(cluster(*pools), on_cores(3, cpu="30", memory="1Gi"), classes=classes)
    assert placed(found) == {"ml/a east decode=cheap": 2, "ml/a east decode=dear": 1}


def test_workers_of_many_pods_have_nodes_of_their_own() -> None:
    topology = {"tensor": 2, "pipeline": 2}
    container = {
        "name": "engine",
        "image": "vllm:1",
        "args": ["--tensor-parallel-size=2", "--pipeline-parallel-size=2"],
    }
    workers = {"topology": topology, "template": {"spec": {"containers": [container]}}}
    found = made(cluster(CPU), deployment("a", accelerator="None", workers=workers))
    (demand,) = {found.plan.demands.of("ml/a", "decode", ("east", "cpu"))}
    assert (demand.gang, demand.gpus, placed(found)) == (2, 0, {"ml/a east decode=cpu": 1})


@pytest.mark.parametrize("container", ["engine", "side"])
def test_a_template_that_asks_for_accelerators_is_refused(container: str) -> None:
    asks = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    side = {"initContainers": [{"name": "side", "image": "side:1", **(asks if container == "side" else {})}]}
    with pytest.raises(InvalidDocuments) as raised:
        made(cluster(CPU), on_cores(engine=asks if container == "engine" else {}, pod=side))
    assert [(problem.what, problem.next_step) for problem in raised.value.problems] == [
        (
            f"container '{container}' asks for 1 nvidia.com/gpu, but spec.accelerator is None, which places "
            "the pods on nodes without any",
            "Remove it, or spec.accelerator",
        )
    ]


def test_a_plugin_for_accelerators_is_refused() -> None:
    with pytest.raises(InvalidDocuments) as raised:
        made(cluster(CPU), on_cores(plugins=[{"name": "accelerator", "config": {"runtimeClassName": "x"}}]))
    assert [(problem.what, problem.next_step) for problem in raised.value.problems] == [
        (
            "plugin accelerator: the pods have no accelerator (accelerator: None of the deployment) "
            "(deployment ml/a, role decode on east/cpu)",
            "Name the plugin in chains of classes with accelerators, or of deployments that ask for them",
        )
    ]


def test_devices_that_only_selectors_see_are_no_accelerators() -> None:
    nic = {"name": "nic", "driver": "dra.net", "claim": "Synthetic", "attributes": {"speed": {"int": 200}}}
    fast = {"cel": 'attributes["dra.net/speed"] >= 200'}
    classes = cores("cpu"), cores("fast", devices=[nic])
    found = made(
        cluster(CPU, {"name": "fast", "className": "fast"}),
        on_cores(nodeSelector=fast),
        classes=classes,
    )
    assert placed(found) == {"ml/a east decode=fast": 1}


def test_dra_is_for_classes_with_devices() -> None:
    with pytest.raises(ValueError, match="allocation DRA is for classes with devices"):
        cores("cpu", allocation="DRA")
