"""The policies of the guide are understood, and that on replacement refuses one."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import gke_edits_stack
import pytest
import yaml
from digested import loaded, side

from inferfleet.digest.compare import compared_stack
from inferfleet.policy.enforce import policy_problems
from inferfleet.policy.rules import Rule

DAY = date(2026, 11, 23)
GUIDE = Path(__file__).parent.parent.parent / "docs/guides/rules.md"
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
    Rule(spec["each"], spec["cel"])


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
    assert problem.what in {told.what for told in compared_stack("prod", base, after).problems}
    elsewhere = side(loaded(fleet(model="OnDemand"), "dev"))
    assert policy_problems(elsewhere.documents, elsewhere.lock, elsewhere.desired, today=DAY) == ()
