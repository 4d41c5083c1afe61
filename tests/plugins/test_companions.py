"""Objects beside a workload: their names and namespace, and what may not be among them."""

import dataclasses
from typing import Any

import pytest
from running import mine, outcome_of, ran

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Companion, Edited, PluginError, Request
from inferfleet.plugins.link import Link
from inferfleet.plugins.put import engine
from inferfleet.plugins.registry import Registry


def link(name: str) -> Link:
    return Link(PluginSpec(name=name), "deployment", "ModelDeployment", "ml/web")


def only(edit: contract.Edit) -> Registry:
    """A registry whose one plugin, `mine`, does this."""
    return Registry((mine(edit),))


def _ranks(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ranks": "[]"}}


def _beside(*companions: dict[str, Any]) -> contract.Edit:
    return lambda template, request, config: Edited(template, companions)


def test_companions_get_the_namespace_of_their_workload(
    generated: dict[str, Any], pod_request: Request
) -> None:
    registry = only(_beside(_ranks(name="web-decode-h100-mine", labels={"a": "b"})))
    # Questions for twice, they are the same object.
    outcome = outcome_of(generated, pod_request, [link("mine"), link("mine")], registry)
    added = (Companion(_ranks(name="web-decode-h100-mine", namespace="ml", labels={"a": "b"})),)
    assert outcome.companions == added
    assert [one.companions for one in outcome.effects] == [added] * 2
    assert outcome.template == generated


@pytest.mark.parametrize(
    ("companion", "said"),
    [
        (
            _ranks(name="ranks"),
            "the companion ConfigMap is named ranks, but it must be named web-decode-h100-mine, or ",
        ),
        (_ranks(), "is named None"),
        ({"kind": "ConfigMap"}, "must be an object with apiVersion and kind"),
        (_ranks(name="web-decode-h100-mine", namespace="other"), "is in namespace other"),
        (
            _ranks(name="web-decode-h100-mine", labels={"inferfleet.dev/stack": "x"}),
            "has the label inferfleet.dev/stack, which only the system sets",
        ),
        (_ranks(name="web-decode-h100-mine", finalizers=["a/b"]), "has metadata.finalizers: "),
        (_ranks(name="web-decode-h100-mine", ownerReferences=[{}]), "has metadata.ownerReferences: "),
        (_ranks(name="web-decode-h100-mine", generateName="a-"), "has metadata.generateName: "),
        (
            _ranks(name="web-decode-h100-mine", annotations={"pulumi.com/patchForce": "true"}),
            "has the annotation pulumi.com/patchForce, by which the engine would treat it otherwise",
        ),
        ({**_ranks(name="web-decode-h100-mine"), "data": {1}}, "in a companion, data is {1}"),
        (_ranks(name="a" * 300), f"is named {'a' * 59}…, but it must be named"),
        (_ranks(name="web-decode-h100-mine", labels=5), "metadata.labels: labels must be a map, not 5"),
        ({**_ranks(name="web-decode-h100-mine"), "immutable": True}, "is immutable, and its name stays when"),
    ],
)
def test_a_companion_that_cannot_stand_there_is_refused(
    generated: dict[str, Any], pod_request: Request, companion: dict[str, Any], said: str
) -> None:
    outcome, (problem,) = ran(generated, pod_request, [link("mine")], only(_beside(companion)))
    assert said in problem.what
    assert outcome.companions == ()


def test_two_different_companions_of_one_name_clash(generated: dict[str, Any], pod_request: Request) -> None:
    first = _ranks(name="web-decode-h100-mine")
    registry = only(_beside(first, {**first, "data": {}}))
    _, (problem,) = ran(generated, pod_request, [link("mine")], registry)
    assert "clashes with another of that name" in problem.what


def _named(api_version: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web-decode-h100-mine"}, **more}


def test_several_of_one_kind_differ_in_their_suffix_and_are_before_or_after(
    generated: dict[str, Any], pod_request: Request
) -> None:
    def edit(template: Any, request: Request, config: Any) -> Edited:
        first, second = (_ranks(name=request.companion_name("mine", suffix)) for suffix in ("a", "b-2"))
        return Edited(template, (first, Companion(second, when="after")))

    outcome = outcome_of(generated, pod_request, [link("mine")], only(edit))
    assert [(beside.title, beside.when) for beside in outcome.companions] == [
        ("ConfigMap web-decode-h100-mine-a", "before"),
        ("ConfigMap web-decode-h100-mine-b-2", "after"),
    ]


def test_a_name_by_contents_ends_in_their_hash_and_may_be_of_something_immutable(
    generated: dict[str, Any], pod_request: Request
) -> None:
    def edit(template: Any, request: Request, config: Any) -> Edited:
        data = {"ranks": "[]", "a": "b"}
        swapped = dict(reversed(data.items()))
        names = (
            request.companion_name("mine", contents=data),
            request.companion_name("mine", "x" * 20, contents=swapped),
        )
        return Edited(template, tuple({**_ranks(name=name), "immutable": True} for name in names))

    outcome = outcome_of(generated, pod_request, [link("mine")], only(edit))
    assert [beside.title for beside in outcome.companions] == [
        "ConfigMap web-decode-h100-mine-979085c3",
        f"ConfigMap web-decode-h100-mine-{'x' * 20}-979085c3",
    ]
    assert pod_request.companion_name("mine", contents={}) != pod_request.companion_name("mine")


def test_a_long_name_by_contents_keeps_their_hash(pod_request: Request) -> None:
    pod = dataclasses.replace(pod_request, workload=f"web-{'x' * 60}")
    first, second = (pod.companion_name("mine", contents=text) for text in "ab")
    assert (len(first), len(second), first[:-8] == second[:-8], first != second) == (63, 63, True, True)


@pytest.mark.parametrize("contents", [{1}, b"canary-Zx81", float("nan"), {"a": object()}])
def test_contents_of_a_name_are_of_json(pod_request: Request, contents: Any) -> None:
    with pytest.raises(PluginError, match="contents of a companion's name are no JSON value") as raised:
        pod_request.companion_name("mine", contents=contents)
    assert "canary" not in str(raised.value)


SECRET = {"metadata": {"name": "web-decode-h100-mine"}, "data": {"key": b"canary-Zx81"}}


@pytest.mark.parametrize(
    "given",
    [
        SECRET,
        {"stringData": {"key": "canary-Zx81"}},
        {**SECRET, "apiVersion": "v1", "kind": "Secrets"},
        {**SECRET, "apiVersion": "v1", "kind": "secret", "data": {"key": "canary-Zx81"}},
        {**SECRET, "apiVersion": "core/v1", "kind": "Secret", "data": {"key": "canary-Zx81"}},
        {**SECRET, "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other"}},
    ],
)
def test_no_message_says_what_may_be_a_secret(
    generated: dict[str, Any], pod_request: Request, given: Any
) -> None:
    for companions in ((given,), given):
        edit: Any = lambda template, request, config, given=companions: Edited(template, given)  # noqa: E731
        _, problems = ran(generated, pod_request, [link("mine")], only(edit))
        assert ["canary" in problem.what for problem in problems] == [False]


@pytest.mark.parametrize("suffix", ["-", "a.b", "A", "a" * 21])
def test_a_suffix_must_be_able_to_end_a_name(pod_request: Request, suffix: str) -> None:
    with pytest.raises(PluginError, match="of a companion must be at most 20 lower-case letters"):
        pod_request.companion_name("mine", suffix)


def test_companions_of_long_names_are_found_by_their_suffix(
    generated: dict[str, Any], pod_request: Request
) -> None:
    pod = dataclasses.replace(pod_request, workload=f"web-{'x' * 60}")
    name = pod.companion_name("mine", "late")
    outcome = outcome_of(generated, pod, [link("mine")], only(_beside(_ranks(name=name))))
    assert (len(name), outcome.companions[0].title) == (63, f"ConfigMap {name}")


def test_when_is_before_or_after(generated: dict[str, Any], pod_request: Request) -> None:
    beside: Any = Companion(_ranks(name="web-decode-h100-mine"), when="later")  # type: ignore[arg-type]
    _, (problem,) = ran(generated, pod_request, [link("mine")], only(_beside(beside)))
    assert "is to be created 'later' its workload; write before or after" in problem.what


NAME = "web-decode-h100-mine"
CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": NAME}}]}
READS = [
    ({"volumes": [{"name": "v", "configMap": {"name": NAME}}]}, "ConfigMap"),
    ({"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": NAME}}]}}]}, "ConfigMap"),
    ({"serviceAccountName": NAME}, "ServiceAccount"),
]


