"""Rules between the parts of a pod, and of values that only some fields may have."""

from typing import Any

import pytest

from inferfleet.api.pods.template import spec_mistakes, template_mistakes
from inferfleet.api.wording import path_of

ENGINE = {"name": "engine", "image": "engine:1"}
SHM = {"name": "v", "mountPath": "/v"}


def _said(spec: dict[str, Any]) -> list[tuple[str, str]]:
    whole = {"containers": [ENGINE], **spec}
    return [(path_of(mistake.at), mistake.what) for mistake in spec_mistakes(whole)]


def _engine(**fields: Any) -> dict[str, Any]:
    return {"containers": [ENGINE | fields]}


@pytest.mark.parametrize(
    ("spec", "path", "what"),
    [
        (
            {"initContainers": [{"name": "a", "image": "x", "livenessProbe": {"grpc": {"port": 1}}}]},
            "initContainers[0].livenessProbe",
            "init container a: an init container has a livenessProbe only with restartPolicy: Always",
        ),
        (
            _engine(ports=[{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]),
            "containers[0].ports[1].hostPort",
            "container engine: hostPort 5 is taken by another port",
        ),
        (
            {"hostNetwork": True, **_engine(ports=[{"containerPort": 1, "hostPort": 2}])},
            "containers[0].ports[0].hostPort",
            "container engine: hostPort 2 must be the containerPort, because of hostNetwork",
        ),
        (
            {"volumes": [{"name": "v"}], **_engine(volumeDevices=[{"name": "v", "devicePath": "/d"}])},
            "containers[0].volumeDevices[0].name",
            "container engine: volume v is no block device",
        ),
        (
            _engine(resources={"claims": [{"name": "gpu"}]}),
            "containers[0].resources.claims[0].name",
            "container engine: the pod has no resource claim 'gpu'",
        ),
        (
            _engine(resources={"limits": {"hugepages-2Mi": "3Mi", "cpu": 1}}),
            "containers[0].resources.limits.hugepages-2Mi",
            "container engine: hugepages-2Mi 3Mi is not a multiple of 2Mi",
        ),
        (
            _engine(resources={"requests": {"example.com/nic": 1}}),
            'containers[0].resources.requests["example.com/nic"]',
            "container engine: example.com/nic is requested and has no limit, and the two must be equal",
        ),
        (
            {"resources": {"requests": {"cpu": 1}}, **_engine(resources={"requests": {"cpu": 2}})},
            "resources.requests.cpu",
            "the containers have requests of 2 cpu, the pod of 1",
        ),
        (
            {"resources": {"requests": {"cpu": 1}}, **_engine(resources={"limits": {"cpu": 2}})},
            "resources.requests.cpu",
            "the containers have requests of 2 cpu, the pod of 1",
        ),
        (
            {
                "resources": {"limits": {"cpu": 1}},
                "initContainers": [{"name": "a", "image": "x", "resources": {"requests": {"cpu": 2}}}],
            },
            "resources.limits.cpu",
            "the containers have requests of 2 cpu, the pod a limit of 1",
        ),
        (
            {"resources": {"limits": {"cpu": 1}}, **_engine(resources={"limits": {"cpu": 2}})},
            "containers[0].resources.limits.cpu",
            "container engine: the limit of 2 cpu is more than that of the pod, 1",
        ),
        (
            {"overhead": {}},
            "overhead",
            "overhead is what a RuntimeClass takes, and the pod has no runtimeClassName",
        ),
        (
            _engine(image="\u0261hcr.io/engine:1"),
            "containers[0].image",
            "container engine: {field} '\u0261hcr.io/engine:1' must be a name of ASCII characters without "
            "blanks in or around it",
        ),
        (
            _engine(image="engine:1 "),
            "containers[0].image",
            "container engine: {field} 'engine:1 ' must be a name of ASCII characters without blanks in or "
            "around it",
        ),
        (
            {"volumes": [{"name": "model", "image": {}}]},
            "volumes[0].image.reference",
            "volume model: field reference is missing",
        ),
        (
            {"securityContext": {"sysctls": [{"name": "a.b", "value": "1"}, {"name": "a.b", "value": "2"}]}},
            "securityContext.sysctls[1].name",
            "a second entry of sysctls has the name 'a.b'",
        ),
        (
            {"dnsPolicy": "None"},
            "dnsConfig.nameservers",
            "dnsPolicy None needs a name server",
        ),
        (
            {"activeDeadlineSeconds": 60},
            "activeDeadlineSeconds",
            "pods of a deployment serve for ever, so they have no activeDeadlineSeconds",
        ),
        ({"priority": 100}, "priority", "priority 100 is of a PriorityClass, and the pod names none"),
        (
            {"preemptionPolicy": "Never"},
            "preemptionPolicy",
            "preemptionPolicy Never is of a PriorityClass, and the pod names none",
        ),
        (
            {"hostUsers": False, "hostPID": True},
            "hostPID",
            "hostPID does not go with hostUsers: false",
        ),
        (
            {"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}},
            "securityContext.runAsUser",
            "a pod for Windows has no runAsUser",
        ),
    ],
)
def test_what_the_parts_of_a_pod_are_to_each_other(spec: dict[str, Any], path: str, what: str) -> None:
    assert _said(spec) == [(path, what)]


def test_a_claim_that_the_pod_lacks_is_to_be_removed_and_not_added() -> None:
    (mistake,) = spec_mistakes(_engine(resources={"claims": [{"name": "devices"}]}))
    assert mistake.next_step == "Remove it: the engine gets the devices of its topology"


def test_a_hook_may_sleep_for_the_grace_period_that_is_generated() -> None:
    for seconds in (130, 131, 86_400):
        assert _said(_engine(lifecycle={"preStop": {"sleep": {"seconds": seconds}}})) == []


@pytest.mark.parametrize(
    ("hook", "seconds", "fields", "grace"),
    [
        ("preStop", 131, {"terminationGracePeriodSeconds": 130}, 130),
        ("preStop", 86_401, {}, 130),
        ("postStart", 131, {}, 130),
    ],
)
def test_a_hook_may_not_sleep_for_longer_than_its_pod_has(
    hook: str, seconds: int, fields: dict[str, Any], grace: int
) -> None:
    what = f"container engine: {hook} sleeps for {seconds} s, and the pod gets {grace} s to end"
    path = f"containers[0].lifecycle.{hook}.sleep.seconds"
    assert _said(_engine(lifecycle={hook: {"sleep": {"seconds": seconds}}}) | fields) == [(path, what)]


@pytest.mark.parametrize(
    "spec",
    [
        {"resources": {"limits": {"cpu": 1}}, **_engine(resources={"requests": {"cpu": 1}})},
        {"overhead": {"cpu": 1}, "runtimeClassName": "kata"},
        {"volumes": [{"name": "model", "image": {"reference": "model:1"}}]},
    ],
)
def test_what_a_pod_has_to_go_with_it_is_right(spec: dict[str, Any]) -> None:
    assert _said(spec) == []


def test_devices_of_the_engine_may_be_requested_without_a_limit_which_is_generated() -> None:
    assert _said(_engine(resources={"requests": {"nvidia.com/gpu": 1}})) == []


def test_annotations_that_kubernetes_reads_are_checked() -> None:
    annotations = {
        "controller.kubernetes.io/pod-deletion-cost": "cheap",
        "container.apparmor.security.beta.kubernetes.io/other": "unconfined",
    }
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [ENGINE]}}
    assert [mistake.what for mistake in template_mistakes(template)] == [
        "the cost of a deletion is an integer, not 'cheap'",
        "the pod has no container 'other'",
    ]
