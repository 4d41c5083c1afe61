"""Two links that set one field to different values are told, however they do it."""

import dataclasses
from typing import Any

import pytest
from running import mine, ran

from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.api.problems import Where
from inferfleet.plugins import api, contract, findings
from inferfleet.plugins.chain import run
from inferfleet.plugins.contract import PodTemplate, Request
from inferfleet.plugins.link import Link, Origin, bind
from inferfleet.plugins.registry import Registry, builtin


class Fields(contract.Config):
    spec: dict[str, Any] = {}
    engine: dict[str, Any] = {}
    without: list[str] = []
    arguments: list[str] = []


def _set(template: PodTemplate, request: Request, config: Fields) -> PodTemplate:
    template["spec"].update(config.model_copy(deep=True).spec)
    container = api.engine(template)
    container.update(config.model_copy(deep=True).engine)
    for key in config.without:
        container.pop(key, None)
    api.add_args(container, *config.arguments)
    return template


REGISTRY = builtin().with_(mine(_set, "set", Fields))


def link(
    place: int, config: Any, *, name: str = "set", override: bool = False, origin: Origin = "stack"
) -> Link:
    spec = PluginSpec(name=name, config=config, override=override)
    where = Where("stacks/Pulumi.prod.yaml", 10 + place)
    return Link(spec, origin, "Settings", "prod", f"plugins[{place}]", where)


def told(generated: PodTemplate, request: Request, *chain: Link, registry: Registry = REGISTRY) -> list[str]:
    return [str(problem) for problem in ran(generated, request, chain, registry)[1]]


def test_a_second_value_names_the_field_and_both_links(generated: PodTemplate, pod_request: Request) -> None:
    first = link(0, {"runtimeClassName": "nvidia"}, name="accelerator", origin="class")
    second = link(1, {"runtimeClassName": "kata"}, name="demo-pod-tweaks")
    assert told(generated, pod_request, first, second) == [
        "plugins[1]: plugin demo-pod-tweaks OnPodCreate: spec.runtimeClassName was set to 'nvidia' by plugin "
        "accelerator of the class chain, plugins[0] (stacks/Pulumi.prod.yaml:10), and this link changes it "
        "to 'kata' (deployment ml/web, role decode on east/h100). "
        "Remove one of the two, or write override: true in the later link"
    ]
    later = link(1, {"runtimeClassName": "kata"}, name="demo-pod-tweaks", override=True)
    outcome, problems = ran(generated, pod_request, [first, later], REGISTRY)
    assert (problems, outcome.template["spec"]["runtimeClassName"]) == ([], "kata")


GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
A = [{"name": "A", "value": "1"}]


def context(user: int) -> dict[str, Any]:
    return {"engine": {"securityContext": {"runAsUser": user, "privileged": False}}}


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        ({"engine": {"env": A}}, {"engine": {"env": []}}, "env[A].name was set to 'A'"),
        ({"spec": {"volumes": [{"name": "v"}]}}, {"spec": {"volumes": []}}, "volumes[v].name was set"),
        (context(1), context(2), "securityContext.runAsUser was set to 1"),
        ({"engine": {"workingDir": "/a"}}, {"without": ["workingDir"]}, "and this link removes it"),
        (
            {"engine": {"args": ["--a=1"]}},
            {"engine": {"args": ["--a=2"]}},
            "args[--a] was set to a value that is not shown",
        ),
        (
            {"spec": {"tolerations": [GPU, {"key": "x"}]}},
            {"spec": {"tolerations": [GPU]}},
            'tolerations[{"key": "x"}].key was set to',
        ),
    ],
)
def test_a_conflict_is_found_to_the_leaf(
    generated: PodTemplate, pod_request: Request, first: Any, second: Any, field: str
) -> None:
    problems = told(generated, pod_request, link(0, first), link(1, second))
    assert [field in problem for problem in problems] == [True]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"spec": {"hostname": "a"}}, {"spec": {"hostname": "a"}}),
        ({"engine": {"securityContext": {}}}, {"engine": {"securityContext": {"runAsUser": 1}}}),
        ({"arguments": ["--one=1"]}, {"arguments": ["--two=2"]}),
        ({"arguments": ["--one=1"]}, {"arguments": ["--one=1", "--two"]}),
    ],
)
def test_links_that_agree_or_add_to_each_other_are_no_conflict(
    generated: PodTemplate, pod_request: Request, first: Any, second: Any
) -> None:
    assert told(generated, pod_request, link(0, first), link(1, second)) == []


def test_what_the_team_wrote_may_be_changed_once(generated: PodTemplate, pod_request: Request) -> None:
    env = {"engine": {"env": [{"name": "HF_HOME", "value": "/cache"}]}}
    assert told(generated, pod_request, link(0, env), link(1, env)) == []


def test_a_link_with_a_conflict_is_told_once_for_all_its_pods(
    generated: PodTemplate, pod_request: Request
) -> None:
    chain = [link(0, {"spec": {"hostname": "a"}}), link(1, {"spec": {"hostname": "b"}})]
    bound, _ = bind(chain, REGISTRY, roles=("decode",))
    pods = [
        dataclasses.replace(pod_request, pool=dataclasses.replace(pod_request.pool, name=f"pool-{n}"))
        for n in range(40)
    ]
    found = [finding for pod in pods for finding in run(generated, pod, bound).findings]
    (problem,) = findings.told(found)
    assert len(found) == 40
    assert problem.what.endswith("(deployment ml/web, role decode on east/pool-0, and 39 more)")
