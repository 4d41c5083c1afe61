"""What a template says of accelerators is a condition on classes, and what contradicts it is told before."""

from typing import Any

import pytest
from small_fleet import class_, cluster, deployment, fleet, lock, role, standing

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.accelerators import DeviceRequest
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

NONE = Lock(stack="test")


def of(name: str, driver: str, count: int = 8, **device: Any) -> InferenceClass:
    entry = {"name": "gpu", "driver": driver, "count": count, **device}
    return class_(name, 0, devices=[entry])


CLASSES = (
    of("amd", "gpu.amd.com"),
    of("gaudi", "gaudi.intel.com"),
    of("tpu", "tpu.google.com"),
    of("ascend", "npu.huawei.com"),
    of("mig", "gpu.nvidia.com", 7, resource="nvidia.com/mig-1g.10gb"),
    of("shared", "gpu.nvidia.com", 80, resource="nvidia.com/gpu.shared"),
    of("acme", "gpu.acme.com", resource="acme.com/gpu"),
    class_(
        "dra",
        0,
        devices=[
            {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 8}
        ],
        allocation="DRA",
    ),
    class_("cores", 0, devices=[]),
)
# Pools in the order in which a plan that chose between vendors would take them.
EVERY = cluster(
    "east",
    {
        **{one.metadata.name: (one.metadata.name, 2) for one in CLASSES if one.metadata.name != "dra"},
        "h100": ("h100", 2),
    },
)


def one(resource: str, amount: int | str = 1) -> dict[str, Any]:
    return {"limits": {resource: amount}}


def made(*written: Any, east: Any = EVERY, locked: Lock = NONE) -> Plan:
    return plan(fleet(*CLASSES, east, *written), locked)


def errors(planned: Plan) -> list[tuple[str, str, str]]:
    found = [one for one in planned.problems if one.severity == "error"]
    return [(problem.path, problem.what, problem.next_step) for problem in found]


@pytest.mark.parametrize(
    ("written", "pool"),
    [
        ({}, "h100"),
        ({"accelerator": "NVIDIA"}, "h100"),
        ({"accelerator": "AMD"}, "amd"),
        ({"accelerator": "Gaudi"}, "gaudi"),
        ({"accelerator": "TPU"}, "tpu"),
        ({"accelerator": "Ascend"}, "ascend"),
        ({"accelerator": "None"}, "cores"),
        ({"resources": one("nvidia.com/gpu")}, "h100"),
        ({"resources": {"requests": {"amd.com/gpu": 1}}}, "amd"),
        ({"resources": one("nvidia.com/mig-1g.10gb")}, "mig"),
        ({"resources": one("nvidia.com/gpu.shared")}, "shared"),
        ({"resources": one("acme.com/gpu")}, "acme"),
        ({"accelerator": "NVIDIA", "resources": one("nvidia.com/mig-1g.10gb")}, "mig"),
        ({"cel": 'device.driver == "gpu.amd.com"'}, "amd"),
        ({"cel": '"gpu.amd.com/none" in attributes || device.driver == "gpu.amd.com"'}, "amd"),
        ({"cel": '"gpu.amd.com" == device.driver && !("none" in attributes)'}, "amd"),
        ({"cel": 'device.driver in ["gpu.amd.com"]'}, "amd"),
        ({"cel": 'device.driver in ["gpu.acme.com", "gpu.amd.com"]'}, "amd"),
        ({"cel": 'size(device.attributes["gpu.amd.com"]) == 0'}, "amd"),
        ({"pod": {"nodeSelector": {"amd.com/gpu.product-name": "AMD_Instinct_MI300X"}}}, "amd"),
        ({"pod": {"nodeSelector": {"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice"}}}, "tpu"),
        ({"pod": {"nodeSelector": {"nvidia.com/gpu.family": "hopper"}}}, "h100"),
        ({"pod": {"nodeSelector": {"amd.com/gpu.vram": "192G", "nvidia.com/gpu.family": "x"}}}, "h100"),
        ({"cel": 'device.driver != "gpu.amd.com"'}, "h100"),
        ({"cel": '!(device.driver == "gpu.amd.com")'}, "h100"),
        ({"cel": '!(device.driver in ["gpu.amd.com", "tpu.google.com"])'}, "h100"),
        ({"cel": '!("gpu.amd.com" in device.attributes)'}, "h100"),
        ({"cel": '!("none" in device.attributes["gpu.amd.com"])'}, "h100"),
        ({"cel": '!["gpu.amd.com"].exists(one, one == device.driver)'}, "h100"),
    ],
)
def test_pods_are_on_nodes_that_have_what_they_ask_for(written: dict[str, Any], pool: str) -> None:
    planned = made(deployment("a", 1, **written))
    assert (standing(planned), errors(planned)) == ({f"ml/a east decode={pool}": 1}, [])


