"""A container's script is read as a shell would run it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.engine.command.shell import programs
from sandbox.engine.failure import EngineFailure

ENV = {"LWS_WORKER_INDEX": "1", "LWS_GROUP_SIZE": "2", "LWS_LEADER_ADDRESS": "k-0.k.ml", "M": "Q"}
BY_INDEX = """
# the leader has the API
START_RANK=$(( ${LWS_WORKER_INDEX:-0} * 8 ))
if [ "$LWS_WORKER_INDEX" -eq 0 ]; then
  exec vllm serve lead --port 8000
else
  exec vllm serve $M --headless --start $START_RANK
fi
"""


@pytest.mark.parametrize(
    ("script", "ran"),
    [
        ("echo hi\nexec vllm $M \\\n -tp 2 | tee log",
         [["echo", "hi"], ["vllm", "Q", "-tp", "2"], ["tee", "log"]]),
        (BY_INDEX, [["vllm", "serve", "Q", "--headless", "--start", "8"]]),
        ("vllm $( [ $LWS_WORKER_INDEX -gt 0 ] && echo --headless ) # really", [["vllm", "--headless"]]),
        ("until getent hosts $LWS_LEADER_ADDRESS; do sleep 1; done; vllm", [["vllm"]]),
        ("[ $LWS_WORKER_INDEX = 0 ] && vllm lead || vllm follow", [["vllm", "follow"]]),
        ('A="x y"; export B=$A; vllm "$A" $B \'$M\' --j "{\\"a\\": 1}"',
         [["vllm", "x y", "x", "y", "$M", "--j", '{"a": 1}']]),
        ("if [ $M = Q ] && ! [ $LWS_GROUP_SIZE = 2 ]; then a; elif [ $M = Q ]; then "
         "if true; then b; fi; else c; fi", [["b"]]),
        ("vllm ${NOTHING:-some} $NOTHING $(( (1 + 5) / 4 )) > /dev/null 2>&1", [["vllm", "some", "1"]]),
        ("NAME=1 vllm $M", [["vllm", "Q"]]),
    ],
)  # fmt: skip
def test_what_a_script_runs(script: str, ran: list[list[str]]) -> None:
    assert [list(made.words) for made in programs(script, ENV)] == ran


# What bash 5.2.15 and dash 0.5.12 do: whether the program has the process of the shell.
BY_BASH = (
    "vllm serve Q",
    "vllm serve Q\n",
    " \nvllm serve Q \n",
    "vllm serve Q;\n",
    "vllm serve Q # a comment\n",
    "vllm serve Q \\\n",
    "vllm serve Q \\\n\n",
    "umask 22; vllm serve Q",
    "cd / && vllm serve Q\n",
    "cd / &&\nvllm serve Q\n",
    "cd / && true; vllm serve Q",
    "true & vllm --version; vllm serve Q",
    "true &\nvllm serve Q",
    "true; true\ntrue && vllm serve Q",
    "if [ $M = Q ]; then true & fi && vllm serve Q",
    "{ true; } && vllm serve Q",
    "{ { true; }; true; } || true && vllm serve Q",
)
BY_BOTH = ("cd /; exec vllm serve Q > /dev/null", "if [ $M = Q ]; then exec vllm serve Q; fi\n# no more\n")
BY_NEITHER = (
    "if [ $M = Q ]; then vllm serve Q; fi",
    "vllm serve Q 2>&1",
    "vllm serve Q; date",
    "exec vllm serve Q | cat",
    "vllm serve Q & wait",
    "trap 'true' EXIT; vllm serve Q",
    "true & vllm serve Q",
    "true & cd / && vllm serve Q",
    "true; cd / && vllm serve Q",
    "true; { true; } && vllm serve Q",
    "{ true; }; true && vllm serve Q",
    "(vllm serve Q)",
    "(exec vllm serve Q)",
    "true; cd / &&\nvllm serve Q",
    "vllm serve Q\n\n",
    "vllm serve Q;\n\n",
    "vllm serve Q\n ",
    "vllm serve Q\n# a comment",
)
IS_FIRST = (
    *((script, True, False) for script in BY_BASH),
    *((script, True, True) for script in BY_BOTH),
    *((script, False, False) for script in BY_NEITHER),
)


@pytest.mark.parametrize(("script", "by_bash", "by_dash"), IS_FIRST)
def test_shells_give_their_process_to_the_programs_of_which_that_is_said(
    tmp_path: Path, script: str, by_bash: bool, by_dash: bool
) -> None:
    program, said = tmp_path / "vllm", tmp_path / "said"
    program.write_text(f'#!/bin/sh\necho $$ > "{said}"\n')
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **ENV}
    for shell, first in (("bash", by_bash), ("dash", by_dash)):
        if not _is_here(shell):
            continue
        with subprocess.Popen(
            (shell, "-c", script), env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as ran:
            ran.communicate()
        assert (int(said.read_text()) == ran.pid, shell) == (first, shell)
        said.unlink()


def _is_here(shell: str) -> bool:
    """Return whether a shell is here, and of bash one that gives its place behind `;` too (5.1)."""
    tells = 'test "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -ge 51' if shell == "bash" else "true"
    found = shutil.which(shell)
    return found is not None and subprocess.run((found, "-c", tells), check=False).returncode == 0


@pytest.mark.parametrize(
    ("script", "by_bash", "by_dash"),
    [
        *((script, *("heard" if first else "unheard" for first in firsts)) for script, *firsts in IS_FIRST),
        ("trap 'kill $p' TERM; vllm serve Q & p=1; wait $p", "cut", "cut"),
        ("trap 'kill $p; wait $p' TERM; vllm serve Q & p=1; wait $p", "heard", "heard"),
    ],
)
def test_an_engine_hears_sigterm_where_it_is_the_first_process_or_a_trap_hands_it_on(
    script: str, by_bash: str, by_dash: str
) -> None:
    heard = [
        [made.signalled for made in programs(script, ENV, program=shell) if "serve" in made.words]
        for shell in ("bash", "dash")
    ]
    assert heard == [[by_bash], [by_dash]]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("vllm serve 'Q", "No closing '"),
        ('vllm "Q', "No closing quotation"),
        ("if true; then vllm", "if without fi"),
        ("fi", "fi without if"),
        ("vllm $((1 +))", "invalid syntax"),
        ("vllm $((1 / 0))", "division by 0"),
        ("vllm $((print(1)))", "arithmetic: print(1)"),
        ("vllm ${#M}", "does not know the expansion ${#M}"),
        ("vllm $(echo", "No closing parenthesis"),
    ],
)
def test_a_script_that_no_shell_runs_is_refused(script: str, says: str) -> None:
    with pytest.raises(EngineFailure) as refusal:
        programs(script, ENV)
    assert says in str(refusal.value)
