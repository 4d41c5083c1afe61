"""A plugin keeps its word: same answer twice, nothing to do on its own output, no output, no exit."""

import itertools
import sys
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import Field, field_validator
from running import mine, ran

from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Edited, PodTemplate, Request
from inferfleet.plugins.link import links
from inferfleet.plugins.put import put_container
from inferfleet.plugins.registry import Registry

NUMBERS = itertools.count()


def told(
    generated: PodTemplate,
    request: Request,
    edit: Callable[..., Any],
    config: type[Any] = contract.Config,
    written: Any = None,
) -> list[str]:
    specs = (PluginSpec(name="mine", config=written),)
    chain = links(specs, "stack", kind="Settings", key="prod")
    outcome, problems = ran(generated, request, chain, Registry((mine(edit, config=config),)))
    assert outcome.template == generated
    return [problem.what for problem in problems]


def clock(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    template["metadata"].setdefault("annotations", {})["at"] = str(next(NUMBERS))
    return template


def add(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    template["spec"]["containers"][0]["env"].append(
        {"name": f"N{len(template['spec']['containers'][0]['env'])}"}
    )
    return template


def once_only(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    if "hostname" in template["spec"]:
        raise KeyError("hostname")
    template["spec"]["hostname"] = "a"
    return template


def chatty(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    print("hello\nthere")
    return template


def complaining(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    sys.stderr.write("oh no")
    return template


def leaving(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    sys.exit(3)


def relabelling(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    request.selector["app"] = "mine"  # type: ignore[index]
    return template


def unsure(template: PodTemplate, request: Request, config: Any) -> Edited:
    template["spec"]["hostname"] = "a"
    return Edited(template, remarks=(str(next(NUMBERS)),))


def other_beside(template: PodTemplate, request: Request, config: Any) -> Edited:
    metadata = {"name": request.companion_name("mine")}
    beside = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"n": str(next(NUMBERS))},
    }
    return Edited(template, (beside,))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (clock, "is not deterministic: run twice on one template, it gives metadata.annotations.at: '"),
        (
            add,
            "is not idempotent: run on its own output, it changes spec.containers[logs].env[N2]: nothing and",
        ),
        (
            once_only,
            "is not idempotent: run on its own output, it fails: KeyError: 'hostname' (at test_honesty",
        ),
        (chatty, "printed 'hello\\nthere' (at test_honesty.py:"),
        (complaining, "printed 'oh no' (at test_honesty.py:"),
        (leaving, "ended the program with sys.exit(3) (at test_honesty.py:"),
        (unsure, "is not deterministic: run twice on one template, it makes different remarks"),
        (other_beside, "is not idempotent: run on its own output, it changes other companions"),
    ],
)
def test_a_plugin_that_does_not_keep_its_word_is_told_with_the_field_or_line(
    generated: PodTemplate, pod_request: Request, capsys: pytest.CaptureFixture[str], edit: Any, said: str
) -> None:
    (problem,) = told(generated, pod_request, edit)
    assert problem.startswith(f"plugin mine OnPodCreate: {said}")
    assert capsys.readouterr() == ("", "")


class Careless(contract.Config):
    disk: dict[str, str]

    @field_validator("disk")
    @classmethod
    def _has_a_size(cls, disk: dict[str, str]) -> dict[str, str]:
        return {"size": disk["size"]}


class Leaving(contract.Config):
    disk: Any = None

    @field_validator("disk")
    @classmethod
    def _exits(cls, disk: Any) -> Any:
        print("bye")
        sys.exit(1)


class Drawn(contract.Config):
    number: int = Field(default_factory=lambda: next(NUMBERS))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (Drawn, "build plugin mine: its config is another one each time it is read"),
        (Careless, "build plugin mine: KeyError: 'size' (at test_honesty.py:"),
        (Leaving, "build plugin mine: ended the program with sys.exit(1) (at test_honesty.py:"),
    ],
)
def test_a_validator_that_raises_anything_is_a_problem_of_the_config(
    generated: PodTemplate, pod_request: Request, config: Any, said: str
) -> None:
    (problem,) = told(generated, pod_request, chatty, config, {} if config is Drawn else {"disk": {}})
    assert problem.startswith(said)


def test_what_a_plugin_keeps_of_its_result_is_not_the_pod(
    generated: PodTemplate, pod_request: Request
) -> None:
    kept = {"name": "side", "image": "side:1"}

    def sharing(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
        put_container(template, kept)
        return template

    chain = links((PluginSpec(name="mine"),), "stack", kind="Settings", key="prod")
    outcome, problems = ran(generated, pod_request, chain, Registry((mine(sharing),)))
    kept["image"] = "side:2"
    assert problems == []
    assert outcome.template["spec"]["containers"][-1] == {"name": "side", "image": "side:1"}
    assert outcome.steps[0].changes[0].after == {"name": "side", "image": "side:1"}
