"""Chains of all built-in plugins suit every engine on every accelerator, in a whole stack."""

import pytest
from combinations import ENGINES, Combination, combinations, deployment_of

from inferfleet.plugins.registry import builtin
from inferfleet.tables.devices import VENDORS

ALL = list(combinations())


def test_there_are_sixty_and_they_have_every_plugin() -> None:
    assert len(ALL) == 3 * len(ENGINES) * len(VENDORS) >= 60
    assert {name for combination in ALL for name in combination.names} == {*builtin().names}


@pytest.mark.parametrize("combination", ALL, ids=str)
def test_a_stack_takes_the_chain(combination: Combination) -> None:
    manifest = deployment_of(combination.driver, combination.engine, combination.chain)
    annotation = manifest["metadata"]["annotations"]["inferfleet.dev/plugins"]
    assert [acted.partition("@")[0] for acted in annotation.split(",")] == list(combination.names)
