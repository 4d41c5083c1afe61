"""The chain: order, scope, copies, provenance, and what happens when a plugin misbehaves."""

import copy
import dataclasses
from typing import Any

import pytest

from inferfleet.api.kinds.plugin_spec import PluginScope, PluginSpec
from inferfleet.plugins import contract
from inferfleet.plugins.chain import Outcome, Step, run
from inferfleet.plugins.contract import Edited, Plugin, PluginError, PodTemplate, Request
from inferfleet.plugins.diff import FieldChange
from inferfleet.plugins.link import Link, Origin
from inferfleet.plugins.registry import Registry, builtin

POD = "(deployment ml/web, role decode on east/h100)"


def link(name: str, config: Any = None, *, origin: Origin = "deployment", **scope: Any) -> Link:
    spec = PluginSpec(name=name, config=config, scope=PluginScope(**scope))
    return Link(spec, origin, "ModelDeployment", "ml/web")


def only(edit: contract.Edit) -> Registry:
    """A registry whose one plugin, `mine`, does this."""
    return Registry((Plugin("mine", contract.Config, edit),))


class Word(contract.Config):
    word: str


def _append(template: PodTemplate, request: Request, config: Word) -> PodTemplate:
    labels = template["metadata"]["labels"]
    labels["words"] = f"{labels.get('words', '')}{config.word}"
    return template


APPEND = Registry((Plugin("append", Word, _append),))


def test_a_template_that_no_plugin_touches_is_equal_and_carries_no_trace(
    generated: dict[str, Any], pod_request: Request
) -> None:
    links = [link("demo-pod-tweaks"), link("demo-pod-tweaks", {"runtimeClassName": "x"}, roles=("prefill",))]
    for chain in ([], links):
        assert run(generated, pod_request, chain, builtin()) == Outcome(copy.deepcopy(generated))


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
    outcome = run(generated, pod_request, chain, APPEND)
    assert outcome.template["metadata"]["labels"]["words"] == "k1c1s1d1d0"


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
    outcome = run(generated, pod, [link("append", {"word": "x"}, roles=roles, target=target)], APPEND)
    assert bool(outcome.steps) == acts


def test_the_pod_names_the_plugins_that_changed_it_and_explain_shows_what(
    generated: dict[str, Any], pod_request: Request
) -> None:
    chain = [
        link("accelerator", {"runtimeClassName": "nvidia"}, origin="class"),
        link("demo-pod-tweaks"),
        link("demo-pod-tweaks", {"env": [{"name": "HF_HOME", "value": "/c"}]}),
    ]
    outcome = run(generated, pod_request, chain, builtin())
    assert outcome.template["metadata"]["annotations"] == {
        "inferfleet.dev/plugins": "accelerator@9aecc345,demo-pod-tweaks@6b488294"
    }
    set_now = {"name": "HF_HOME", "value": "/c"}
    assert outcome.steps == (
        Step(
            "accelerator",
            "class",
            "spec.plugins[0]",
            "9aecc345",
            (FieldChange("spec.runtimeClassName", None, "nvidia"),),
            (),
        ),
        Step(
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
        ),
    )


def test_the_fingerprint_of_a_config_does_not_depend_on_the_order_of_its_keys(
    generated: dict[str, Any], pod_request: Request
) -> None:
    def mark(config: dict[str, Any]) -> str:
        outcome = run(generated, pod_request, [link("demo-pod-tweaks", config)], builtin())
        return str(outcome.template["metadata"]["annotations"]["inferfleet.dev/plugins"])

    one = {"runtimeClassName": "x", "annotations": {"a": "1", "b": "2"}}
    assert mark(one) == mark({"annotations": {"b": "2", "a": "1"}, "runtimeClassName": "x"})
    assert mark(one) != mark({**one, "annotations": {"a": "1", "b": "3"}})


