"""A plugin that gives back a pod of another shape is told which field, and its edit is left out."""

from typing import Any

import pytest
from running import mine, ran

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.problems import Problem
from inferfleet.plugins import contract
from inferfleet.plugins.chain import Outcome
from inferfleet.plugins.contract import PodTemplate, Request
from inferfleet.plugins.link import links
from inferfleet.plugins.registry import Registry


def _run(
    generated: PodTemplate, pod_request: Request, part: str, key: str, value: Any
) -> tuple[Outcome, list[Problem]]:
    def edit(template: PodTemplate, request: Request, config: contract.Config) -> PodTemplate:
        return {**template, part: {**template[part], key: value}}

    chain = links((PluginSpec(name="mine"),), "stack", kind="Settings", key="prod")
    return ran(generated, pod_request, chain, Registry((mine(edit),)))


@pytest.mark.parametrize(
    ("part", "key", "value", "said"),
    [
        (
            "metadata",
            "labels",
            {"a": 5},
            "metadata.labels.a: a must be a string, not 5",
        ),
        (
            "spec",
            "containers",
            "none",
            "spec.containers: containers must be a list, not 'none'",
        ),
        (
            "spec",
            "containers",
            ["engine"],
            "spec.containers[0]: containers must be a map, not 'engine'",
        ),
        (
            "spec",
            "containers",
            [{"name": "logs", "image": "x"}],
            "spec.containers: a template has exactly one container named engine, but this one has none",
        ),
        (
            "spec",
            "containers",
            [{"name": "engine", "image": 5}],
            "spec.containers[engine].image: container engine: image must be a string, not 5",
        ),
        (
            "spec",
            "containers",
            [{"name": "engine", "image": "x", "env": {"A": "1"}}],
            "spec.containers[engine].env: container engine: env must be a list, not a map",
        ),
        (
            "spec",
            "initContainers",
            [{"name": "a", "image": "x"}, {"name": "a", "image": "x"}],
            "spec.initContainers[1].name: a second entry of initContainers has the name 'a'",
        ),
        ("spec", "affinity", "none", "spec.affinity: affinity must be a map, not 'none'"),
        ("spec", "nodeSelectr", {}, "spec.nodeSelectr: Kubernetes 1.36 has no field 'nodeSelectr'"),
    ],
)
def test_a_malformed_template_is_refused(
    generated: PodTemplate, pod_request: Request, part: str, key: str, value: Any, said: str
) -> None:
    outcome, problems = _run(generated, pod_request, part, key, value)
    begun = f"plugin mine: returned a template that Kubernetes refuses: {said}"
    assert any(problem.what.startswith(begun) for problem in problems)
    assert (outcome.template, outcome.effects) == (generated, ())


@pytest.mark.parametrize("name", ["n" * 10_000, "n " * 5_000])
def test_a_long_name_leaves_room_for_the_rule(
    generated: PodTemplate, pod_request: Request, name: str
) -> None:
    containers = [*generated["spec"]["containers"], {"name": name, "image": "x"}]
    _, problems = _run(generated, pod_request, "spec", "containers", containers)
    (problem,) = problems
    shown = name[:59] + "…"
    assert f"refuses: spec.containers[{shown}].name: name {shown!r} must be" in problem.what
    assert "at most 63" in problem.what


@pytest.mark.parametrize(
    ("steps", "key", "said"),
    [
        ((), 1, "it has the key 1"),
        ((), None, "it has the key None"),
        (("spec",), 1, "spec has the key 1"),
        (("spec",), True, "spec has the key True"),
        (("spec",), (1, 2), "spec has the key (1, 2)"),
        (("spec", "nodeSelector"), 1, "spec.nodeSelector has the key 1"),
        (("metadata", "labels"), b"a", "metadata.labels has the key b'a'"),
        (("spec", "containers", 1), None, "spec.containers[1] has the key None"),
        (("spec", "tolerations", 0), 1.5, "spec.tolerations[0] has the key 1.5"),
        (("spec", "containers", 1, "resources", "limits"), 1, "resources.limits has the key 1"),
    ],
)
@pytest.mark.parametrize("value", ["x", {2: "x", "a": None}])
def test_a_key_that_is_no_text_is_named(
    generated: PodTemplate,
    pod_request: Request,
    steps: tuple[str | int, ...],
    key: Any,
    value: Any,
    said: str,
) -> None:
    def edit(template: PodTemplate, request: Request, config: contract.Config) -> PodTemplate:
        part: Any = template
        for step in steps:
            part = part[step]
        part[key] = value
        return template

    chain = links((PluginSpec(name="mine"),), "stack", kind="Settings", key="prod")
    outcome, problems = ran(generated, pod_request, chain, Registry((mine(edit),)))
    (problem,) = problems
    assert f"{said}, and keys are text" in problem.what
    assert (outcome.template, outcome.effects) == (generated, ())


def test_a_field_that_a_plugin_sets_to_null_is_left_out(generated: PodTemplate, pod_request: Request) -> None:
    outcome, problems = _run(generated, pod_request, "spec", "hostname", None)
    assert (outcome.template, [step.status for step in outcome.effects], problems) == (
        generated,
        ["none"],
        [],
    )