@pytest.mark.parametrize(("fields", "kind"), READS)
def test_a_pod_template_names_the_companions_that_its_pods_read_with_their_contents(
    generated: dict[str, Any], pod_request: Request, fields: dict[str, Any], kind: str
) -> None:
    def edit(template: Any, request: Request, config: Any) -> Edited:
        template["spec"].update(fields)
        unread = _ranks(name=request.companion_name("mine", "unread"))
        return Edited(template, (_named("v1", kind), unread))

    outcome = outcome_of(generated, pod_request, [link("mine")], only(edit))
    annotations = outcome.template["metadata"]["annotations"]
    assert [text.partition("@")[0] for text in annotations.values()] == [f"{kind}/{NAME}"]
    assert list(annotations) == ["inferfleet.dev/companions"]


@pytest.mark.parametrize(("fields", "kind"), [*READS, (CLAIM, "PersistentVolumeClaim")])
def test_a_companion_that_pods_wait_for_is_not_created_after_them(
    generated: dict[str, Any], pod_request: Request, fields: dict[str, Any], kind: str
) -> None:
    def edit(template: Any, request: Request, config: Any) -> Edited:
        template["spec"].update(fields)
        beside = _named("v1", kind)
        if kind == "PersistentVolumeClaim":
            room = {"requests": {"storage": "1Gi"}}
            beside["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": room}
        return Edited(template, (Companion(beside, when="after"),))

    _, (problem,) = ran(generated, pod_request, [link("mine")], only(edit))
    assert f"pods read the companion {kind} {NAME}, which is created after their workload" in problem.what
    assert problem.next_step.startswith("Give it without when")