def test_neither_template_nor_config_nor_request_is_changed_by_a_plugin_that_edits_all_it_gets(
    generated: dict[str, Any], pod_request: Request
) -> None:
    class Deep(contract.Config):
        volume: dict[str, Any]

    def greedy(template: PodTemplate, request: Request, config: Deep) -> PodTemplate:
        template["spec"]["volumes"] = [config.volume]
        config.volume["emptyDir"]["medium"] = "Memory"
        request.accelerator.attributes.clear()
        template["spec"]["containers"][0]["env"].clear()
        return template

    config = {"volume": {"name": "v", "emptyDir": {}}}
    before = copy.deepcopy((generated, config, pod_request))
    registry = Registry((Plugin("mine", Deep, greedy),))
    chain = [link("mine", config)]
    first = run(generated, pod_request, chain, registry)
    assert (generated, config, pod_request) == before
    first.template["spec"]["volumes"][0]["emptyDir"]["medium"] = "changed later"
    assert run(generated, pod_request, chain, registry).template["spec"]["volumes"] == [
        {"name": "v", "emptyDir": {"medium": "Memory"}}
    ]


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
        (_raises(PluginError("no such disk; add one.")), "no such disk; add one"),
        (_raises(KeyError("disk")), "KeyError: 'disk' (at test_chain.py:"),
        (_raises(RecursionError("deep")), "RecursionError: deep"),
        (_returns(None), "returned NoneType, but a plugin must return the template it edited"),
        (_returns(Edited({}, None)), "returned companions None, but companions must be a tuple"),  # type: ignore[arg-type]
        (_sets("spec", "when", {1, 2}), "returned a template in which spec.when is {1, 2} (set)"),
        (_sets("spec", "when", {1: "a"}), "spec.when has the key 1, and keys are text"),
        (_sets("spec", "when", float("nan")), "spec.when is nan (float)"),
        (_sets("metadata", "labels", {"a": 5}), "metadata.labels.a: a must be a string, not 5"),
    ],
)
def test_whatever_a_plugin_does_wrong_becomes_a_problem_with_plugin_deployment_and_field(
    generated: dict[str, Any], pod_request: Request, edit: contract.Edit, said: str
) -> None:
    outcome = run(generated, pod_request, [link("mine")], only(edit))
    (problem,) = outcome.problems
    assert problem.what.startswith("plugin mine OnPodCreate: ")
    assert said in problem.what
    assert problem.what.endswith(POD)
    assert (problem.kind, problem.key, problem.path) == ("ModelDeployment", "ml/web", "spec.plugins[0]")
    assert dataclasses.replace(outcome, problems=()) == Outcome(generated)


def test_a_value_that_contains_itself_is_refused(generated: dict[str, Any], pod_request: Request) -> None:
    loop: list[Any] = []
    loop.append(loop)
    outcome = run(generated, pod_request, [link("mine")], only(_sets("spec", "loop", loop)))
    assert "or contains itself" in outcome.problems[0].what


def test_one_failing_plugin_does_not_hide_the_problems_of_the_next(
    generated: dict[str, Any], pod_request: Request
) -> None:
    chain = [link("mine"), link("gone"), link("accelerator", {"product": 5}), link("mine")]
    registry = builtin().with_(Plugin("mine", contract.Config, _raises(PluginError("no"))))
    said = [one.what for one in run(generated, pod_request, chain, registry).problems]
    assert said == [
        f"plugin mine OnPodCreate: no {POD}",
        "plugin gone is not registered",
        "build plugin accelerator: product must be the name of one product, or a list of names",
        f"plugin mine OnPodCreate: no {POD}",
    ]


def test_a_template_that_json_cannot_say_is_a_problem_of_its_deployment(pod_request: Request) -> None:
    (problem,) = run({"spec": {"at": {1}}}, pod_request, [], builtin()).problems
    assert problem.what.startswith("deployment ml/web: in the pod template, spec.at is {1} (set)")


def _ranks(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ranks": "[]"}}


def _beside(*companions: dict[str, Any]) -> contract.Edit:
    return lambda template, request, config: Edited(template, companions)


def test_companions_get_the_namespace_of_their_workload(
    generated: dict[str, Any], pod_request: Request
) -> None:
    registry = only(_beside(_ranks(name="web-decode-h100-mine", labels={"a": "b"})))
    # Asked for twice, they are the same object.
    outcome = run(generated, pod_request, [link("mine"), link("mine")], registry)
    assert outcome.companions == (_ranks(name="web-decode-h100-mine", namespace="ml", labels={"a": "b"}),)
    assert [one.companions for one in outcome.steps] == [("ConfigMap web-decode-h100-mine",)] * 2
    assert outcome.template == generated


@pytest.mark.parametrize(
    ("companion", "said"),
    [
        (
            _ranks(name="ranks"),
            "the companion ConfigMap is named ranks, but it must be named web-decode-h100-mine",
        ),
        (_ranks(), "is named None"),
        ({"kind": "ConfigMap"}, "must be an object with apiVersion and kind"),
        (_ranks(name="web-decode-h100-mine", namespace="other"), "is in namespace other"),
        (
            _ranks(name="web-decode-h100-mine", labels={"inferfleet.dev/stack": "x"}),
            "has the label inferfleet.dev/stack, which only the system sets",
        ),
        ({**_ranks(name="web-decode-h100-mine"), "data": {1}}, "in a companion, data is {1}"),
    ],
)
def test_a_companion_that_cannot_stand_there_is_refused(
    generated: dict[str, Any], pod_request: Request, companion: dict[str, Any], said: str
) -> None:
    outcome = run(generated, pod_request, [link("mine")], only(_beside(companion)))
    assert said in outcome.problems[0].what
    assert outcome.companions == ()


def test_two_different_companions_of_one_name_clash(generated: dict[str, Any], pod_request: Request) -> None:
    first = _ranks(name="web-decode-h100-mine")
    outcome = run(generated, pod_request, [link("mine")], only(_beside(first, {**first, "data": {}})))
    assert "clashes with another of that name" in outcome.problems[0].what
