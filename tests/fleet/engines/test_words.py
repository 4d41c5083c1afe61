"""How a command line is read: its scripts, and the variables that its container has for it."""

from typing import Any

import pytest
from inferfleet.fleet.engines.flags import flags_of
from inferfleet.fleet.engines.words import command_of

from inferfleet.api.problems import Mistake
from inferfleet.profiles.engines import engine


def _tensor(env: dict[str, Any], *, args: list[str] | None = None, script: str = "") -> str | None:
    """The value of --tensor-parallel-size, as far as it is known."""
    variables = [
        {"name": name, **({"value": value} if isinstance(value, str) else {"valueFrom": value})}
        for name, value in env.items()
    ]
    line = {"command": ["sh", "-c", script]} if script else {"args": args}
    spec = {"containers": [{"name": "side"}, {"name": "engine", "env": variables, **line}]}
    flag = flags_of(command_of(spec), engine("vLLM")).last("tensor")
    return flag.value if flag else None


@pytest.mark.parametrize(
    ("env", "argument", "value"),
    [
        ({"TP": "8"}, "-tp=$(TP)", "8"),
        ({"A": "8", "TP": "$(A)"}, "-tp=$(TP)", "8"),
        ({"TP": "$(A)", "A": "8"}, "-tp=$(TP)", "$(A)"),
        ({"TP": "8"}, "-tp=$$(TP)", "$$(TP)"),
        ({"TP": "8"}, "-tp=$TP", "$TP"),
        ({"TP": {"fieldRef": {"fieldPath": "status.podIP"}}}, "-tp=$(TP)", "$(TP)"),
        ({}, "-tp=$(LWS_GROUP_SIZE)", "$(LWS_GROUP_SIZE)"),
        ({"LWS_GROUP_SIZE": "3"}, "-tp=$(LWS_GROUP_SIZE)", "3"),
    ],
)
def test_kubernetes_replaces_variables_in_arguments(env: dict[str, Any], argument: str, value: str) -> None:
    assert _tensor(env, args=[argument]) == value


@pytest.mark.parametrize(
    ("env", "script", "value"),
    [
        ({"TP": "8"}, "vllm serve m -tp $TP", "8"),
        ({"TP": "8"}, "vllm serve m -tp=${TP}", "8"),
        ({"TP": "8"}, 'vllm serve m -tp "$(TP)"', "8"),
        ({"TP": "8"}, "TP=4; vllm serve m -tp $TP", "$TP"),
        ({"TP": "8"}, "vllm serve m -tp ${TP:-4}", "${TP:-4}"),
        ({}, "vllm serve m -tp $LWS_GROUP_SIZE", "$(LWS_GROUP_SIZE)"),
        ({}, "vllm serve m \\\n  -tp 8 # of them", "8"),
        ({"N": "4"}, "vllm serve m -tp $(( N * 2 ))", "$((4*2))"),
        ({}, "vllm serve m -tp $((LWS_GROUP_SIZE * 2))", "$(($(LWS_GROUP_SIZE)*2))"),
        ({}, "vllm serve m -tp 8 # don't", "8"),
        ({}, "vllm serve 'm", None),
    ],
)
def test_a_shell_replaces_variables_in_its_script(
    env: dict[str, Any], script: str, value: str | None
) -> None:
    assert _tensor(env, script=script) == value


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("vllm serve 'm", 1),
        ('set -e\nvllm serve "m\n  -tp 8\n', 2),
        ("# don't\nvllm serve m # it's\necho 'a' \"b\" \\' 'c", 3),
        ("# don't\nvllm serve m -tp 8 # it's", None),
        ("""echo "it's" 'say "hi"' \\" $'it\\'s'""", None),
        ("""vllm serve "$(cat "it's")\"""", None),
        ("cat <<END\nit's\nEND", None),
    ],
)
def test_a_quote_that_is_never_closed_is_told_with_its_line(script: str, line: int | None) -> None:
    unclosed = command_of({"containers": [{"name": "engine", "command": ["sh", "-c", script]}]}).unclosed
    what = f"the script has a quote in its line {line} that is never closed, and no shell runs it"
    at = ("spec", "containers", 0, "command", 2)
    assert unclosed == (Mistake(what, "Close the quote", at) if line else None)