def test_the_hash_of_a_companion_changes_with_its_data_and_not_with_its_labels(
    generated: dict[str, Any], pod_request: Request
) -> None:
    def mark(data: str, **labels: str) -> str:
        def edit(template: Any, request: Request, config: Any) -> Edited:
            (*_, container) = template["spec"]["containers"]
            container["envFrom"] = [{"configMapRef": {"name": NAME}}]
            return Edited(template, ({**_ranks(name=NAME, labels=labels), "data": {"ranks": data}},))

        outcome = outcome_of(generated, pod_request, [link("mine")], only(edit))
        return str(outcome.template["metadata"]["annotations"]["inferfleet.dev/companions"])

    assert mark("a") == mark("a", team="b") != mark("b")


def test_no_plugin_writes_the_annotations_of_the_system(
    generated: dict[str, Any], pod_request: Request
) -> None:
    def edit(template: Any, request: Request, config: Any) -> Any:
        template["metadata"]["annotations"] = {
            "inferfleet.dev/plugins": "x",
            "inferfleet.dev/companions": "y",
        }
        return template

    _, problems = ran(generated, pod_request, [link("mine")], only(edit))
    assert ["is not a plugin's to set" in problem.what for problem in problems] == [True, True]


def _variable(key: str, **more: Any) -> dict[str, Any]:
    return {"name": "RANKS", "valueFrom": {"configMapKeyRef": {"name": NAME, "key": key, **more}}}


@pytest.mark.parametrize(
    ("variable", "items", "optional", "said"),
    [
        (_variable("ranks"), ["ranks"], False, []),
        (_variable("rank", optional=True), ["rank"], True, []),
        (
            _variable("rank"),
            ["ranks", "nodes"],
            False,
            ["volume ranks needs key 'nodes'", "variable RANKS of container engine needs key 'rank'"],
        ),
    ],
)
def test_keys_that_pods_need_of_a_companion_are_among_its_data(
    generated: dict[str, Any],
    pod_request: Request,
    variable: dict[str, Any],
    items: list[str],
    optional: bool,
    said: list[str],
) -> None:
    def edit(template: Any, request: Request, config: Any) -> Edited:
        wanted = {"name": NAME, "optional": optional, "items": [{"key": key, "path": key} for key in items]}
        template["spec"]["volumes"] = [{"name": "ranks", "configMap": wanted}]
        engine(template)["env"] = [*engine(template)["env"][:2], variable]
        return Edited(template, (_ranks(name=NAME),))

    _, problems = ran(generated, pod_request, [link("mine")], only(edit))
    assert [(problem.what, problem.next_step) for problem in problems] == [
        (
            f"plugin mine: {needs} of ConfigMap {NAME}, which has ranks (deployment ml/web, role "
            "decode on east/h100)",
            "Name a key that it has, or write optional: true",
        )
        for needs in said
    ]
