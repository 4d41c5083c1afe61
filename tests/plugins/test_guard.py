"""Plugins may add; the hardware part of a pod and the labels that everything selects by stay."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from running import mine, ran

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Request
from inferfleet.plugins.guard import guard_mistakes
from inferfleet.plugins.link import links
from inferfleet.plugins.registry import Registry

Template = dict[str, Any]
Change = Callable[[Template], Any]


def engine(template: Template) -> Template:
    found: Template = template["spec"]["containers"][1]
    return found


def put(where: Callable[[Template], Template], **entries: Any) -> Change:
    return lambda template: where(template).update(entries)


def spec(template: Template) -> Template:
    found: Template = template["spec"]
    return found


def labels(template: Template) -> Template:
    found: Template = template["metadata"]["labels"]
    return found


def limits(template: Template) -> Template:
    found: Template = engine(template)["resources"]["limits"]
    return found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: limits(t).clear(), "limits[\"nvidia.com/gpu\"] was '2' and was removed"),
        (lambda t: engine(t).pop("resources"), "limits[\"nvidia.com/gpu\"] was '2' and was removed"),
        (lambda t: limits(t).update({"nvidia.com/gpu": 4}), "was '2' and was changed to 4"),
        (
            lambda t: spec(t).pop("nodeSelector"),
            "nodeSelector[\"inferfleet.dev/pool\"] was 'h100' and was removed",
        ),
        (
            lambda t: spec(t)["nodeSelector"].update({"inferfleet.dev/pool": "l4"}),
            "was 'h100' and was changed to 'l4'",
        ),
        (put(spec, tolerations=[]), "spec.tolerations lost {'key': 'nvidia.com/gpu'"),
        (lambda t: labels(t).pop("inferfleet.dev/role"), "was 'decode' and was removed"),
        (lambda t: labels(t).update({"inferfleet.dev/serves": "true"}), "was added with 'true'"),
        (lambda t: labels(t).update({"app.kubernetes.io/managed-by": "me"}), "was added with 'me'"),
        (lambda t: labels(t).pop("llm-d.ai/inference-serving"), "was 'true' and was removed"),
        (
            lambda t: t["metadata"].update(annotations={"inferfleet.dev/x": "1"}),
            'metadata.annotations["inferfleet.dev/x"] was added',
        ),
        (put(engine, ports=[]), "spec.containers[engine].ports[http] was (8000, 'TCP') and was removed"),
        (
            put(engine, ports=[{"name": "http", "containerPort": 9000}]),
            "was (8000, 'TCP') and was changed to (9000, 'TCP')",
        ),
    ],
)
def test_what_the_system_put_in_stays(generated: Template, change: Change, said: str) -> None:
    after = copy.deepcopy(generated)
    change(after)
    assert any(said in one.what for one in guard_mistakes(generated, after, port=8000))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put(spec, resourceClaims=[]), "spec.resourceClaims[devices] was {'name': 'devices'"),
        (
            put(spec, resourceClaims=[{"name": "devices", "resourceClaimName": "mine"}]),
            "was changed to {'name': 'devices', 'resourceClaimName': 'mine'}",
        ),
        (
            lambda t: engine(t)["resources"].pop("claims"),
            "spec.containers[engine].resources.claims[devices] was {'name': 'devices'} and was removed",
        ),
    ],
)
def test_the_claims_of_the_system_stay(generated: Template, change: Change, said: str) -> None:
    spec(generated)["resourceClaims"] = [{"name": "devices", "resourceClaimTemplateName": "qwen-1"}]
    engine(generated)["resources"] = {"claims": [{"name": "devices"}]}
    after = copy.deepcopy(generated)
    change(after)
    (mistake,) = guard_mistakes(generated, after, port=8000)
    assert said in mistake.what


@pytest.mark.parametrize(
    "change",
    [
        lambda t: None,
        lambda t: labels(t).update({"family": "other", "team": "ml", "llm-d.ai/model": "x"}),
        lambda t: spec(t)["nodeSelector"].update({"disk": "ssd"}),
        lambda t: spec(t)["tolerations"].insert(0, {"operator": "Exists"}),
        lambda t: spec(t)["containers"].insert(0, {"name": "first", "image": "x"}),
        lambda t: limits(t).update({"rdma/hca": 1, "memory": "8Gi"}),
        lambda t: engine(t)["ports"].append({"name": "metrics", "containerPort": 9000}),
        put(engine, image="mirror/vllm:1", args=["--model=x"]),
        put(spec, schedulerName="volcano"),
        put(engine, env=[]),
    ],
)
def test_plugins_may_add_and_may_change_what_the_team_wrote(generated: Template, change: Change) -> None:
    after = copy.deepcopy(generated)
    change(after)
    assert guard_mistakes(generated, after, port=8000) == ()


def test_a_variable_that_the_team_wrote_twice_is_not_the_plugin_s(generated: Template) -> None:
    engine(generated)["env"].append({"name": "LAST", "value": "1"})
    assert guard_mistakes(generated, copy.deepcopy(generated), port=8000) == ()


def test_the_chain_refuses_the_edit_of_exactly_the_plugin_that_broke_it(
    generated: Template, pod_request: Request
) -> None:
    def good(template: Template, request: Request, config: contract.Config) -> Template:
        template["metadata"]["labels"]["team"] = "ml"
        return template

    def bad(template: Template, request: Request, config: contract.Config) -> Template:
        template["spec"]["nodeSelector"] = {}
        return template

    registry = Registry((mine(good, "good"), mine(bad, "bad")))
    specs = tuple(PluginSpec(name=name) for name in ("good", "bad", "good"))
    chain = links(specs, "stack", kind="Settings", key="prod")
    outcome, (problem,) = ran(generated, pod_request, chain, registry)
    assert str(problem) == (
        "spec.plugins[1]: plugin bad: spec.nodeSelector[\"inferfleet.dev/pool\"] was 'h100' "
        "and was removed, but belongs to the system (deployment ml/web, role decode on east/h100). "
        "A plugin may only add to it; leave it as it is"
    )
    assert outcome.template["spec"] == generated["spec"]
    assert outcome.template["metadata"]["labels"]["team"] == "ml"