def test_a_vendor_that_no_class_has_is_told_with_those_that_there_are() -> None:
    only = cluster("east", {"amd": ("amd", 1), "mig": ("mig", 1), "cores": ("cores", 1)})
    planned = made(deployment("a", 1), east=only)
    assert (standing(planned), errors(planned)) == (
        {},
        [
            (
                "spec.accelerator",
                "pods ask for nvidia.com/gpu, and no class of the clusters that clusterSelector matches "
                "has it "
                "(amd has amd.com/gpu; cores has no accelerator; mig has nvidia.com/mig-1g.10gb)",
                "Write accelerator: AMD or nvidia.com/mig-1g.10gb in the resources of the engine, or add a "
                "pool that has it",
            )
        ],
    )


def test_a_running_replica_leaves_nodes_that_lack_what_it_asks_for_now() -> None:
    planned = made(deployment("a", 1, accelerator="AMD"), locked=lock({"a east/h100": 1}))
    assert standing(planned) == {"ml/a east decode=amd": 1}


def test_claims_give_devices_of_a_vendor_and_none_that_a_template_names() -> None:
    only = cluster("east", {"dra": ("dra", 1)})
    assert standing(made(deployment("a", 1), east=only)) == {"ml/a east decode=dra": 1}
    planned = made(deployment("a", 1, resources=one("nvidia.com/gpu")), east=only)
    assert (standing(planned), errors(planned)) == (
        {},
        [
            (
                'spec.workers.template.spec.containers[0].resources.limits["nvidia.com/gpu"]',
                "pods ask for nvidia.com/gpu, and no class of the clusters that clusterSelector matches "
                "has it "
                "(dra has NVIDIA devices by DRA claims)",
                "Leave it out of the template, and pods claim devices of class dra; or add a pool whose "
                "class has allocation DevicePlugin",
            )
        ],
    )


