"""Any chain of built-in plugins over any pod: repeating it changes nothing, and so does another process."""

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chains_of_all import digest_of_all, in_every_order, link_to
from example_plugins import EXAMPLES, LAST, examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from one_request import NO_CHECK, REQUEST
from random_pods import generated_pod

from inferfleet.plugins.chain import Outcome, run
from inferfleet.plugins.link import Link, bind
from inferfleet.plugins.registry import builtin

ROOT = Path(__file__).parent.parent.parent
REGISTRY = builtin()
LINKS = [link_to(name, config) for name in REGISTRY.names for config in examples(name, REQUEST)]
CHAINS = st.lists(st.sampled_from(LINKS), min_size=1, max_size=6)
PODS = st.integers(min_value=0, max_value=2**32).map(generated_pod)


def outcome(pod: dict[str, Any], links: list[Link]) -> Outcome:
    bound, problems = bind(links, REGISTRY, roles=(REQUEST.role,))
    assert problems == ()
    return run(pod, REQUEST, bound, NO_CHECK)


def test_every_registered_plugin_has_examples_that_it_takes() -> None:
    assert [name for name in REGISTRY.names if name not in EXAMPLES] == []
    _, problems = bind(LINKS, REGISTRY, roles=(REQUEST.role,))
    assert problems == ()


@pytest.mark.parametrize("link", LINKS, ids=lambda link: str(link.spec.name))
def test_every_example_changes_the_pod(generated: dict[str, Any], link: Link) -> None:
    engine = generated["spec"]["containers"][1]
    engine["resources"]["requests"]["memory"] = "16Gi"
    engine["env"] = []  # no HF_HOME of its own
    result = outcome(generated, [link])
    assert (result.link_problems, [step.status for step in result.effects]) == ((), ["changed"])


@settings(deadline=None)  # a busy machine is no failure
@given(pod=PODS, links=CHAINS)
def test_no_link_breaks_its_word_and_the_input_stays_as_it_was(
    pod: dict[str, Any], links: list[Link]
) -> None:
    before = copy.deepcopy(pod)
    result = outcome(pod, links)
    said = [problem.what for problem in result.link_problems]
    assert [what for what in said if "idempotent" in what or "deterministic" in what] == []
    assert pod == before
    assert outcome(pod, links) == result


@settings(deadline=None)
@given(pod=PODS, links=CHAINS)
def test_a_chain_in_which_each_link_is_named_twice_gives_the_same(
    pod: dict[str, Any], links: list[Link]
) -> None:
    result = outcome(pod, links)
    assume(not result.link_problems)
    twice = outcome(pod, [link for link in links for _ in range(2)])
    assert (twice.link_problems, plain(twice)) == ((), plain(result))


@settings(deadline=None)
@given(pod=PODS, links=CHAINS)
def test_a_chain_finds_nothing_to_do_on_its_own_output(pod: dict[str, Any], links: list[Link]) -> None:
    """With those at the end that are documented to look at what the others made."""
    ordered = sorted(links, key=lambda link: LAST.index(link.spec.name) if link.spec.name in LAST else -1)
    result = outcome(pod, ordered)
    assume(not result.link_problems)
    again = outcome(plain(result), ordered)
    assert (again.link_problems, plain(again)) == ((), plain(result))


def plain(result: Outcome) -> dict[str, Any]:
    """The template without the annotation that names plugins."""
    template = copy.deepcopy(result.template)
    annotations = template["metadata"].get("annotations", {})
    annotations.pop("inferfleet.dev/plugins", None)
    if not annotations:
        template["metadata"].pop("annotations", None)
    return template


def test_every_order_gives_the_same_bytes_in_another_process() -> None:
    """Sets and hashes of texts come in another order there."""
    here = digest_of_all(REGISTRY, REQUEST)
    for seed in ("1", "2"):
        folders = [ROOT, ROOT / "tests", ROOT / "tests/fuzz", Path(__file__).parent]
        ran = subprocess.run(
            [sys.executable, "-c", "import chains_of_all; chains_of_all.main()"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(map(str, folders))},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.strip() == here


def test_the_chains_of_that_comparison_have_every_plugin_before_and_after_every_other() -> None:
    orders = {tuple(link.spec.name for link in links) for links in in_every_order(REGISTRY, REQUEST)}
    assert orders == {(one, other) for one in REGISTRY.names for other in REGISTRY.names}
