"""Pods of one revision exchange KV caches, so an image that changes under its name is told."""

from dataclasses import replace

import pytest
from apart import apart, stand, workers

from inferfleet.serving.pod.check import changing_image_problems
from inferfleet.serving.pod.template import PlacedPod
from inferfleet.tables.images import reference_of

STEP = "Write a tag with a version, or a digest"


def _stand(image: str | None, role: str = "decode") -> PlacedPod:
    made = workers(engine={"image": image})
    if image is None:
        del made["template"]["spec"]["containers"][0]["image"]
    return stand(apart(made, made), role)


def _what(image: str) -> str:
    return (
        f"image {image!r} has no version, and pods that start later may run another one than those with "
        "which they exchange KV caches"
    )


@pytest.mark.parametrize(
    ("image", "changes"),
    [
        ("vllm", True),
        ("localhost:5000/vllm", True),
        ("vllm/vllm-openai:latest", True),
        ("vllm/vllm-openai:v0.11.0", False),
        ("vllm:latest@sha256:abc", False),
        ("localhost:5000/vllm@sha256:abc", False),
    ],
)
def test_an_image_without_version_and_digest_may_change(image: str, changes: bool) -> None:
    assert reference_of(image).may_change is changes
    told = [(one.what, one.next_step, one.severity) for one in changing_image_problems(_stand(image))]
    assert told == ([(_what(image), STEP, "warning")] if changes else [])


def test_it_is_told_where_the_image_is_written() -> None:
    own = [*changing_image_problems(_stand("vllm", "prefill"))]
    of_cluster = [*changing_image_problems(replace(_stand(None), image="vllm"))]
    bare = {"topology": {"tensor": 2}}
    document = apart(bare, bare, engine={"image": "vllm"}, image="vllm:latest")
    declared = [
        problem
        for role, image in (("decode", "vllm"), ("prefill", "vllm:latest"))
        for problem in changing_image_problems(replace(stand(document, role), image=image))
    ]
    assert [(one.kind, one.path) for one in (*own, *of_cluster, *declared)] == [
        ("ModelDeployment", "spec.prefill.workers.template.spec.containers[0].image"),
        ("InferenceCluster", "spec.serving.images.engine.vLLM"),
        ("ModelDeployment", "spec.engine.image"),
        ("ModelDeployment", "spec.prefill.image"),
    ]


def test_pods_that_exchange_nothing_may_change() -> None:
    made = _stand("vllm")
    whole = made.deployment.model_copy(
        update={"spec": made.deployment.spec.model_copy(update={"prefill": None})}
    )
    assert list(changing_image_problems(replace(made, deployment=whole))) == []
