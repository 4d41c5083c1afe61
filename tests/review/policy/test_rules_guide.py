"""The policies of the guide are understood, and that on replacement refuses one."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import gke_edits_stack
import pytest
import yaml
from digested import loaded, side
from small_sides import STACK, l4, model, place

from inferfleet.desired import desired
from inferfleet.fleet.lock.lock import Lock
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.policy.conditions import Condition
from inferfleet.review.policy.enforcement import policy_problems

DAY = date(2026, 11, 23)
GUIDE = Path(__file__).parents[3] / "docs/guides/rules.md"
BLOCKS = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
WRITTEN = {
    document["metadata"]["name"]: document
    for block in BLOCKS
    for document in yaml.safe_load_all(block)
    if document["kind"] == "Policy"
}


@pytest.mark.parametrize("name", WRITTEN)
def test_each_policy_of_the_guide_can_be_asked(name: str) -> None:
    spec = WRITTEN[name]["spec"]
    Condition(spec["each"], spec["cel"], {})


def test_a_pool_of_prod_is_not_replaced_says_everyone() -> None:
    def fleet(**recipe: Any) -> list[Any]:
        every = gke_edits_stack.documents()
        every["east"]["spec"]["nodePools"][1]["capacity"] |= recipe
        return [*every.values(), WRITTEN["no-replacement-in-prod"]]

    base = side(loaded(fleet(), "prod"))
    base = side(base.documents, base.desired.plan.lock)
    after = side(loaded(fleet(model="OnDemand"), "prod"), base=base)
    (problem,) = policy_problems(after.documents, after.lock, after.desired, today=DAY)
    assert problem.what == (
        "pool east/spot breaks policy no-replacement-in-prod: pools of prod are not replaced; "
        "add another pool, and drain this one (stack.name is prod, pool.change is replaced)"
    )
    assert problem.what in {told.what for told in stack_digest("prod", base, after).problems}
    elsewhere = side(loaded(fleet(model="OnDemand"), "dev"))
    assert policy_problems(elsewhere.documents, elsewhere.lock, elsewhere.desired, today=DAY) == ()


def test_images_by_digest_are_asked_of_every_container() -> None:
    """An init container and a sidecar that calls itself a picker are no exceptions."""
    pinned = "ghcr.io/acme/vllm@sha256:" + "0" * 64
    document = model(image=pinned)
    pod = document["spec"]["workers"]["template"]["spec"]
    pod["initContainers"] = [{"name": "fetch", "image": "docker.io/stranger/fetch:v1"}]
    pod["containers"].append({"name": "epp", "image": "docker.io/stranger/sidecar:v1"})
    made = loaded([l4(), place("east"), document, WRITTEN["images-by-digest"]], STACK)
    lock = Lock(stack=STACK)
    problems = policy_problems(made, lock, desired(made, lock), today=DAY)
    assert [problem.what.partition(" breaks")[0] for problem in problems] == [
        "image docker.io/stranger/sidecar:v1 of ml/qwen on east",
        "image docker.io/stranger/fetch:v1 of ml/qwen on east",
    ]
