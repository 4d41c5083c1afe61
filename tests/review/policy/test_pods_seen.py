"""Images of all pods of a model are seen on every cluster, and taken apart as container engines do."""

from dataclasses import replace
from datetime import date

from digested import loaded
from documents import API, Document
from small_sides import IMAGE, STACK, l4, model, place

from inferfleet.desired import desired
from inferfleet.fleet.lock.lock import Lock
from inferfleet.review.policy import facts
from inferfleet.review.policy.enforcement import FleetState, policy_problems
from inferfleet.review.policy.facts import Image
from inferfleet.review.policy.subjects import Subjects

DIGEST = f"sha256:{'0' * 64}"
WEIGHTS = f"registry.example.com/qwen@{DIGEST}"
CACHE = {"name": "model-cache", "config": {"image": {"reference": WEIGHTS}, "offline": True}}


def seen(*documents: Document) -> tuple[list[Image], facts.Model]:
    """Images in the order of cluster and name, those of pickers left out, and the one model."""
    made, lock = loaded(documents, STACK), Lock(stack=STACK)
    planned = desired(made, lock)
    subjects = Subjects(made, lock, planned, FleetState(made, {}, planned.plan.demands))
    every = [subject.fact for subject in subjects.image]
    of_engines = [image for image in every if image.container != "epp"]
    (of_model,) = subjects.model
    return sorted(of_engines, key=lambda image: (image.cluster, image.container)), of_model.fact


def test_weights_in_an_image_volume_and_each_cluster_are_seen() -> None:
    spread = model(replicas=8, plugins=[CACHE])
    images, qwen = seen(l4(), place("east"), place("west"), spread)
    weights = Image(
        reference=WEIGHTS,
        registry="registry.example.com",
        repository="qwen",
        tag="",
        digest=DIGEST,
        container="",
        volume="model-cache",
        cluster="east",
        model=qwen,
    )
    engine = Image(
        reference=IMAGE,
        registry="docker.io",
        repository="vllm/vllm-openai",
        tag="v0.30.0",
        digest="",
        container="engine",
        volume="",
        cluster="east",
        model=qwen,
    )
    on_east = [weights, engine]
    assert images == [*on_east, *(replace(image, cluster="west") for image in on_east)]


def test_a_condition_on_the_cluster_of_an_image_is_asked_of_each_cluster() -> None:
    rule = {"each": "image", "cel": 'image.container != "engine" || image.cluster == "east"', "message": "m"}
    policy = {"apiVersion": API, "kind": "Policy", "metadata": {"name": "in-east"}, "spec": rule}
    made, lock = (
        loaded([l4(), place("east"), place("west"), model(replicas=8), policy], STACK),
        Lock(stack=STACK),
    )
    problems = policy_problems(made, lock, desired(made, lock), today=date(2026, 11, 23))
    assert [problem.what for problem in problems] == [
        f"image {IMAGE} of ml/qwen on west breaks policy in-east: m (image.container is engine, "
        "image.cluster is west)"
    ]