AT = "spec.workers.template.spec.containers[0].resources."


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (
            {"accelerator": "AMD", "gpus": 8, "resources": one("nvidia.com/gpu", 8)},
            (
                f'{AT}limits["nvidia.com/gpu"]',
                "the engine asks for 8 nvidia.com/gpu, but spec.accelerator is AMD (amd.com/gpu)",
                "Write accelerator: NVIDIA, or the resource of AMD",
            ),
        ),
        (
            {"accelerator": "None", "resources": one("acme.com/gpu")},
            (
                f'{AT}limits["acme.com/gpu"]',
                "container 'engine' asks for 1 acme.com/gpu, but spec.accelerator is None, which places "
                "the pods "
                "on nodes without any",
                "Remove it, or spec.accelerator",
            ),
        ),
        (
            {"resources": {"limits": {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 1}}},
            (
                f'{AT}limits["nvidia.com/mig-1g.10gb"]',
                "the engine asks for 1 nvidia.com/mig-1g.10gb, and for 1 nvidia.com/gpu; pods of a role have "
                "accelerators of one kind, and the same number of them",
                "Keep one of the two, 1 nvidia.com/gpu or 1 nvidia.com/mig-1g.10gb",
            ),
        ),
        (
            {"gpus": 2, "resources": {"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": 1}}},
            (
                f'{AT}requests["nvidia.com/gpu"]',
                "the engine asks for 1 nvidia.com/gpu, and for 2 nvidia.com/gpu; pods of a role have "
                "accelerators of one kind, and the same number of them",
                "Keep one of the two, 2 nvidia.com/gpu or 1 nvidia.com/gpu",
            ),
        ),
        (
            {"gpus": 4, "resources": one("nvidia.com/gpu", 3)},
            (
                f'{AT}limits["nvidia.com/gpu"]',
                "the engine asks for 3 nvidia.com/gpu, but tensor x dataLocal of its topology is 4 per pod",
                "Write 4, or 1 or 2 to spread tensor over pods, or change the topology",
            ),
        ),
        *(
            (
                {"gpus": tensor, "resources": one("nvidia.com/gpu", amount)},
                (
                    f'{AT}limits["nvidia.com/gpu"]',
                    f"the engine asks for {number} nvidia.com/gpu, but tensor x dataLocal of its topology is "
                    f"{tensor} per pod",
                    f"Write {tensor}{fewer}, or change the topology",
                ),
            )
            for tensor, amount, number, fewer in (
                (1, "0.5", "0.5", ""),
                (2, "500m", "0.500", ", or 1 to spread tensor over pods"),
                (3, "1.5", "1.5", ", or 1 to spread tensor over pods"),
            )
        ),
        (
            {
                "topology": {"tensor": 2, "data": 2, "dataLocal": 2},
                "resources": one("nvidia.com/gpu", 2),
            },
            (
                f'{AT}limits["nvidia.com/gpu"]',
                "the engine asks for 2 nvidia.com/gpu, but tensor x dataLocal of its topology is 4 per pod",
                "Write 4, or change the topology",
            ),
        ),
        (
            {"cel": 'device.driver in ["gpu.nvidia.com", "gpu.amd.com"]'},
            (
                "spec.nodeSelector.cel",
                "nodeSelector names NVIDIA and AMD, and pods ask for accelerators of one vendor",
                "Write accelerator: NVIDIA or AMD",
            ),
        ),
        (
            {"resources": one("nvidia.com/hostdev")},
            (
                f'{AT}limits["nvidia.com/hostdev"]',
                "pods ask for nvidia.com/hostdev, and no class of the clusters that clusterSelector "
                "matches has "
                "it (acme has acme.com/gpu; amd has amd.com/gpu; ascend has huawei.com/Ascend910; cores "
                "has no "
                "accelerator; gaudi has habana.ai/gaudi; h100 has nvidia.com/gpu; mig has "
                "nvidia.com/mig-1g.10gb; shared has nvidia.com/gpu.shared; tpu has google.com/tpu)",
                "If nodes have it, describe it in their class as a device with claim: Synthetic and driver: "
                "nvidia.com/hostdev",
            ),
        ),
        (
            {"gpus": 16, "resources": one("nvidia.com/gpu", 16)},
            (
                f'{AT}limits["nvidia.com/gpu"]',
                "each pod asks for 16 nvidia.com/gpu; no node of the fleet has more than 8 GPUs (class h100)",
                "Add a pool of larger nodes, or write as many as a node has, so that several pods share "
                "tensor",
            ),
        ),
    ],
)
def test_what_contradicts_itself_is_told_with_both_values(
    written: dict[str, Any], found: tuple[str, str, str]
) -> None:
    planned = made(deployment("a", 1, **written))
    assert (standing(planned), errors(planned)) == ({}, [found])


def _with(document: ModelDeployment, **spec: Any) -> ModelDeployment:
    written = document.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return ModelDeployment.model_validate({**written, "spec": {**written["spec"], **spec}})


def test_a_container_beside_the_engine_gets_no_accelerators() -> None:
    side = {"name": "side", "image": "side:1", "resources": one("nvidia.com/gpu")}
    template = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}, side]}}
    workers = {"topology": {"tensor": 1}, "template": template}
    planned = made(_with(deployment("a", 1), workers=workers))
    assert errors(planned) == [
        (
            'spec.workers.template.spec.containers[1].resources.limits["nvidia.com/gpu"]',
            "container 'side' asks for 1 nvidia.com/gpu, and only the engine gets accelerators, those of its "
            "topology",
            "Remove it, or let the engine ask for it",
        )
    ]


