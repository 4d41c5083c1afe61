"""A plugin keeps its word: same answer twice, nothing to do on its own output. What it says is told."""

import copy
import itertools
import logging
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from one_request import NO_CHECK
from pydantic import Field, field_validator
from running import mine, ran

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.problems import Mistake, Mistaken
from inferfleet.plugins import contract
from inferfleet.plugins.chain import chain_problems, run
from inferfleet.plugins.contract import Edited, PluginError, PodTemplate, Request
from inferfleet.plugins.link import bind, links
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
    sys.stderr.write("oh no\n")
    logging.getLogger("mine").warning("no zone of %s", request.pool.name)
    warnings.warn("old field", FutureWarning, stacklevel=1)
    return template


def complaining(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    chatty(template, request, config)
    raise PluginError("x" * 2_000)


def leaving(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    sys.exit(3)


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
        (leaving, "ended the program with sys.exit(3) (at test_honesty.py:"),
        (unsure, "is not deterministic: run twice on one template, it makes different remarks"),
        (other_beside, "is not idempotent: run on its own output, it changes other companions"),
    ],
)
def test_a_plugin_that_does_not_keep_its_word_is_told_with_the_field_or_line(
    generated: PodTemplate, pod_request: Request, capsys: pytest.CaptureFixture[str], edit: Any, said: str
) -> None:
    (problem,) = told(generated, pod_request, edit)
    assert problem.startswith(f"plugin mine: {said}")
    assert capsys.readouterr() == ("", "")


