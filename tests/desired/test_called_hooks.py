"""When an update calls a ready hook: where what is remembered differs from what it was called for."""

from typing import Any

import pytest
from small_stack import NOTHING, Document, cluster, deployment, lock, stack

from inferfleet.cli.verbs.explain import as_values, explanation
from inferfleet.desired import desired
from inferfleet.desired.transition import with_leaving
from inferfleet.desired.values import Desired, ReadyHook
from inferfleet.documents.documents import Documents
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.lock.lock import Lock
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Plugin, PodTemplate, Ready, Request
from inferfleet.plugins.registry import Registry, builtin, mistakes_of

NAME = "east/ml/a-decode-l4/registrar"


class Config(contract.Config):
    team: str = ""


def _edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    if config.team:
        template["metadata"].setdefault("annotations", {})["example.com/team"] = config.team
    return template


def _greet(ready: Ready, config: Config) -> None: ...


REGISTRY: Registry = builtin().with_(
    Plugin("registrar", Config, _edit, version="1.2.0", ready=_greet),
    Plugin("silent", Config, _edit, version="1.0.0"),
)


def _desired(documents: Documents, locked: Lock = NOTHING) -> Desired:
    return desired(documents, locked, registry=REGISTRY)


def _hooks(found: Desired) -> dict[str, ReadyHook]:
    """By name, the hooks of a stack."""
    return {
        hook.name: hook
        for part in found.clusters
        for component in part.components
        for hook in component.hooks
    }


def _of(*documents: Document, locked: Lock = NOTHING, **settings: Any) -> dict[str, str]:
    """What the state remembers of each hook once the update is over, as far as it comes from documents."""
    hooks = _hooks(_desired(stack(cluster("east"), *documents, **settings), locked))
    return {name: hook.remembered for name, hook in hooks.items()}


def _a(replicas: int = 1, *, link: dict[str, Any] | None = None, **more: Any) -> Document:
    return deployment("a", replicas, plugins=[{"name": "registrar", **(link or {})}], **more)


def test_a_hook_stands_for_each_workload_in_scope_of_a_plugin_that_has_one() -> None:
    other = deployment("b", plugins=[{"name": "silent"}])
    assert list(_of(_a(), other)) == [NAME]
    assert _of(_a(link={"scope": {"target": "Worker"}})) == {}


def test_the_same_template_is_remembered_however_many_replicas_there_are() -> None:
    assert _of(_a(1)) == _of(_a(2)) == _of(_a(2), locked=lock({"a east/l4": 1}))
    assert _of(_a())[NAME].startswith("template ")


@pytest.mark.parametrize(
    "changed",
    [
        {"engine": {"image": "engine:2"}},
        {"link": {"config": {"team": "chat"}}},
        {"pod": {"priorityClassName": "high"}},
    ],
)
def test_another_template_is_remembered_as_another_one(changed: dict[str, Any]) -> None:
    assert _of(_a(**changed))[NAME] != _of(_a())[NAME]


def test_each_link_that_names_the_plugin_is_called_by_one_hook_in_the_order_of_chains() -> None:
    hooks = _hooks(_desired(stack(cluster("east"), _a(), plugins=[{"name": "registrar"}])))
    assert [bound.link.origin for bound in hooks[NAME].links] == ["stack", "deployment"]


def test_a_hook_is_held_where_the_update_does_not_wait_for_pods() -> None:
    assert _of(_a(), **{"await": "applied"}) == {NAME: "not told yet"}
    documents = stack(cluster("east", state="lost"), _a())
    [hook] = _hooks(_desired(documents, lock({"a east/l4": 1}))).values()
    assert hook.held


def test_a_hook_is_held_while_others_must_leave_first() -> None:
    documents = stack(cluster("east"), _a(), deployment("b"))
    locked = lock({"b east/l4": 1})
    leaving = Leaving("east", "ml", "old-decode-l4", "l4", pods=2, gpus_per_pod=4)
    found = _desired(documents, locked)
    held = {name: hook.held for name, hook in _hooks(found).items()}
    waiting = with_leaving(found, documents, locked, [leaving])
    assert (held, {name: hook.held for name, hook in _hooks(waiting).items()}) == (
        {NAME: False},
        {NAME: True},
    )


def test_outputs_name_the_plugins_that_changed_the_pods_of_a_workload() -> None:
    links = [{"name": "registrar", "config": {"team": "chat"}}, {"name": "silent"}]
    found = _desired(stack(cluster("east"), deployment("a", plugins=links)))
    assert found.outputs["plugins"] == {"east/ml/a-decode-l4": ["registrar@1.2.0"]}


@pytest.mark.parametrize(("settings", "said"), [({}, "called"), ({"await": "applied"}, "held")])
def test_explain_says_which_links_have_a_ready_hook(settings: dict[str, str], said: str) -> None:
    link = {"name": "registrar", "scope": {"target": "Worker"}}
    documents = stack(cluster("east"), deployment("a", plugins=[{"name": "registrar"}, link]), **settings)
    explained = as_values(explanation("ml/a", documents, NOTHING, _desired(documents)))
    [role] = explained["placements"][0]["roles"]
    assert [(step["effect"], step["readyHook"]) for step in role["plugins"]] == [
        ("none", said),
        ("out of scope", None),
    ]


def test_a_hook_that_is_no_function_is_refused() -> None:
    odd: Any = "later"
    plugin = Plugin("odd", Config, _edit, version="1.0.0", ready=odd)
    assert list(mistakes_of(plugin)) == [
        "plugin odd: its ready is 'later', but must be a function of (ready, config)"
    ]