def test_entries_and_followers_have_the_same_accelerators() -> None:
    entry, follower = (
        {"template": {"spec": {"containers": [{"name": "engine", "image": "e:1", "resources": resources}]}}}
        for resources in (one("nvidia.com/gpu", 4), one("nvidia.com/gpu", 2))
    )
    workers = {"topology": {"tensor": 4, "pipeline": 2}, "entry": entry, "follower": follower}
    planned = made(_with(deployment("a", 1), workers=workers))
    assert [(path, what) for path, what, _ in errors(planned)] == [
        (
            'spec.workers.follower.template.spec.containers[0].resources.limits["nvidia.com/gpu"]',
            "the engine asks for 2 nvidia.com/gpu, and for 4 nvidia.com/gpu in the entry; pods of a role "
            "have "
            "accelerators of one kind, and the same number of them",
        )
    ]


def warnings(planned: Plan) -> list[tuple[str, str]]:
    found = [one for one in planned.problems if one.severity == "warning"]
    return [(problem.path, problem.what) for problem in found]


def test_an_engine_uses_one_part_of_an_accelerator() -> None:
    planned = made(deployment("a", 1, gpus=2, resources=one("nvidia.com/mig-1g.10gb", 2)))
    assert [said for said in warnings(planned) if "part" in said[1]] == [
        (
            'spec.workers.template.spec.containers[0].resources.limits["nvidia.com/mig-1g.10gb"]',
            "the engine asks for 2 nvidia.com/mig-1g.10gb, and one process uses one part of an accelerator",
        )
    ]


def test_pods_of_a_worker_that_name_no_accelerators_get_those_of_the_others() -> None:
    entry, follower = (
        {"template": {"spec": {"containers": [{"name": "engine", "image": "e:1", **resources}]}}}
        for resources in ({}, {"resources": one("google.com/tpu", 4)})
    )
    workers = {"topology": {"tensor": 4, "pipeline": 2}, "entry": entry, "follower": follower}
    planned = made(_with(deployment("a", 1), workers=workers))
    assert [said for said in warnings(planned) if "names" in said[1]] == [
        (
            'spec.workers.follower.template.spec.containers[0].resources.limits["google.com/tpu"]',
            "the follower names 4 google.com/tpu, and the other pods of its worker name none: all of them "
            "get so many",
        )
    ]


def test_resources_beside_accelerators_are_a_condition_too() -> None:
    gpu = {"name": "gpu", "driver": "gpu.nvidia.com", "count": 8}
    card = {"name": "nic", "driver": "nvidia.com/hostdev", "claim": "Synthetic"}
    plain, joined = class_("plain", 0, devices=[gpu]), class_("joined", 0, devices=[gpu, card])
    east = cluster("east", {"a": ("plain", 2), "b": ("joined", 2)})
    document = deployment("a", 1, resources=one("nvidia.com/hostdev"))
    planned = plan(fleet(plain, joined, east, document), NONE)
    assert planned.demands.devices == {
        ("ml/a", "decode"): DeviceRequest("nvidia.com/gpu", None, ("nvidia.com/hostdev",))
    }
    assert (standing(planned), errors(planned)) == ({"ml/a east decode=b": 1}, [])
    assert [reason.why for reason in planned.reasons["ml/a"]] == [
        "class plain has nvidia.com/gpu, and the pods ask for nvidia.com/hostdev"
    ]


@pytest.mark.parametrize(
    ("name", "nodes", "replicas"), [("small", 2, 1), ("small", 5, 2), ("h100", 1, 0), ("h100", 2, 8)]
)
def test_a_group_has_pods_of_the_template_s_number_on_nodes_of_any_size(
    name: str, nodes: int, replicas: int
) -> None:
    document = deployment("a", 9, gpus=2, resources=one("nvidia.com/gpu"))
    planned = plan(fleet(class_("small", 1), cluster("east", {name: (name, nodes)}), document), NONE)
    assert (sum(standing(planned).values()), errors(planned)) == (replicas, [])
    demand = planned.demands.of("ml/a", "decode", ("east", name))
    assert (demand.pods, demand.gang, demand.pod.gpus) == (2, 2, 1)


