"""Engines on pools whose driver is, or may be, older than their image needs."""

from dataclasses import replace
from typing import Any

import pytest
from recipe_text import pool, recipe, stack

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.spot import Spot
from inferfleet.gke.pool import gke_clusters
from inferfleet.gke.recipes.drivers import driver_problems

VLLM = "(vLLM, switch default CUDA to 13.0, 2026-04-15: https://github.com/vllm-project/vllm/pull/39878)"
RUN_GPUS = "(GKE, run GPUs, 2026-04-08: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus)"
NEEDS = (
    "image vllm/vllm-openai:v0.30.0 of deployment 'ml/chat' has CUDA 13, which needs R580 " + VLLM
)  # fmt: skip
PLAN = Plan(placements=(Placement(Spot("ml/chat", "east", (("decode", "p"),)), 2),))


def told(spec: dict[str, Any], image: str = "vllm/vllm-openai:v0.30.0", **gke: Any) -> list[tuple[str, str]]:
    template = {"spec": {"containers": [{"name": "engine", "image": image}]}}
    chat = {"replicas": 2, "workers": {"topology": {"tensor": 1}, "template": template}}
    deployment = ModelDeployment.model_validate(
        {"metadata": {"name": "chat", "namespace": "ml"}, "spec": chat}
    )
    documents = replace(stack({"p": pool(spec)}, **gke), deployments={"ml/chat": deployment})
    found = driver_problems(documents, gke_clusters(documents), PLAN)
    return [(problem.severity, problem.what) for problem in found]


def test_the_default_driver_is_too_old_for_images_of_today_up_to_1_33() -> None:
    assert told(recipe("g2-standard-4", driver="DEFAULT"), minVersion="1.33") == [
        ("warning", f"pool p of cluster east has driver DEFAULT, which is R535 {RUN_GPUS}; {NEEDS}")
    ]


def test_of_later_versions_nobody_says_what_the_default_driver_is() -> None:
    assert told(recipe("g2-standard-4", driver="DEFAULT")) == [
        (
            "warning",
            "pool p of cluster east has driver DEFAULT, of which no source says what it is since GKE 1.34; "
            f"up to 1.33 it is R535; {NEEDS}",
        )
    ]


@pytest.mark.parametrize(
    ("spec", "image"),
    [
        (recipe("g2-standard-4"), "vllm/vllm-openai:v0.30.0"),
        (recipe("g2-standard-4", driver="LATEST"), "vllm/vllm-openai:v0.30.0"),
        (recipe("g2-standard-4", driver="INSTALLATION_DISABLED"), "vllm/vllm-openai:v0.30.0"),
        (recipe("g2-standard-4", driver="DEFAULT"), "vllm/vllm-openai:v0.30.0-cu129"),
        (recipe("g2-standard-4", driver="DEFAULT"), "vllm/vllm-openai:v0.19.1"),
        (recipe("a4x-highgpu-4g"), "vllm/vllm-openai:v0.30.0"),
        (recipe("a4x-highgpu-4g", driver="LATEST"), "vllm/vllm-openai:v0.30.0"),
    ],
)
def test_other_pools_and_images_are_fine(spec: dict[str, Any], image: str) -> None:
    assert told(spec, image) == []
