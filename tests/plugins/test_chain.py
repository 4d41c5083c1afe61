"""The chain: order, scope, copies, provenance, and what happens when a plugin misbehaves."""

import copy
import dataclasses
from typing import Any

import pytest
from running import mine, outcome_of, ran

from inferfleet.documents.kinds.base import PluginScope, PluginSpec
from inferfleet.documents.pods.diff import FieldChange
from inferfleet.plugins import contract
from inferfleet.plugins.chain import LinkEffect, Outcome
from inferfleet.plugins.contract import Edited, PluginError, PodTemplate, Request
from inferfleet.plugins.link import Link, Origin
from inferfleet.plugins.registry import Registry, builtin

POD = "(deployment ml/web, role decode on east/h100)"


def link(name: str, config: Any = None, *, origin: Origin = "deployment", **scope: Any) -> Link:
    spec = PluginSpec(name=name, config=config, scope=PluginScope(**scope))
    return Link(spec, origin, "ModelDeployment", "ml/web")


def only(edit: contract.Edit) -> Registry:
    """A registry whose one plugin, `mine`, does this."""
    return Registry((mine(edit),))


class Word(contract.Config):
    word: str


def _append(template: PodTemplate, request: Request, config: Word) -> PodTemplate:
    """Add a word to a list of words, once."""
    annotations = template["metadata"].setdefault("annotations", {})
    annotations.setdefault(f"words/{config.word}", "")
    return template


APPEND = Registry((mine(_append, "append", Word),))


def test_a_template_that_no_plugin_touches_is_equal_and_carries_no_trace(
    generated: dict[str, Any], pod_request: Request
) -> None:
    links = [link("demo-pod-tweaks"), link("demo-pod-tweaks", {"runtimeClassName": "x"}, roles=("prefill",))]
    assert outcome_of(generated, pod_request, [], builtin()) == Outcome(copy.deepcopy(generated))
    outcome = outcome_of(generated, pod_request, links, builtin())
    assert outcome.template == generated
    # They are told all the same, so that nobody wonders what became of them.
    assert [step.status for step in outcome.effects] == ["none", "out of scope"]


def test_chains_run_from_class_to_deployment_and_links_as_they_are_written(
    generated: dict[str, Any], pod_request: Request
) -> None:
    chain = [
        link("append", {"word": "d1"}, origin="deployment"),
        link("append", {"word": "s1"}, origin="stack"),
        link("append", {"word": "d0"}, origin="deployment"),
        link("append", {"word": "k1"}, origin="class"),
        link("append", {"word": "c1"}, origin="cluster"),
    ]
    outcome = outcome_of(generated, pod_request, chain, APPEND)
    words = list(outcome.template["metadata"]["annotations"])
    assert words == ["words/k1", "words/c1", "words/s1", "words/d1", "words/d0"]
    assert [step.origin for step in outcome.effects] == [
        "class",
        "cluster",
        "stack",
        "deployment",
        "deployment",
    ]


@pytest.mark.parametrize(
    ("roles", "target", "role", "position", "acts"),
    [
        ((), "All", "decode", "Entry", True),
        ((), "All", "decode", "Worker", True),
        ((), "Entry", "decode", "Entry", True),
        ((), "Entry", "decode", "Worker", False),
        ((), "Worker", "decode", "Entry", False),
        ((), "Worker", "decode", "Worker", True),
        (("decode",), "All", "decode", "Entry", True),
        (("prefill",), "All", "decode", "Entry", False),
        (("prefill", "decode"), "Entry", "decode", "Entry", True),
        (("prefill", "decode"), "Entry", "decode", "Worker", False),
        (("prefill",), "Entry", "decode", "Entry", False),
    ],
)
def test_a_plugin_acts_where_role_and_place_are_both_in_scope(
    generated: dict[str, Any],
    pod_request: Request,
    roles: tuple[str, ...],
    target: str,
    role: str,
    position: Any,
    acts: bool,
) -> None:
    pod = dataclasses.replace(pod_request, role=role, position=position)
    scope = {"target": target} | ({"roles": roles} if roles else {})
    chain = [link("append", {"word": "x"}, **scope)]
    outcome = outcome_of(generated, pod, chain, APPEND)
    assert [step.status for step in outcome.effects] == ["changed" if acts else "out of scope"]


