"""What templates ask for and plans do not count is told with its amount."""

from typing import Any

import pytest
from small_fleet import cluster, deployment, fleet, placed

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
