"""Variables of LeaderWorkerSets in commands, scripts and other variables: which have no value."""

from typing import Any

import pytest
from inferfleet.fleet.engines.variables import variable_mistakes
from worker_pods import SIZES, TP_PP, said, worker

from inferfleet.api.problems import Mistake

KNOWN = "the variables of LeaderWorkerSets are LWS_LEADER_ADDRESS, LWS_GROUP_SIZE, LWS_WORKER_INDEX"
PLAIN = "stays as it is written: no shell reads it, and Kubernetes replaces $(NAME) alone"


def _mistakes(**container: Any) -> list[Mistake]:
    return list(variable_mistakes({"containers": [{"name": "engine", **container}]}))


def _script(text: str, **container: Any) -> list[tuple[str, str]]:
    mistakes = _mistakes(command=["bash", "-c"], args=[text], **container)
    assert {mistake.at for mistake in mistakes} <= {("spec", "containers", 0, "args", 0)}
    return [(mistake.what, mistake.next_step) for mistake in mistakes]


@pytest.mark.parametrize(
    ("argument", "what", "next_step"),
    [
        (
            "--master-addr=$(LWS_LEADER_ADRESS)",
            f"$(LWS_LEADER_ADRESS) has no value: {KNOWN}",
            "Did you mean $(LWS_LEADER_ADDRESS)?",
        ),
        (
            "$(lws_group_size)",
            f"$(lws_group_size) has no value: {KNOWN}",
            "Did you mean $(LWS_GROUP_SIZE)?",
        ),
        (
            "$LWS_WORKER_IDX",
            f"$LWS_WORKER_IDX has no value: {KNOWN}",
            "Did you mean $(LWS_WORKER_INDEX)?",
        ),
        (
            "$(LWS_X)",
            f"$(LWS_X) has no value: {KNOWN}",
            "Name one of them, or set the variable in env",
        ),
        ("--nnodes=$LWS_GROUP_SIZE", f"$LWS_GROUP_SIZE {PLAIN}", "Write $(LWS_GROUP_SIZE)"),
        ("${LWS_GROUP_SIZE}", f"${{LWS_GROUP_SIZE}} {PLAIN}", "Write $(LWS_GROUP_SIZE)"),
    ],
)
def test_an_argument_without_a_value_says_what_to_write(argument: str, what: str, next_step: str) -> None:
    assert _mistakes(args=["m", argument]) == [Mistake(what, next_step, ("spec", "containers", 0, "args", 1))]


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("serve --node-rank $LWS_WORKER_IDX", ("$LWS_WORKER_IDX", "$LWS_WORKER_INDEX")),
        ("serve --node-rank ${LWS_WORKER_IDX:-0}", ("${LWS_WORKER_IDX}", "${LWS_WORKER_INDEX}")),
        ("serve --nnodes $(LWS_GROUPSIZE)", ("$(LWS_GROUPSIZE)", "$(LWS_GROUP_SIZE)")),
        ("serve -dpr $((LWS_WORKER_IDX * 8))", ("LWS_WORKER_IDX", "LWS_WORKER_INDEX")),
    ],
)
def test_a_script_is_told_the_nearest_name(script: str, wanted: tuple[str, str]) -> None:
    written, right = wanted
    assert _script(script) == [(f"{written} has no value: {KNOWN}", f"Did you mean {right}?")]


@pytest.mark.parametrize(
    ("script", "container"),
    [
        (
            "serve -n $LWS_GROUP_SIZE -r ${LWS_WORKER_INDEX} --master-addr $(LWS_LEADER_ADDRESS)",
            {},
        ),
        ("serve -dpr $((LWS_WORKER_INDEX * 8))", {}),
        ("# not $LWS_RANK\nserve", {}),
        ("LWS_RANK=$LWS_WORKER_INDEX; serve --node-rank $LWS_RANK", {}),
        ("serve $LWS_EXTRA", {"env": [{"name": "LWS_EXTRA", "value": "-v"}]}),
        ("serve $LWS_EXTRA", {"envFrom": [{"configMapRef": {"name": "extra"}}]}),
        ("echo '$$(LWS_X)' \\$LWS_Y; serve", {}),
    ],
)
def test_nothing_is_said_of_variables_that_have_a_value(script: str, container: dict[str, Any]) -> None:
    assert _script(script, **container) == []


def test_variables_and_other_containers_are_read_too() -> None:
    spec = {
        "containers": [{"name": "engine", "env": [{"name": "HEAD", "value": "$(LWS_LEADER)"}]}],
        "initContainers": [{"name": "wait", "command": ["wait-for", "$LWS_LEADER_ADDRESS"]}],
    }
    assert list(variable_mistakes(spec)) == [
        Mistake(
            f"$(LWS_LEADER) has no value: {KNOWN}",
            "Did you mean $(LWS_LEADER_ADDRESS)?",
            ("spec", "containers", 0, "env", 0, "value"),
        ),
        Mistake(
            f"$LWS_LEADER_ADDRESS {PLAIN}",
            "Write $(LWS_LEADER_ADDRESS)",
            ("spec", "initContainers", 0, "command", 1),
        ),
    ]


def test_what_is_wrong_in_both_templates_is_told_once() -> None:
    line = (
        *SIZES,
        "--nnodes=$LWS_GROUP_SIZE",
        "--node-rank=$(LWS_WORKER_INDEX)",
        "--master-addr=$(LWS_LEADR)",
    )
    assert said(worker(line, (*line, "--headless"), **TP_PP))[0] == [
        f"$LWS_GROUP_SIZE {PLAIN}",
        f"$(LWS_LEADR) has no value: {KNOWN}",
    ]
