"""Pods that claim their devices: what stands in the template, and what must not stand beside it."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.pods.template import template_mistakes
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.pod.check import document_problems, template_check
from inferfleet.serving.pod.hardware import Hardware, PodClaim
from inferfleet.serving.pod.template import PlacedPod, pod_template

Make = Callable[..., ModelDeployment]
CLIQUE = "nvidia.com/gpu.clique"
CLAIMS = (
    PodClaim("devices", "qwen-decode-h100-1", 2),
    PodClaim("channel", "qwen-decode-h100-channel", shared_by=CLIQUE),
)
OURS = [
    {"name": "devices", "resourceClaimTemplateName": "qwen-decode-h100-1"},
    {"name": "channel", "resourceClaimTemplateName": "qwen-decode-h100-channel"},
]
DRA = Hardware("nvidia.com/gpu", 2, 2, {"inferfleet.dev/pool": "h100"}, allocation="DRA", claims=CLAIMS)
SIDECAR = {"name": "top", "image": "x:1", "resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}}
TEAMS = {"name": "fast-nic", "resourceClaimTemplateName": "nic"}


def _stand(document: ModelDeployment, spot: Spot, needs: Hardware = DRA) -> PlacedPod:
    return PlacedPod(document, spot, "decode", "Entry", Shape(2, needs.gpus), needs)


def test_a_pod_has_its_claims_and_asks_for_no_extended_resource(deployment: Make, spot: Spot) -> None:
    template = pod_template(_stand(deployment(), spot))
    (engine,) = template["spec"]["containers"]
    assert engine["resources"] == {"claims": [{"name": "devices"}, {"name": "channel"}]}
    assert template["spec"]["resourceClaims"] == OURS
    assert template["spec"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]
    assert template["metadata"]["annotations"] == {"inferfleet.dev/claimed-gpus": "2"}
    assert list(template_mistakes(template)) == []


def test_gpus_of_the_device_plugin_and_a_channel_go_together(deployment: Make, spot: Spot) -> None:
    needs = Hardware("nvidia.com/gpu", 2, 2, {"inferfleet.dev/pool": "h100"}, claims=CLAIMS[1:])
    template = pod_template(_stand(deployment(), spot, needs))
    (engine,) = template["spec"]["containers"]
    gpus = {"nvidia.com/gpu": "2"}
    assert engine["resources"] == {"limits": gpus, "requests": gpus, "claims": [{"name": "channel"}]}
    assert template["spec"]["resourceClaims"] == OURS[1:]
    assert "annotations" not in template["metadata"]


def test_pods_of_one_worker_that_share_a_channel_are_in_one_nvlink_domain(
    deployment: Make, spot: Spot
) -> None:
    theirs = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    document = deployment({"affinity": theirs})
    together = {
        "labelSelector": {
            "matchLabels": {
                "inferfleet.dev/deployment": "qwen",
                "inferfleet.dev/role": "decode",
                "inferfleet.dev/placement": "h100",
            }
        },
        "matchLabelKeys": ["leaderworkerset.sigs.k8s.io/group-key"],
        "topologyKey": CLIQUE,
    }
    assert pod_template(_stand(document, spot))["spec"]["affinity"] == {
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [],
            "requiredDuringSchedulingIgnoredDuringExecution": [together],
        }
    }


def test_what_a_team_asks_for_besides_stays(deployment: Make, spot: Spot) -> None:
    engine = {"resources": {"requests": {"cpu": "4"}}}
    template = pod_template(_stand(deployment({"engine": engine}), spot))
    assert template["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "4"}


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (
            {"resourceClaims": [TEAMS]},
            "spec.workers.template.spec.resourceClaims: the pod claims devices of its own, but replicas are "
            "placed by claims of the topology, and the plan does not see what a claim takes. Remove it: the "
            "engine gets the devices of its topology",
        ),
    ],
)
def test_a_document_asks_for_no_devices_by_itself(
    deployment: Make, spot: Spot, pod: dict[str, Any], said: str
) -> None:
    assert [str(problem) for problem in document_problems(_stand(deployment(pod), spot))] == [said]


def test_a_plugin_adds_no_resource_beside_claims(deployment: Make, spot: Spot) -> None:
    stand = _stand(deployment(), spot)
    template = pod_template(stand)
    template["spec"]["containers"].append(SIDECAR)
    assert [str(mistake.what) for mistake in template_check(stand)(template)] == [
        "container 'top' asks for 1 nvidia.com/mig-1g.5gb, but pods on pool h100 of cluster east have 2 "
        "accelerators by DRA claims alone"
    ]


def test_a_plugin_may_let_a_sidecar_see_the_claimed_devices_and_adds_no_claim(
    deployment: Make, spot: Spot
) -> None:
    stand = _stand(deployment(), spot)
    template = pod_template(stand)
    exporter = {"name": "dcgm", "image": "dcgm:1", "resources": {"claims": [{"name": "devices"}]}}
    template["spec"]["containers"].append(exporter)
    assert list(template_check(stand)(template)) == []
    template["spec"]["resourceClaims"].append(TEAMS)
    assert [mistake.field_path for mistake in template_check(stand)(template)] == [("spec.resourceClaims",)]
