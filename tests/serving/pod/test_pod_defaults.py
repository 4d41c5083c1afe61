"""What pods get where their template leaves it open, and that it says otherwise where it wants."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.hardware import Hardware
from inferfleet.serving.pod.template import PlacedPod, pod_template, restrained

SECCOMP = {"seccompProfile": {"type": "RuntimeDefault"}}
RESTRAINED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, **SECCOMP}
UNCONFINED = {"seccompProfile": {"type": "Unconfined"}}
Make = Callable[..., ModelDeployment]


def _made(made: ModelDeployment, spot: Spot, needs: Hardware) -> dict[str, Any]:
    return pod_template(PlacedPod(made, spot, "decode", "Entry", Shape(1, needs.gpus), needs))


def test_pods_are_named_as_llm_d_does(deployment: Make, spot: Spot, whole: Hardware) -> None:
    labels = _made(deployment(), spot, whole)["metadata"]["labels"]
    assert {key: value for key, value in labels.items() if key.startswith("llm-d.ai/")} == {
        "llm-d.ai/model": "qwen",
        "llm-d.ai/role": "both",
        "llm-d.ai/engine-type": "vllm",
        "llm-d.ai/inference-serving": "true",
    }


def test_a_busy_sglang_answers_its_probes(deployment: Make, spot: Spot, whole: Hardware) -> None:
    [engine] = _made(deployment(engine={"type": "SGLang"}), spot, whole)["spec"]["containers"]
    assert engine["env"] == [
        {"name": "SGLANG_TIMEOUT_KEEP_ALIVE", "value": "3700"},
        {"name": "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "value": "false"},
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, RESTRAINED),
        ({"runAsUser": 7}, {"runAsUser": 7, **RESTRAINED}),
        ({"capabilities": {"drop": []}}, {**RESTRAINED, "capabilities": {"drop": []}}),
        (
            {"capabilities": {"add": ["IPC_LOCK"]}},
            {**RESTRAINED, "capabilities": {"add": ["IPC_LOCK"], "drop": ["ALL"]}},
        ),
        (
            {"capabilities": {"add": ["SYS_ADMIN"]}},
            {"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}, **SECCOMP},
        ),
        ({"allowPrivilegeEscalation": True}, {**RESTRAINED, "allowPrivilegeEscalation": True}),
        (UNCONFINED, {**RESTRAINED, **UNCONFINED}),
        ({"privileged": True}, {"privileged": True}),
    ],
)
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_what_a_container_says_of_itself_stays(
    kind: str, written: dict[str, Any], expected: dict[str, Any]
) -> None:
    container = {"name": "own", **({"securityContext": written} if written else {})}
    template: dict[str, Any] = {"spec": {"containers": [], kind: [container]}}
    assert restrained(template, template)["spec"][kind][0]["securityContext"] == expected


def test_containers_that_plugins_add_are_theirs() -> None:
    own = {"spec": {"containers": [{"name": "engine"}]}}
    edited = {"spec": {"containers": [{"name": "engine"}, {"name": "added"}]}}
    made = restrained(edited, own)
    assert made["spec"]["containers"] == [
        {"name": "engine", "securityContext": RESTRAINED},
        {"name": "added"},
    ]
    assert edited == {"spec": {"containers": [{"name": "engine"}, {"name": "added"}]}}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, {"automountServiceAccountToken": False}),
        ({"serviceAccountName": "reader"}, {"serviceAccountName": "reader"}),
        ({"automountServiceAccountToken": True}, {"automountServiceAccountToken": True}),
    ],
)
def test_an_account_that_is_named_keeps_its_token(written: dict[str, Any], expected: dict[str, Any]) -> None:
    template = {"spec": {"containers": [], **written}}
    assert restrained(template, template) == {"spec": {"containers": [], **expected}}


def test_a_seccomp_profile_of_the_pod_is_that_of_its_containers() -> None:
    template = {"spec": {"containers": [{"name": "engine"}], "securityContext": UNCONFINED}}
    [container] = restrained(template, template)["spec"]["containers"]
    assert "seccompProfile" not in container["securityContext"]
