"""Two links that set one field to different values are told, however they do it."""

import dataclasses
from typing import Any

import pytest
from one_request import NO_CHECK
from running import mine, ran

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.problems import Where
from inferfleet.plugins import api, contract
from inferfleet.plugins.chain import chain_problems, run
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
        "plugins[1]: plugin demo-pod-tweaks: spec.runtimeClassName was set to 'nvidia' by plugin "
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
            "tolerations[x/Equal].key was set to",
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


def _nodes(*expressions: Any) -> Any:
    terms = [{"matchExpressions": list(expressions)}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"spec": {"affinity": {"nodeAffinity": required}}}


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def _tolerates(*tolerations: dict[str, Any]) -> Any:
    return {"spec": {"tolerations": [GPU, *tolerations]}}


def _groups(*groups: int) -> Any:
    return {"spec": {"securityContext": {"supplementalGroups": list(groups)}}}


MINE = {"key": "mine", "operator": "Exists", "effect": "NoSchedule"}
FIRST = {"key": "first", "operator": "Exists"}
TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


@pytest.mark.parametrize(
    ("first", "second", "third", "place", "did"),
    [
        (
            _tolerates(MINE),
            _tolerates(FIRST),
            None,
            "spec.tolerations[mine/Exists/NoSchedule].key was set to 'mine'",
            "removes it",
        ),
        (
            _tolerates(MINE),
            _tolerates(FIRST, MINE),
            _tolerates(FIRST, {**MINE, "effect": "NoExecute"}),
            "spec.tolerations[mine/Exists/NoSchedule].key was set to 'mine'",
            "removes it",
        ),
        (
            _nodes(_in("zone", "a")),
            _nodes(_in("disk", "ssd"), _in("zone", "a")),
            _nodes(_in("disk", "ssd"), _in("zone", "b")),
            f'{TERMS}[{{"matchExpressions": [{{"key": "disk", "operator": "In", "values": ["ssd"]}}, '
            '{"key": "zone", "operator": "In", "values": ["a"]}]}].matchExpressions[zone/In].values[a] '
            "was set to 'a'",
            "changes it to 'b'",
        ),
        (
            _groups(1, 2),
            _groups(3, 1, 2),
            _groups(3, 1, 4),
            "spec.securityContext.supplementalGroups[2] was set to 2",
            "changes it to 4",
        ),
        (
            {"engine": {"args": ["--lora=a"]}},
            {"engine": {"args": ["--lora=b", "--lora=a"]}},
            {"engine": {"args": ["--lora=b", "--lora=c"]}},
            "spec.containers[engine].args[--lora=a] was set to a value that is not shown",
            "changes it to a value that is not shown",
        ),
    ],
)
def test_an_entry_of_a_list_without_keys_is_found_again_wherever_it_moves(
    generated: PodTemplate,
    pod_request: Request,
    first: Any,
    second: Any,
    third: Any,
    place: str,
    did: str,
) -> None:
    configs = [config for config in (first, second, third) if config]
    chain = [link(number, config) for number, config in enumerate(configs)]
    (problem,) = ran(generated, pod_request, chain, REGISTRY)[1]
    assert (problem.path, problem.what) == (
        f"plugins[{len(chain) - 1}]",
        f"plugin set: {place} by plugin set of the stack chain, plugins[0] "
        f"(stacks/Pulumi.prod.yaml:10), and this link {did} (deployment ml/web, role decode on east/h100)",
    )
    chain[-1] = link(len(chain) - 1, configs[-1], override=True)
    outcome, problems = ran(generated, pod_request, chain, REGISTRY)
    ((part, value),) = configs[-1].items()
    holder = api.engine(outcome.template) if part == "engine" else outcome.template[part]
    assert (problems, {key: holder[key] for key in value}) == ([], value)


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
    found = [problem for pod in pods for problem in run(generated, pod, bound, NO_CHECK).link_problems]
    (problem,) = chain_problems(found)
    assert len(found) == 40
    assert problem.what.endswith("(deployment ml/web, role decode on east/pool-0, and 39 more)")


SIDE = {"name": "side", "image": "side:1"}
WITH_SIDE = {"initContainers": [SIDE]}
HELD = (
    "breaks what plugin restricted of the class chain, plugins[0], holds pods to: container 'side' does not "
)
ON = "(deployment ml/web, role decode on east/h100)"


def test_a_link_that_breaks_what_an_earlier_one_holds_pods_to_is_refused(
    generated: PodTemplate, pod_request: Request
) -> None:
    generated["spec"].pop("initContainers", None)
    chain = [
        link(0, {"runAsUser": 1000}, name="restricted", origin="class"),
        link(1, {"spec": WITH_SIDE}, origin="deployment"),
        link(2, {"annotations": {"example.com/a": "b"}}, name="demo-pod-tweaks", origin="deployment"),
    ]
    said = [
        (
            "say allowPrivilegeEscalation: false",
            "Write that in its securityContext, or name restricted behind this link too",
        ),
        (
            "drop all capabilities",
            "Write capabilities: {drop: [ALL]} in its securityContext, or name restricted behind this link "
            "too",
        ),
    ]
    _, problems = ran(generated, pod_request, chain, REGISTRY)
    assert [(problem.path, problem.what, problem.next_step, problem.severity) for problem in problems] == [
        ("plugins[1]", f"plugin set: {HELD}{what} {ON}", next_step, "error") for what, next_step in said
    ]
    chain[1] = link(1, {"spec": WITH_SIDE}, origin="deployment", override=True)
    _, problems = ran(generated, pod_request, chain, REGISTRY)
    assert [(problem.path, problem.what, problem.next_step, problem.severity) for problem in problems] == [
        ("plugins[1]", f"plugin set {HELD}{what}", next_step, "warning") for what, next_step in said
    ]


def test_what_is_held_again_behind_the_link_that_broke_it_is_not_broken(
    generated: PodTemplate, pod_request: Request
) -> None:
    held = {"name": "restricted", "config": {"runAsUser": 1000}}
    chain = [
        link(0, held["config"], name="restricted", origin="class"),
        link(
            1,
            {"operations": [{"op": "add", "path": "/spec/initContainers/-", "value": SIDE}]},
            name="json-patch",
        ),
        link(2, held["config"], name="restricted"),
    ]
    assert told(generated, pod_request, *chain) == []


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        (lambda template, config: {}["x"], "KeyError: 'x' (at test_conflicts.py"),
        (lambda template, config: "no", "its holds returns str, but must return Mistakes"),
        (
            lambda template, config: [contract.Mistake("it is wrong", "Change it")],
            "its holds finds fault with what its own edit made: it is wrong",
        ),
    ],
)
def test_a_function_that_holds_pods_to_something_is_code_of_others(
    generated: PodTemplate, pod_request: Request, holds: contract.HoldsFunction, said: str
) -> None:
    registry = Registry((dataclasses.replace(mine(_set, "set", Fields), holds=holds),))
    (what,) = told(generated, pod_request, link(0, {}), registry=registry)
    assert what.startswith(f"plugins[0]: plugin set: {said}")
