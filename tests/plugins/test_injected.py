"""Sidecars that webhooks inject, as plugins tell of them: what is refused, and how they are counted."""

import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from running import mine, outcome_of, ran

from inferfleet.desired.demands import admitted
from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.fleet.shapes import Pod, pod_of
from inferfleet.plugins.api import Edited, PodTemplate, Request, SidecarConfig, put_container
from inferfleet.plugins.chain import LinkEffect, Outcome
from inferfleet.plugins.link import Link
from inferfleet.plugins.registry import Registry

PROXY = {"proxy": {"cpu": "100m", "memory": "1Gi"}}


def saying(injected: Any, name: str = "mine") -> Any:
    """A plugin that changes nothing and says that this is injected."""
    return mine(lambda template, request, config: Edited(template, injected=injected), name)


def link(name: str, index: int = 0, **more: Any) -> Link:
    return Link(PluginSpec(name=name, **more), "deployment", "ModelDeployment", f"spec.plugins[{index}]")


def test_a_step_says_what_is_injected_and_counts_as_a_change(
    generated: PodTemplate, pod_request: Request
) -> None:
    outcome = outcome_of(generated, pod_request, [link("mine")], Registry([saying(PROXY)]))
    (step,) = outcome.effects
    assert (step.injected, step.status, outcome.template) == (PROXY, "changed", generated)
    assert outcome.changed_by("spec.initContainers[proxy].resources.requests.cpu") is step


class Proxy(SidecarConfig):
    """A sidecar whose webhook takes every limit as it is."""

    container = "proxy"
    annotations: ClassVar[Mapping[str, str]] = {
        "cpu": "cpu",
        "memory": "memory",
        "cpu_limit": "cpu-limit",
        "memory_limit": "memory-limit",
    }


def test_a_limit_that_is_not_set_is_left_to_the_webhook(generated: PodTemplate) -> None:
    injected = Proxy(cpu="100m", memory="1Gi", memory_limit="2Gi").inject(generated)
    assert injected == PROXY
    assert generated["metadata"]["annotations"] == {"cpu": "100m", "memory": "1Gi", "memory-limit": "2Gi"}


@pytest.mark.parametrize(
    ("injected", "said"),
    [
        (None, "returned injected None, but it has requests by names of containers"),
        ({"proxy": "1Gi"}, "returned injected {'proxy': '1Gi'}, but it has requests by names"),
        ({"Proxy": {"cpu": "1"}}, "container 'Proxy' must have a name of at most 63 lower-case letters"),
        ({"p" * 64: {"cpu": "1"}}, "must have a name of at most 63 lower-case letters"),
        ({"proxy": {"cpu": None}}, "container 'proxy' requests None of 'cpu'"),
        ({"proxy": {"cpu": "much"}}, "'much' is not a Kubernetes quantity"),
        ({"proxy": {"cpus": "1"}}, "containers have no resource 'cpus'"),
        ({"proxy": {"memory": "-1"}}, "memory '-1' must be a quantity from 0 to"),
        ({"proxy": {"nvidia.com/gpu": "1"}}, "devices of a pod are planned by its document alone"),
    ],
)
def test_what_cannot_be_counted_is_a_fault_of_the_plugin(
    generated: PodTemplate, pod_request: Request, injected: Any, said: str
) -> None:
    _, problems = ran(generated, pod_request, [link("mine")], Registry([saying(injected)]))
    (problem,) = problems
    assert said in problem.what
    assert problem.next_step == "Mend the plugin"


def test_another_answer_each_time_is_refused(generated: PodTemplate, pod_request: Request) -> None:
    numbers = itertools.count(1)
    fickle = mine(
        lambda template, request, config: Edited(template, injected={"proxy": {"cpu": str(next(numbers))}})
    )
    _, problems = ran(generated, pod_request, [link("mine")], Registry([fickle]))
    assert ["changes what it says is injected" in problem.what for problem in problems] == [True]


def test_two_links_must_agree_unless_the_later_one_overrides(
    generated: PodTemplate, pod_request: Request
) -> None:
    registry = Registry([saying(PROXY, "first"), saying({"proxy": {"cpu": "1"}}, "second")])
    _, problems = ran(generated, pod_request, [link("first"), link("second", 1)], registry)
    (problem,) = problems
    assert (
        "plugin first of the deployment chain, spec.plugins[0], says that the injected container proxy "
        "requests cpu 100m, memory 1Gi, and this link says cpu 1"
    ) in problem.what
    outcome = outcome_of(generated, pod_request, [link("first"), link("second", 1, override=True)], registry)
    sidecars = admitted(outcome)["initContainers"]
    assert sidecars[0] == {
        "name": "proxy",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "1"}},
    }


def _injecting(spec: dict[str, Any], injected: Any) -> Outcome:
    """What a chain gives whose one link says so."""
    step = LinkEffect("mine", "deployment", "spec.plugins[0]", "config", injected=injected)
    return Outcome({"spec": spec}, effects=(step,))


def test_it_counts_as_a_native_sidecar_beside_every_init_container() -> None:
    def asks(cpu: str) -> dict[str, Any]:
        return {"requests": {"cpu": cpu}}

    spec = {
        "initContainers": [{"name": "fetch", "resources": asks("4")}],
        "containers": [{"name": "engine", "resources": asks("3")}],
    }
    assert pod_of(admitted(_injecting(spec, {"proxy": {"cpu": "2"}})), gpus=1) == Pod(1, 6000, 0)


def test_what_a_container_of_its_name_requests_is_never_forgotten() -> None:
    spec = {"containers": [{"name": "engine", "resources": {"requests": {"cpu": "7"}}}]}
    assert pod_of(admitted(_injecting(spec, {"engine": {"cpu": "2"}})), gpus=1) == Pod(1, 9000, 0)


@pytest.mark.parametrize("name", ["engine", "logs", "fetch"])
def test_a_container_of_the_template_is_not_injected_too(
    generated: PodTemplate, pod_request: Request, name: str
) -> None:
    _, problems = ran(generated, pod_request, [link("mine")], Registry([saying({name: {"cpu": "1"}})]))
    (problem,) = problems
    assert (problem.what.partition(" (deployment")[0], problem.next_step, problem.path) == (
        f"plugin mine: container {name} is in the template already, and this link says that a "
        "webhook injects it",
        "Remove the container, or let the plugin inject none of its name",
        "spec.plugins[0]",
    )


def test_a_later_link_does_not_add_a_container_that_is_injected(
    generated: PodTemplate, pod_request: Request
) -> None:
    def adds(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
        put_container(template, {"name": "proxy", "image": "proxy:1"})
        return template

    registry = Registry([saying(PROXY, "first"), mine(adds, "second")])
    _, problems = ran(generated, pod_request, [link("first"), link("second", 1, override=True)], registry)
    (problem,) = problems
    assert (problem.what.partition(" (deployment")[0], problem.key) == (
        "plugin second: container proxy is in the template already, and plugin first of the "
        "deployment chain, spec.plugins[0], says that a webhook injects it",
        "spec.plugins[1]",
    )
