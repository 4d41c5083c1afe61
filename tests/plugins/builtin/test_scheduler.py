"""scheduler shown on whole pods: plain fields, and queues of Kueue, KAI and Volcano."""

import copy
import re
from dataclasses import replace
from typing import Any

import pytest

from inferfleet.plugins.builtin.scheduler import Config, edit
from inferfleet.plugins.contract import Edited, PluginError, Request


@pytest.mark.parametrize(
    ("config", "spec", "labels", "annotations"),
    [
        (
            {"schedulerName": "bin-packing", "priorityClassName": "serving"},
            {"schedulerName": "bin-packing", "priorityClassName": "serving"},
            {},
            {},
        ),
        (
            {"system": "KAI", "queue": "team-a"},
            {"schedulerName": "kai-scheduler"},
            {"kai.scheduler/queue": "team-a"},
            {},
        ),
        (
            {"system": "Volcano", "queue": "team-a", "group": "web"},
            {"schedulerName": "volcano"},
            {},
            {"scheduling.volcano.sh/queue-name": "team-a", "scheduling.k8s.io/group-name": "web"},
        ),
        (
            {"system": "Volcano", "schedulerName": "volcano-2"},
            {"schedulerName": "volcano-2"},
            {},
            {},
        ),
    ],
)
def test_scheduler_priority_and_queue_are_what_the_system_reads(
    generated: dict[str, Any],
    pod_request: Request,
    config: dict[str, Any],
    spec: dict[str, str],
    labels: dict[str, str],
    annotations: dict[str, str],
) -> None:
    expected = copy.deepcopy(generated)
    expected["spec"] |= spec
    expected["metadata"]["labels"] |= labels
    if annotations:
        expected["metadata"]["annotations"] = annotations
    assert edit(generated, pod_request, Config.model_validate(config)) == expected


def test_kueue_gets_what_its_own_webhook_writes_for_a_deployment(
    generated: dict[str, Any], pod_request: Request
) -> None:
    expected = copy.deepcopy(generated)
    expected["metadata"]["labels"] |= {
        "kueue.x-k8s.io/queue-name": "team-a",
        "kueue.x-k8s.io/managed": "true",
    }
    expected["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-suspending-parent": "deployment"}
    edited = edit(generated, pod_request, Config(system="Kueue", queue="team-a"))
    remark = "Kueue admits each pod on its own, as for every Deployment"
    assert edited == Edited(expected, remarks=(remark,))


def test_workers_of_several_pods_have_no_queue_of_kueue_in_their_template(
    generated: dict[str, Any], pod_request: Request
) -> None:
    request = replace(pod_request, deployment=replace(pod_request.deployment, pods_per_worker=2))
    with pytest.raises(
        PluginError, match="each worker has 2 pods, whose queue Kueue reads from the workload"
    ):
        edit(generated, request, Config(system="Kueue", queue="team-a"))


def test_what_the_template_says_otherwise_is_refused_with_both(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["spec"]["schedulerName"] = "default-scheduler"
    said = "schedulerName kai-scheduler contradicts the template, which has default-scheduler"
    with pytest.raises(PluginError, match=said):
        edit(generated, pod_request, Config(system="KAI", queue="a"))


@pytest.mark.parametrize(
    ("kind", "key", "other", "config"),
    [
        ("labels", "kueue.x-k8s.io/queue-name", "Kueue", {"system": "KAI", "queue": "a"}),
        ("labels", "kai.scheduler/queue", "KAI", {"system": "Volcano"}),
        ("annotations", "scheduling.volcano.sh/queue-name", "Volcano", {"system": "Kueue", "queue": "a"}),
    ],
)
def test_pods_go_through_the_queue_of_one_system(
    generated: dict[str, Any], pod_request: Request, kind: str, key: str, other: str, config: dict[str, str]
) -> None:
    generated["metadata"].setdefault(kind, {})[key] = "team-a"
    said = f"the pods go through a queue of {other} already ({key}), and not of {config['system']}"
    with pytest.raises(PluginError, match=re.escape(said)):
        edit(generated, pod_request, Config.model_validate(config))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "the plugin is given nothing to do"),
        ({"queue": "a"}, "queue a is set without system"),
        ({"system": "Kueue"}, "system Kueue needs a queue"),
        ({"system": "KAI"}, "system KAI needs a queue"),
        ({"system": "KAI", "queue": "a", "group": "g"}, "group g is a PodGroup of Volcano"),
        ({"schedulerName": "My Scheduler"}, "'My Scheduler' must be at most 253 lowercase letters, digits"),
        ({"priorityClassName": "a..b"}, "'a..b' must be at most 253 lowercase letters, digits"),
    ],
)
def test_configs_that_mean_nothing_are_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Config.model_validate(config)
