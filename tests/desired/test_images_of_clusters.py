"""Engines whose template names no image have that of their cluster."""

from typing import Any

import pytest
from small_stack import NOTHING, Document, cluster, deployment, find, lock, made, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.decisions import Reason
from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request, engine, mapping
from inferfleet.plugins.registry import builtin


def having(name: str, state: str = "active", **images: str) -> Document:
    return cluster(name, state=state, serving={"gateway": {"className": "any"}, "images": {"engine": images}})


def without_image(replicas: int = 1, type_: str = "vLLM", **spec: Any) -> Document:
    return deployment(
        "a",
        replicas,
        engine={"image": None},
        declared={"type": type_, "model": "Qwen/Qwen3-0.6B", "servedNames": []},
        **spec,
    )


def of_trt(replicas: int = 1) -> Document:
    """Without an image, of a type that no profile has one for."""
    return without_image(replicas, "TensorRT-LLM")


def images(found: Desired, *names: str) -> list[str]:
    """The images of the engines of these Deployments."""
    templates = [find(found, "Deployment", name).manifest["spec"]["template"] for name in names]
    return [template["spec"]["containers"][0]["image"] for template in templates]


def test_an_engine_without_an_image_has_that_of_its_type_on_each_cluster() -> None:
    clusters = having("east", vLLM="vllm:2", SGLang="sglang:2"), having("west", vLLM="vllm:3")
    found = made(*clusters, without_image(10))
    assert images(found, "east/ml/a-decode-l4", "west/ml/a-decode-l4") == ["vllm:2", "vllm:3"]


def test_an_image_in_the_template_wins() -> None:
    found = made(having("east", vLLM="vllm:2"), deployment("a", engine={"image": "mine:1"}))
    assert images(found, "east/ml/a-decode-l4") == ["mine:1"]


def test_an_engine_without_any_image_is_refused_with_both_places() -> None:
    with pytest.raises(InvalidDocuments) as raised:
        made(having("east", SGLang="sglang:2"), of_trt())
    assert [(problem.path, problem.what, problem.next_step) for problem in raised.value.problems] == [
        (
            "spec.engine.image",
            "the engine has no image, and no cluster that clusterSelector matches has those of "
            "TensorRT-LLM (serving.images.engine)",
            "Write engine.image, or serving: {images: {engine: {TensorRT-LLM: <image>}}} in a cluster",
        )
    ]


def test_a_cluster_without_the_image_takes_no_replicas() -> None:
    found = made(having("east"), having("west", **{"TensorRT-LLM": "trt:3"}), of_trt(10))
    assert {str(placed.spot): placed.replicas for placed in found.plan.placements} == {
        "ml/a west decode=l4": 8
    }
    reason = Reason("east", "", "no image for engine TensorRT-LLM (serving.images.engine)")
    assert reason in found.plan.unplaced[0].reasons


def test_replicas_leave_a_cluster_that_has_lost_the_image() -> None:
    clusters = having("east"), having("west", **{"TensorRT-LLM": "trt:3"})
    found = made(*clusters, of_trt(), lock=lock({"a east/l4": 1}))
    assert [str(placed.spot) for placed in found.plan.placements] == ["ml/a west decode=l4"]


def test_replicas_that_cannot_leave_such_a_cluster_are_refused_with_three_ways_out() -> None:
    clusters = having("east"), having("west", state="cordoned", **{"TensorRT-LLM": "trt:3"})
    with pytest.raises(InvalidDocuments) as raised:
        made(*clusters, of_trt(), lock=lock({"a east/l4": 1}))
    assert [(problem.what, problem.next_step) for problem in raised.value.problems] == [
        (
            "the engine has no image, and serving.images.engine of cluster east has none for TensorRT-LLM",
            "Write engine.image, or serving: {images: {engine: {TensorRT-LLM: <image>}}} in the "
            "cluster, or leave it out by clusterSelector",
        )
    ]


@pytest.mark.parametrize("name", ["two words", ""])
def test_an_image_has_no_blanks(name: str) -> None:
    with pytest.raises(ValueError, match=f"image '{name}' must be a name of ASCII characters without blanks"):
        having("east", vLLM=name)


def test_images_are_by_types_of_engines() -> None:
    with pytest.raises(ValueError, match="engine"):
        having("east", vllm="vllm:2")


def _by_image(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Give engines of the image of west more memory."""
    memory = "150Gi" if engine(template)["image"] == "vllm:3" else "8Gi"
    mapping(engine(template), "resources", "requests")["memory"] = memory
    return template


def test_pods_are_planned_with_the_image_of_their_cluster() -> None:
    registry = builtin().with_(Plugin("by-image", Config, _by_image, version="1.0.0"))
    documents = stack(
        having("east", vLLM="vllm:2"),
        having("west", vLLM="vllm:3"),
        without_image(10, plugins=[{"name": "by-image"}]),
    )
    found = desired(documents, NOTHING, registry=registry)
    # Two nodes of 4 GPUs and 160Gi on each cluster.
    assert {str(placed.spot): placed.replicas for placed in found.plan.placements} == {
        "ml/a east decode=l4": 8,
        "ml/a west decode=l4": 2,
    }


def test_kit_has_the_image_of_the_cluster() -> None:
    oci = {"reference": "registry.example.com/qwen:v1", "sizeLimit": "20Gi"}
    serving = {"gateway": {"className": "any"}, "images": {"kit": "mirror.example.com/kit:1"}}
    plugins = [{"name": "model-cache", "config": {"oci": oci}}]
    found = made(cluster("east", serving=serving), deployment("a", plugins=plugins))
    pod = find(found, "Deployment", "east/ml/a-decode-l4").manifest["spec"]["template"]["spec"]
    assert [container["image"] for container in pod["initContainers"]] == ["mirror.example.com/kit:1"]