def test_provenance_names_the_plugins_with_an_effect_and_explain_shows_what(
    generated: dict[str, Any], pod_request: Request
) -> None:
    chain = [
        link("accelerator", {"runtimeClassName": "nvidia"}, origin="class"),
        link("demo-pod-tweaks"),
        link("demo-pod-tweaks", {"env": [{"name": "HF_HOME", "value": "/c"}]}),
    ]
    outcome = outcome_of(generated, pod_request, chain, builtin())
    assert outcome.provenance == "accelerator@1.1.0/9aecc345,demo-pod-tweaks@1.0.0/6b488294"
    assert "annotations" not in outcome.template["metadata"]
    set_now = {"name": "HF_HOME", "value": "/c"}
    assert outcome.effects == (
        LinkEffect(
            "accelerator",
            "class",
            "spec.plugins[0]",
            "9aecc345",
            (FieldChange("spec.runtimeClassName", None, "nvidia"),),
            (),
            "1.1.0",
        ),
        LinkEffect("demo-pod-tweaks", "deployment", "spec.plugins[0]", "44136fa3", (), (), "1.0.0"),
        LinkEffect(
            "demo-pod-tweaks",
            "deployment",
            "spec.plugins[0]",
            "6b488294",
            (
                FieldChange("spec.initContainers[fetch].env", None, [set_now]),
                FieldChange("spec.containers[logs].env[HF_HOME]", None, set_now),
                FieldChange("spec.containers[engine].env[HF_HOME].value", "/models", "/c"),
            ),
            (),
            "1.0.0",
        ),
    )


def test_the_fingerprint_of_a_config_depends_on_neither_order_of_keys_nor_written_defaults(
    generated: dict[str, Any], pod_request: Request
) -> None:
    def mark(config: dict[str, Any]) -> str:
        outcome = outcome_of(generated, pod_request, [link("demo-pod-tweaks", config)], builtin())
        return outcome.provenance

    one = {"runtimeClassName": "x", "annotations": {"a": "1", "b": "2"}}
    assert mark(one) == mark({"annotations": {"b": "2", "a": "1"}, "runtimeClassName": "x"})
    assert mark(one) == mark({**one, "env": []})
    assert mark(one) != mark({**one, "annotations": {"a": "1", "b": "3"}})
    assert mark({"runtimeClassName": "", "annotations": {}}) == ""


class Deep(contract.Config):
    volume: dict[str, Any]


DEEP = {"volume": {"name": "v", "emptyDir": {}}}


def test_what_a_plugin_puts_into_a_template_is_a_copy_and_so_is_the_template(
    generated: dict[str, Any], pod_request: Request
) -> None:
    kept: list[Any] = []

    def greedy(template: PodTemplate, request: Request, config: Deep) -> PodTemplate:
        template["spec"]["volumes"] = [config.volume]
        template["spec"]["containers"][0]["env"].clear()
        kept.append(template)
        return template

    before = copy.deepcopy((generated, DEEP))
    registry = Registry((mine(greedy, config=Deep),))
    first = outcome_of(generated, pod_request, [link("mine", DEEP)], registry)
    assert (generated, DEEP) == before
    for template in (first.template, *kept):
        template["spec"]["containers"].clear()
        template["spec"]["volumes"] = []
    again = outcome_of(generated, pod_request, [link("mine", DEEP)], registry)
    assert again.template["spec"]["volumes"] == [DEEP["volume"]]


def test_a_plugin_that_changes_its_config_is_told(generated: dict[str, Any], pod_request: Request) -> None:
    def edit(template: PodTemplate, request: Request, config: Deep) -> PodTemplate:
        config.volume["emptyDir"]["medium"] = "Memory"
        return template

    registry = Registry((mine(edit, config=Deep),))
    _, (problem,) = ran(generated, pod_request, [link("mine", DEEP)], registry)
    assert "changes its config, which other pods get too" in problem.what


