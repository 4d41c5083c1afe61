"""What templates ask for and plans do not count is told with its amount."""

from typing import Any

import pytest
from small_fleet import class_, cluster, deployment, fleet, lock, placed

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

EAST = cluster("east", {"l4": ("l4", 1)})
SPEC = "spec.workers.template.spec"


def _planned(resources: dict[str, Any] | None = None, **pod: Any) -> Plan:
    made = deployment("a", 4, resources=resources).model_dump(by_alias=True, exclude_unset=True)
    made["spec"]["workers"]["template"]["spec"] |= pod
    return plan(fleet(EAST, ModelDeployment.model_validate(made)), Lock(stack="test"))


def _told(planned: Plan) -> list[tuple[str, str, str]]:
    return [(problem.severity, problem.path, problem.what) for problem in planned.problems]


def test_ephemeral_storage_is_told_as_what_the_whole_pod_requests() -> None:
    cache = {"name": "cache", "image": "c:1", "resources": {"limits": {"ephemeral-storage": "50Gi"}}}
    planned = _planned({"requests": {"ephemeral-storage": "20Gi"}}, initContainers=[cache])
    assert _told(planned) == [
        (
            "notice",
            SPEC,
            "each pod requests 50Gi of ephemeral-storage, which plans do not count: classes do not say how "
            "much their nodes have",
        )
    ]


def test_a_runtime_class_may_have_an_overhead_that_only_its_cluster_knows() -> None:
    assert _told(_planned(runtimeClassName="kata-qemu")) == [
        (
            "notice",
            f"{SPEC}.runtimeClassName",
            "the overhead of RuntimeClass kata-qemu, if it has one, is not planned: it is known to the "
            "cluster alone",
        )
    ]


def test_an_overhead_that_is_written_down_is_planned_and_not_told() -> None:
    planned = _planned({"requests": {"cpu": "50"}}, runtimeClassName="kata-qemu", overhead={"cpu": "10"})
    assert (_told(planned), placed(planned)) == ([], {"a east/l4": 3})


@pytest.mark.parametrize("pod", [{}, {"runtimeClassName": "nvidia"}])
def test_what_asks_for_nothing_else_is_not_told(pod: dict[str, Any]) -> None:
    assert _told(_planned(**pod)) == []


NEURON, EFA = "aws.amazon.com/neuron", "vpc.amazonaws.com/efa"
ASKING = {"requests": {"cpu": "4", EFA: 1}, "limits": {NEURON: 8, EFA: 1}}


def _undescribed(resource: str, which: str = "class l4") -> tuple[str, str, str, str]:
    return (
        "warning",
        f'{SPEC}.containers[0].resources.limits["{resource}"]',
        f"pods ask for {resource} beside nvidia.com/gpu, and by {which} their nodes have none: plans do not "
        "count it, and pods for which no node has it stay Pending",
        "If nodes have it, describe it in the class by a device: if it is their accelerator with resource: "
        f"{resource}, else with claim: Synthetic and driver: {resource}",
    )


def _devices(*synthetic: str) -> list[dict[str, Any]]:
    gpu = {"name": "gpu", "driver": "gpu.nvidia.com", "count": 8}
    return [
        gpu,
        *({"name": f"d{n}", "driver": name, "claim": "Synthetic"} for n, name in enumerate(synthetic)),
    ]


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        ({"l4": ("l4", 1)}, [_undescribed(NEURON), _undescribed(EFA)]),
        ({"efa": ("efa", 1)}, [_undescribed(NEURON, "class efa")]),
        ({"both": ("both", 1)}, []),
        (
            {"l4": ("l4", 1), "efa": ("efa", 1)},
            [_undescribed(NEURON, "classes efa, l4"), _undescribed(EFA)],
        ),
        # Without a place there is no node that could lack it.
        ({"l4": ("l4", 0)}, []),
    ],
)
def test_an_extended_resource_that_the_class_of_the_place_does_not_describe_is_a_warning(
    pools: dict[str, tuple[str, int]], expected: list[tuple[str, str, str, str]]
) -> None:
    classes = class_("efa", 0, devices=_devices(EFA)), class_("both", 0, devices=_devices(EFA, NEURON))
    running = lock({f"a east/{pool}": 1 for pool in pools}) if len(pools) > 1 else Lock(stack="test")
    model = deployment("a", len(pools), resources=ASKING)
    problems = plan(fleet(*classes, cluster("east", pools), model), running).problems
    assert [(one.severity, one.path, one.what, one.next_step) for one in problems] == expected


def test_resources_of_kubernetes_itself_are_no_extended_ones() -> None:
    assert _told(_planned({"requests": {"requests.kubernetes.io/a": "1", "hugepages-2Mi": "0"}})) == []