def test_a_flag_without_a_value_takes_no_flag_for_it() -> None:
    assert _tensor({}, args=["-tp", "--port", "8000"]) is None
    assert _tensor({}, args=["-tp"]) is None


@pytest.mark.parametrize(
    ("container", "nodes"),
    [
        ({"args": ["--model=m", "-n", "2"]}, "2"),
        ({"command": ["vllm", "serve"], "args": ["m", "-n=2"]}, "2"),
        ({"command": ["nice", "-n", "2", "vllm", "serve", "m"]}, None),
        ({"command": ["python3", "start.py"], "args": ["-n", "2"]}, None),
        ({"command": ["sh", "-c", '[ -n "$A" ] && vllm serve m']}, None),
        ({"command": ["sh", "-c", "exec vllm serve m -n 2"]}, "2"),
        ({"command": ["sh", "-c", "vllm serve m &\n[ -n 3 ]"]}, None),
        ({"command": ["sh", "-c", "vllm serve m\n[ -n 3 ]"]}, None),
        ({"command": ["sh", "-c", 'set -- -n 2; vllm serve m "$@"']}, None),
    ],
)
def test_a_flag_of_one_letter_may_be_that_of_another_program(
    container: dict[str, Any], nodes: str | None
) -> None:
    spec = {"containers": [{"name": "engine", **container}]}
    flag = flags_of(command_of(spec), engine("vLLM")).last("nodes")
    assert (flag.value if flag else None) == nodes


@pytest.mark.parametrize(
    ("script", "port"),
    [
        ("ray start --head --port=6379; exec vllm serve m", None),
        ("ray start --head --port=6379\nexec vllm serve m --port 8000", "8000"),
        ("python3 -m http.server --port 9999 & exec vllm serve m", None),
        ("vllm serve m --port 8000 & proxy --port 9999; wait", "8000"),
        ("vllm serve m --port 8000 > /log 2>&1 || stop --port 1", "8000"),
        ("vllm serve m \\\n  --port 8000\nstop --port 1", "8000"),
        ("exec vllm serve m --port 8000 \\\n", "8000"),
        ("vllm serve m --port; 8000", None),
        ("a --port 1 | python3 -m vllm.entrypoints.openai.api_server --port 8000 | tee", "8000"),
        ("a --port 1; /opt/bin/trtllm-serve m --port 8000", "8000"),
        ('set -- --port 8000; exec vllm serve m "$@"', "8000"),
        ("vllm serve m $( [ $I -gt 0 ] && echo --headless ) --port 8000", "8000"),
        ("vllm serve m `[ $I -gt 0 ] && echo --headless` --port 8000", "8000"),
        ("./start.sh --port 8000", "8000"),
        ("(exec vllm serve m --port=8000)", "8000"),
        ("(vllm serve m --port 8000); stop --port 1", "8000"),
        ("true && (cd /m; (vllm serve m --port 8000))", "8000"),
        ("run() { (vllm serve m --port 8000); }; run", "8000"),
        ("run() (vllm serve m --port 8000); run", "8000"),
        ("case $I in 0) (vllm serve m --port 8000);; (1) a --port 1;; esac", "8000"),
        ("(case $I in 0) vllm serve m --port 8000;; esac)", "8000"),
        ("[[ $A =~ (a|b) ]] && a=(1 2) && (vllm serve m --port=8000) # (as it is)", "8000"),
        ("if (a --port 1); then\n(vllm serve m --port=8000)\nfi", "8000"),
        ('a=(vllm serve m --port 8000)\nexec "${a[@]}"', "8000"),
        ("exec vllm serve m $(echo --port 8000)", "8000"),
        ("exec vllm serve m --port=$(cat /port) --host=::", "$(cat"),
        ("vllm serve m --port $((8000 + (I)))", "$((8000+(I)))"),
        ("vllm serve '(m)' --port 8000", "8000"),
        ("vllm serve \\(m --port 8000", "8000"),
    ],
)
def test_flags_of_a_script_are_those_of_the_command_that_starts_its_engine(
    script: str, port: str | None
) -> None:
    spec = {"containers": [{"name": "engine", "command": ["bash", "-c", script]}]}
    flag = flags_of(command_of(spec), engine("vLLM")).last("port")
    assert (flag.value if flag else None) == port
