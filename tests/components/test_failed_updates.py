"""An update in which something failed ends with an error, so that the engine deletes nothing."""

import pulumi
import pytest
from one_ready_hook import WORKLOAD, hook_of
from recording import run

from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster
from inferfleet.fleet.decisions import Plan
from inferfleet.plugins.contract import Ready


def _greet(ready: Ready, config: object) -> None: ...


HOOK = hook_of(_greet)
_CLUSTER = DesiredCluster(
    Connection("east", "existing/east", "active"),
    (Component("ModelReplicas", "east/ml/web-h100", (WORKLOAD,), (HOOK,)),),
)
DESIRED = Desired("local", (_CLUSTER,), Plan(), frozenset(), ())


@pytest.mark.parametrize("failing", [(WORKLOAD.name,), (HOOK.name,), (WORKLOAD.name, HOOK.name)])
def test_a_failed_resource_ends_the_update_before_anything_is_deleted(failing: tuple[str, ...]) -> None:
    with pytest.raises(pulumi.RunError) as ended:
        run(DESIRED, preview=False, failing=failing)
    assert str(ended.value) == (
        f"{len(failing)} resources failed, or were left out because they need one that did, so this update "
        "deletes nothing: what is no longer wanted keeps running. Mend what failed and update again; "
        "for a cluster that does not answer, set spec.state: lost"
    )


def test_a_preview_says_nothing_of_it() -> None:
    assert run(DESIRED, preview=True)[0].outputs["placements"] == {}


def test_an_update_without_failures_ends_well() -> None:
    assert run(DESIRED, preview=False)[0].outputs["placements"] == {}