def writing(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    config.size = 9
    return template


def verbose(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    raise PluginError("x" * 20_000)


SAID = "hello; there; oh no; WARNING: no zone of h100; FutureWarning: old field (at test_honesty.py:"


def test_what_a_plugin_says_is_one_warning_for_all_pods_whole_and_in_no_output(
    generated: PodTemplate, pod_request: Request, capfd: pytest.CaptureFixture[str]
) -> None:
    chain = links((PluginSpec(name="mine"),), "stack", kind="Settings", key="prod")
    bound, _ = bind(chain, Registry((mine(chatty),)), roles=("decode",))
    pods = [
        replace(pod_request, deployment=replace(pod_request.deployment, name=f"web-{number}"))
        for number in range(40)
    ]
    outcomes = [run(generated, pod, bound, NO_CHECK) for pod in pods]
    (problem,) = chain_problems(said for outcome in outcomes for said in outcome.output)
    assert problem.what.startswith(f"plugin mine says: {SAID}")
    assert problem.what.endswith("(deployment ml/web-0, role decode on east/h100, and 39 more)")
    assert (problem.severity, problem.path) == ("warning", "spec.plugins[0]")
    assert capfd.readouterr() == ("", "")


def test_what_a_plugin_says_before_it_fails_is_told_too(generated: PodTemplate, pod_request: Request) -> None:
    chain = links((PluginSpec(name="mine"),), "stack", kind="Settings", key="prod")
    _, problems = ran(generated, pod_request, chain, Registry((mine(complaining),)))
    assert [problem.severity for problem in problems] == ["error", "warning"]
    assert problems[1].what.startswith(f"plugin mine says: {SAID}")


def test_a_logger_and_a_stream_kept_from_an_earlier_call_say_what_the_next_one_says(
    generated: PodTemplate, pod_request: Request
) -> None:
    kept: list[Any] = []

    def keeping(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
        kept.append(sys.stderr)
        kept[0].write("kept\n")
        return template

    chain = links((PluginSpec(name="mine"),), "stack", kind="Settings", key="prod")
    for _ in range(2):
        _, (problem,) = ran(generated, pod_request, chain, Registry((mine(keeping),)))
        assert problem.what.startswith("plugin mine says: kept (deployment")


class Size(contract.Config):
    size: int = 1


@pytest.mark.parametrize(
    ("edit", "said", "next_step"),
    [
        (clock, "is not deterministic: ", "Mend the plugin, or what its config tells it to do"),
        (
            writing,
            "writes to the field size of a config, which cannot be changed (at test_honesty.py:",
            "Mend the plugin",
        ),
        (verbose, "x" * 999 + "… (deployment", "Fix the plugin's config, or what it disagrees with"),
    ],
)
def test_what_a_plugin_does_wrong_on_many_pods_is_told_once_with_who_mends_it(
    generated: PodTemplate, pod_request: Request, edit: Any, said: str, next_step: str
) -> None:
    chain = links((PluginSpec(name="mine"),), "stack", kind="Settings", key="prod")
    bound, _ = bind(chain, Registry((mine(edit, config=Size),)), roles=("decode",))
    pods = [
        replace(pod_request, deployment=replace(pod_request.deployment, name=f"web-{number}"))
        for number in range(40)
    ]
    untouched = copy.deepcopy(pods)
    outcomes = [run(generated, pod, bound, NO_CHECK) for pod in pods]
    (problem,) = chain_problems(problem for outcome in outcomes for problem in outcome.link_problems)
    assert problem.what.startswith(f"plugin mine: {said}")
    assert problem.what.endswith("(deployment ml/web-0, role decode on east/h100, and 39 more)")
    assert (problem.next_step, problem.path, pods) == (next_step, "spec.plugins[0]", untouched)


def refusing(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
    raise Mistaken(
        Mistake("{field} is too large", "Write less", ("disk", "size")),
        Mistake("{field} is odd", "Mend it"),
    )


def test_a_mistake_that_is_raised_is_told_with_its_own_next_step(
    generated: PodTemplate, pod_request: Request
) -> None:
    chain = links((PluginSpec(name="mine"),), "stack", kind="Settings", key="prod")
    _, problems = ran(generated, pod_request, chain, Registry((mine(refusing),)))
    assert [(problem.what.partition(" (deployment")[0], problem.next_step) for problem in problems] == [
        ("plugin mine: disk.size: size is too large", "Write less"),
        ("plugin mine: it is odd", "Mend it"),
    ]


@pytest.mark.parametrize("error", [PluginError(), PluginError(" "), PluginError(None)])
def test_an_error_without_words_is_a_fault_of_the_plugin(
    generated: PodTemplate, pod_request: Request, error: PluginError
) -> None:
    def edit(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
        raise error

    (problem,) = told(generated, pod_request, edit)
    assert "raised a PluginError that does not say what is wrong (at test_honesty.py:" in problem


def test_an_interruption_says_which_plugin_it_interrupted(
    generated: PodTemplate, pod_request: Request
) -> None:
    def edit(template: PodTemplate, request: Request, config: Any) -> PodTemplate:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupted:
        told(generated, pod_request, edit)
    assert interrupted.value.__notes__ == [f"plugin mine ({__file__})"]


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
        sys.exit(1)


class Drawn(contract.Config):
    number: int = Field(default_factory=lambda: next(NUMBERS))


class Vague(contract.Config):
    disk: Any = None

    def mistakes(self) -> Any:
        yield "the disk"


class Silent(contract.Config):
    disk: Any = None

    def mistakes(self) -> Any:
        return None


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (Vague, "build plugin mine: AttributeError: 'str' object has no attribute 'what'"),
        (Silent, "build plugin mine: TypeError: 'NoneType' object is not iterable"),
        (Drawn, "build plugin mine: its config is another one each time it is read"),
        (Careless, "build plugin mine: KeyError: 'size' (at test_honesty.py:"),
        (Leaving, "build plugin mine: ended the program with sys.exit(1) (at test_honesty.py:"),
    ],
)
def test_a_validator_that_raises_anything_is_a_problem_of_the_config(
    generated: PodTemplate, pod_request: Request, config: Any, said: str
) -> None:
    (problem,) = told(generated, pod_request, once_only, config, {} if config is Drawn else {"disk": {}})
    assert problem.startswith(said)


class Talking(contract.Config):
    disk: Any = None

    @field_validator("disk")
    @classmethod
    def _says(cls, disk: Any) -> Any:
        print("hello")
        return disk


def test_what_a_validator_says_is_a_warning_at_the_config(
    generated: PodTemplate, pod_request: Request
) -> None:
    chain = links((PluginSpec(name="mine", config={"disk": {}}),), "stack", kind="Settings", key="prod")
    plugin = mine(lambda template, request, config: template, config=Talking)
    _, (problem,) = ran(generated, pod_request, chain, Registry((plugin,)))
    assert (problem.severity, problem.path, problem.what) == (
        "warning",
        "spec.plugins[0].config",
        "plugin mine says: hello",
    )


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
    assert outcome.effects[0].changes[0].after == {"name": "side", "image": "side:1"}
