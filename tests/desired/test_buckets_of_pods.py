"""A bucket of a template and one of plugin model-cache are alike: one annotation, and a sidecar."""

from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, find, made, stack

from inferfleet.desired.demands import edited_demands
from inferfleet.desired.pods import chains
from inferfleet.fleet.demands import Demand
from inferfleet.plugins.registry import builtin

DRIVER = "gcsfuse.csi.storage.gke.io"
BUCKET = {"name": "models", "csi": {"driver": DRIVER, "volumeAttributes": {"bucketName": "models"}}}
CACHE = {"name": "model-cache", "config": {"gcsFuse": {"bucket": "models"}, "offline": True}}
TWEAK = {"name": "demo-pod-tweaks", "config": {"annotations": {"team": "chat"}}}
ASKS = {"resources": {"requests": {"cpu": "1", "memory": "8Gi"}}}
PLAIN = deployment("a", engine=ASKS)
OF_TEMPLATE = deployment("a", engine=ASKS, pod={"volumes": [BUCKET]})
OF_PLUGIN = deployment("a", engine=ASKS, plugins=[CACHE])
RESIZED = {"name": "demo-pod-tweaks", "config": {"annotations": {"gke-gcsfuse/cpu-request": "2"}}}
RESIZED_AFTER = deployment("a", engine=ASKS, plugins=[CACHE, RESIZED])
TWEAKED_AFTER = deployment("a", engine=ASKS, plugins=[CACHE, TWEAK])
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
        (RESIZED_AFTER, 3000, (8 << 30) + (256 << 20)),
    ],
    ids=["without", "of the template", "of the plugin", "beside a plugin", "of another plugin's size"],
)
def test_the_plan_counts_the_sidecar(document: Any, cpu: int, memory: int) -> None:
    pod = _demand(document).pod
    assert (pod.cpu, pod.memory) == (cpu, memory)


@pytest.mark.parametrize(
    ("document", "plugins"),
    [
        (OF_TEMPLATE, []),
        (BESIDE_PLUGIN, []),
        (OF_PLUGIN, ["model-cache"]),
        (TWEAKED_AFTER, ["model-cache"]),
        (RESIZED_AFTER, ["demo-pod-tweaks"]),
    ],
    ids=["of the template", "beside a plugin", "of the plugin", "of the plugin before another", "resized"],
)
def test_the_sidecar_counts_for_the_plugin_that_asked_for_it_last(document: Any, plugins: list[str]) -> None:
    assert [share.plugin for share in _demand(document).shares] == plugins


def _demand(document: Any) -> Demand:
    documents = stack(cluster("east"), document)
    demands = edited_demands(documents, NOTHING, chains(documents, builtin())).demands
    return demands.of("ml/a", "decode", ("east", "l4"))
