"""A bucket of a template and one of plugin model-cache are alike: one annotation, and a sidecar."""

from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, find, made, stack

from inferfleet.desired.demands import edited_demands
from inferfleet.desired.pods import chains
from inferfleet.plugins.registry import builtin

DRIVER = "gcsfuse.csi.storage.gke.io"
BUCKET = {"name": "models", "csi": {"driver": DRIVER, "volumeAttributes": {"bucketName": "models"}}}
CACHE = {"name": "model-cache", "config": {"gcsFuse": {"bucket": "models"}, "offline": True}}
TWEAK = {"name": "demo-pod-tweaks", "config": {"annotations": {"team": "chat"}}}
ASKS = {"resources": {"requests": {"cpu": "1", "memory": "8Gi"}}}
PLAIN = deployment("a", engine=ASKS)
OF_TEMPLATE = deployment("a", engine=ASKS, pod={"volumes": [BUCKET]})
OF_PLUGIN = deployment("a", engine=ASKS, plugins=[CACHE])
BESIDE_PLUGIN = deployment("a", engine=ASKS, pod={"volumes": [BUCKET]}, plugins=[TWEAK])


def _annotations(document: Any) -> dict[str, str]:
    manifest = find(made(cluster("east"), document), "Deployment", "east/ml/a-decode-l4").manifest
    annotations = manifest["spec"]["template"]["metadata"].get("annotations", {})
    return {key: value for key, value in annotations.items() if key.startswith("gke-gcsfuse/")}


@pytest.mark.parametrize("document", [OF_TEMPLATE, BESIDE_PLUGIN], ids=["alone", "beside a plugin"])
def test_a_bucket_of_a_template_gets_the_annotations_that_the_plugin_gives(document: Any) -> None:
    annotations = _annotations(document)
    assert annotations == _annotations(OF_PLUGIN)
    assert annotations["gke-gcsfuse/volumes"] == "true"
    assert _annotations(PLAIN) == {}


@pytest.mark.parametrize(
    ("document", "cpu", "memory"),
    [
        (PLAIN, 1000, 8 << 30),
        (OF_TEMPLATE, 1250, (8 << 30) + (256 << 20)),
        (OF_PLUGIN, 1250, (8 << 30) + (256 << 20)),
        (BESIDE_PLUGIN, 1250, (8 << 30) + (256 << 20)),
    ],
    ids=["without", "of the template", "of the plugin", "beside a plugin"],
)
def test_the_plan_counts_the_sidecar(document: Any, cpu: int, memory: int) -> None:
    documents = stack(cluster("east"), document)
    demands = edited_demands(documents, NOTHING, chains(documents, builtin())).demands
    pod = demands.of("ml/a", "decode", ("east", "l4")).pod
    assert (pod.cpu, pod.memory) == (cpu, memory)