def test_slices_are_counted() -> None:
    planned = made(deployment("a", 20, resources=one("nvidia.com/mig-1g.10gb")))
    assert standing(planned) == {"ml/a east decode=mig": 14}


def test_a_group_over_nodes_without_a_network_has_a_place_where_no_other_class_suits() -> None:
    small = class_("small", 1)
    document = deployment("a", 1, gpus=2)
    slow = cluster("east", {"small": ("small", 2)})
    assert standing(plan(fleet(small, slow, document), NONE)) == {"ml/a east decode=small": 1}
    both = cluster("east", {"h100": ("h100", 0), "small": ("small", 2)})
    (missing,) = plan(fleet(small, both, document), NONE).unplaced
    assert [(reason.pool, reason.why, reason.step) for reason in missing.reasons] == [
        ("h100", "has no nodes", ""),
        (
            "small",
            "has 1 GPU per node, needs 2, and class small has no network between its nodes",
            "write 1 nvidia.com/gpu into the resources of the engine of ml/a, and groups of 2 are spread "
            "over "
            "such nodes, slowly",
        ),
    ]


@pytest.mark.parametrize(
    "closed",
    [
        *({"state": state} for state in ("cordoned", "drained", "lost", "abandoned")),
        {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]},
    ],
)
def test_a_cluster_that_takes_no_replicas_keeps_no_group_from_nodes_without_a_network(
    closed: dict[str, Any],
) -> None:
    slow = cluster("east", {"small": ("small", 2)})
    west = cluster("west", {"h100": ("h100", 1)}, **closed)
    planned = plan(fleet(class_("small", 1), slow, west, deployment("a", 1, gpus=2)), NONE)
    assert standing(planned) == {"ml/a east decode=small": 1}


def test_a_group_that_runs_over_slow_nodes_stays_once_there_are_others() -> None:
    both = cluster("east", {"h100": ("h100", 1), "small": ("small", 2)})
    planned = plan(fleet(class_("small", 1), both, deployment("a", 1, gpus=2)), lock({"a east/small": 1}))
    assert (standing(planned), errors(planned)) == ({"ml/a east decode=small": 1}, [])


def test_a_replica_has_roles_with_and_without_accelerators() -> None:
    cpu = {"requests": {"cpu": "4"}}
    frontend = deployment(
        "a",
        2,
        accelerator="None",
        resources=cpu,
        roles={"worker": {**role(8), "accelerator": "NVIDIA"}},
    )
    assert standing(made(frontend)) == {"ml/a east decode=cores worker=h100": 2}
    engine = deployment("a", 2, gpus=8, roles={"router": {**role(1), "accelerator": "None"}})
    planned = made(engine)
    assert standing(planned) == {"ml/a east decode=h100 router=cores": 2}
    demands = {name: planned.demands.declared["ml/a", name].pod.gpus for name in ("decode", "router")}
    assert demands == {"decode": 8, "router": 0}


def test_a_role_asks_for_what_its_own_template_names() -> None:
    template = {"spec": {"containers": [{"name": "engine", "image": "e:1", "resources": one("amd.com/gpu")}]}}
    other = {"workers": {"topology": {"tensor": 1}, "template": template}}
    assert standing(made(deployment("a", 1, roles={"encode": other}))) == {
        "ml/a east decode=h100 encode=amd": 1
    }
    planned = made(deployment("a", 1, accelerator="NVIDIA", roles={"encode": other}))
    assert [(path, what) for path, what, _ in errors(planned)] == [
        (
            'spec.roles.encode.workers.template.spec.containers[0].resources.limits["amd.com/gpu"]',
            "the engine asks for 1 amd.com/gpu, but spec.accelerator is NVIDIA (nvidia.com/gpu)",
        )
    ]