def _raises(error: Exception) -> contract.Edit:
    def edit(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
        raise error

    return edit


def _returns(value: Any) -> contract.Edit:
    return lambda template, request, config: value


def _sets(part: str, key: str, value: Any) -> contract.Edit:
    def edit(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
        return {**template, part: {**template[part], key: value}}

    return edit


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_raises(PluginError("no such disk; add one.")), "no such disk ("),
        (_raises(KeyError("disk")), "KeyError: 'disk' (at test_chain.py:"),
        (_raises(RecursionError("deep")), "RecursionError: deep"),
        (_returns(None), "returned NoneType, but a plugin must return the template it edited"),
        (
            lambda template, _, __: Edited(template, None),
            "returned companions None, but companions must be a tuple",
        ),  # type: ignore[arg-type]
        (_sets("spec", "when", {1, 2}), "returned a template in which spec.when is {1, 2} (set)"),
        (_sets("spec", "when", {1: "a"}), "spec.when has the key 1, and keys are text"),
        (_sets("spec", "when", float("nan")), "spec.when is nan (float)"),
        (_sets("spec", "when", "\udc80"), "spec.when is '\\udc80', which is no text of Unicode"),
        (_sets("metadata", "labels", {"\udc80": "a"}), "metadata.labels has the key '\\udc80'"),
        (_sets("spec", "when", 10**6000), "spec.when is a whole number of more than 64 bits"),
        (_sets("metadata", "labels", {"a": 5}), "metadata.labels.a: a must be a string, not 5"),
    ],
)
def test_whatever_a_plugin_does_wrong_becomes_a_problem_with_plugin_deployment_and_field(
    generated: dict[str, Any], pod_request: Request, edit: contract.Edit, said: str
) -> None:
    outcome, (problem,) = ran(generated, pod_request, [link("mine")], only(edit))
    assert problem.what.startswith("plugin mine: ")
    assert said in problem.what
    assert problem.what.endswith(POD)
    assert (problem.kind, problem.key, problem.path) == ("ModelDeployment", "ml/web", "spec.plugins[0]")
    assert dataclasses.replace(outcome, link_problems=()) == Outcome(generated)


@pytest.mark.parametrize(
    ("text", "next_step"),
    [
        ("no such disk; add one.", "Add one"),
        ("no such disk", "Fix the plugin's config, or what it disagrees with"),
    ],
)
def test_the_next_step_is_the_plugins_where_it_says_one(
    generated: dict[str, Any], pod_request: Request, text: str, next_step: str
) -> None:
    _, (problem,) = ran(generated, pod_request, [link("mine")], only(_raises(PluginError(text))))
    assert (problem.what, problem.next_step) == (f"plugin mine: no such disk {POD}", next_step)


def test_a_value_that_contains_itself_is_refused(generated: dict[str, Any], pod_request: Request) -> None:
    loop: list[Any] = []
    loop.append(loop)
    _, (problem,) = ran(generated, pod_request, [link("mine")], only(_sets("spec", "loop", loop)))
    assert "or contains itself" in problem.what


def test_one_failing_plugin_does_not_hide_the_problems_of_the_next(
    generated: dict[str, Any], pod_request: Request
) -> None:
    chain = [
        dataclasses.replace(one, path=f"spec.plugins[{place}]")
        for place, one in enumerate(
            [link("mine"), link("gone"), link("accelerator", {"product": 5}), link("mine")]
        )
    ]
    registry = builtin().with_(mine(_raises(PluginError("no"))))
    _, problems = ran(generated, pod_request, chain, registry)
    assert [(problem.path, problem.what) for problem in problems] == [
        ("spec.plugins[1].name", "plugin gone is not registered"),
        (
            "spec.plugins[2].config.product",
            "build plugin accelerator: product must be the name of one product, or a list of names",
        ),
        ("spec.plugins[0]", f"plugin mine: no {POD}"),
        ("spec.plugins[3]", f"plugin mine: no {POD}"),
    ]


def test_a_template_that_json_cannot_say_is_a_problem_of_its_deployment(pod_request: Request) -> None:
    _, (problem,) = ran({"spec": {"at": {1}}}, pod_request, [], builtin())
    assert problem.what.startswith("deployment ml/web: in the pod template, spec.at is {1} (set)")
