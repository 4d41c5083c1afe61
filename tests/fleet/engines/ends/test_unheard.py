"""An engine behind a shell hears that its pod ends where the shell has made room for it."""

from typing import Any

import pytest
from inferfleet.fleet.engines.ends.unheard import unheard_mistake

from inferfleet.api.problems import Mistake
from inferfleet.profiles.engines import engine

NEVER = "vLLM never hears that its pod ends, and after 130 s it is killed with all it has in hand"
EXEC = "Write exec vllm serve ..., as the last command of the script"
AT = ("spec", "containers", 0, "command", 2)


def _found(*command: str, kind: str = "vLLM", **spec: Any) -> Mistake | None:
    container = {"name": "engine", "command": list(command), **spec.pop("engine", {})}
    spec = {"containers": [container], **spec}
    return unheard_mistake(spec, engine(kind), engine=kind, grace=130)


@pytest.mark.parametrize(
    "script",
    [
        "vllm serve m",
        "ulimit -n 9; vllm serve m",
        "cd /m && vllm serve m --port=80\n",
        "set -e\n# the model\nvllm serve m $(echo --headless)\n",
        "if [ $I = 0 ]; then X=1; fi; vllm serve m",
    ],
)
def test_bash_gives_its_place_to_the_last_command_and_dash_to_none(script: str) -> None:
    assert _found("bash", "-c", script) is None
    for shell, named in (
        ("/bin/dash", "dash stays"),
        ("sh", "where sh is dash (Debian, Ubuntu), it stays"),
    ):
        what = f"{named} before vllm serve, which has no exec, and hands SIGTERM on to nobody: {NEVER}"
        assert _found(shell, "-c", script) == Mistake(what, EXEC, AT)


@pytest.mark.parametrize(
    "script",
    [
        "exec vllm serve m",
        "ulimit -n 9; A=1 exec vllm serve m 2>&1",
        "eval exec vllm serve m; date",
        "(setup); exec tini -- vllm serve m",
        "exec vllm serve m $( [ $I -gt 0 ] && echo --headless )",
        "if [ $I = 0 ]; then exec vllm serve m; else exec vllm serve m --headless; fi",
        "case $I in 0) exec vllm serve m;; *) exec vllm serve m --headless;; esac",
        "run() { exec vllm serve m; }; run",
        "sidecar & exec vllm serve m",
        "exec vllm serve m > >(tee log)",
        "trap 'kill -TERM $p; wait $p' TERM; vllm serve m & p=$!; wait $p",
        "trap 'kill $p' TERM; vllm serve m & p=$!; while kill -0 $p; do wait $p; done",
        "vllm serve m & exec supervise",
        "vllm serve m &\nexec > >(tee /log) 2>&1\nexec -a ours supervise 2>&1",
        "echo vllm serve m; exec ours",
        "exec ours serve m",
        "cat > /run.sh <<EOF\nvllm serve m | tee log\nEOF\nexec bash /run.sh",
        "if [ $I = 0 ]; then exec vllm serve m; else vllm serve m --headless; fi",
        'A=(vllm serve m --port=8000)\nexec "${A[@]}"',
        "case $X in small|medium) exec vllm serve m ;; esac",
        "case $X in (a) exec vllm serve m ;; esac",
        "if vllm serve --help=all | grep -q foo; then X=--foo; fi\nexec vllm serve m $X",
        'log "starting" vllm serve\nexec vllm serve m',
        "(echo starting vllm serve m)\nexec vllm serve m",
    ],
)
def test_nothing_is_said_of_an_engine_that_hears_sigterm_or_may(script: str) -> None:
    assert [_found(shell, "-c", script) for shell in ("bash", "sh")] == [None, None]


@pytest.mark.parametrize(
    "script",
    [
        "vllm serve m 2>&1",
        "vllm serve m; date",
        "vllm serve m || sleep infinity",
        "if [ $I = 0 ]; then vllm serve m; fi",
        "{ vllm serve m; }",
        "run() { vllm serve m; }; run",
        "! vllm serve m",
        "time vllm serve m",
        "eval vllm serve m",
        "trap 'rm -f x' EXIT; vllm serve m",
        "sidecar & vllm serve m",
        "true; cd /m && vllm serve m",
        "true; cd /m &&\nvllm serve m",
        "vllm serve m\n# the end",
        "vllm serve m\n\n",
        "vllm serve m\n  ",
    ],
)
def test_bash_stays_where_it_has_more_to_do(script: str) -> None:
    for shell in ("bash", "sh"):
        what = f"{shell} stays before vllm serve, which has no exec, and hands SIGTERM on to nobody: {NEVER}"
        assert _found(shell, "-c", script) == Mistake(what, EXEC, AT)


@pytest.mark.parametrize(
    "script",
    [
        "exec 3>&1\nvllm serve m &\nwait",
        "vllm serve m &\nexec 3>&1 {fd}< x\nwait",
        "vllm serve m & exec > >(tee /log) 2>&1; wait",
        "vllm serve m & exec supervise | tee log",
        "vllm serve m & ( exec supervise )",
    ],
)
def test_an_exec_that_starts_no_other_program_in_place_of_the_shell_changes_nothing(script: str) -> None:
    assert _found("bash", "-c", script) == Mistake(
        f"vllm serve runs in the background, and bash hands SIGTERM on to nobody: {NEVER}",
        f"{EXEC}, with what else runs in the background before it",
        AT,
    )


@pytest.mark.parametrize(
    ("script", "what", "step"),
    [
        (
            "exec vllm serve m | tee log",
            f"vllm serve is part of a pipe, so bash stays before it and hands SIGTERM on to nobody: {NEVER}",
            f"{EXEC}, without the pipe: what it prints is in the log of the pod",
        ),
        (
            "vllm serve m & wait",
            f"vllm serve runs in the background, and bash hands SIGTERM on to nobody: {NEVER}",
            f"{EXEC}, with what else runs in the background before it",
        ),
        (
            "cd /m; ( vllm serve m )",
            f"vllm serve runs in a subshell, and bash hands SIGTERM on to nobody: {NEVER}",
            f"{EXEC}, without ( )",
        ),
        (
            "(exec vllm serve m --port=8000)",
            f"vllm serve runs in a subshell, and bash hands SIGTERM on to nobody: {NEVER}",
            f"{EXEC}, without ( )",
        ),
        (
            "case $I in 0) exec vllm serve m;; *) (vllm serve m) ;; esac",
            f"vllm serve runs in a subshell, and bash hands SIGTERM on to nobody: {NEVER}",
            f"{EXEC}, without ( )",
        ),
        (
            "run() (exec vllm serve m); run",
            f"vllm serve runs in a subshell, and bash hands SIGTERM on to nobody: {NEVER}",
            f"{EXEC}, without ( )",
        ),
        (
            "coproc vllm serve m; wait",
            f"vllm serve runs in the background, and bash hands SIGTERM on to nobody: {NEVER}",
            f"{EXEC}, with what else runs in the background before it",
        ),
        (
            "eval exec vllm serve m | tee log",
            f"vllm serve is part of a pipe, so bash stays before it and hands SIGTERM on to nobody: {NEVER}",
            f"{EXEC}, without the pipe: what it prints is in the log of the pod",
        ),
        (
            "trap 'kill $(pidof vllm)' TERM; vllm serve m",
            f"bash runs its trap only once vllm serve has ended: {NEVER}",
            EXEC,
        ),
        (
            "trap 'kill $p' TERM; vllm serve m & p=$!; wait $p",
            "SIGTERM ends the wait of bash at once, and behind its trap the script and the container end: "
            "vLLM is killed with all it has in hand",
            "Let the trap wait for the engine too, such as trap 'kill -TERM $pid; wait $pid' TERM, or start "
            "it by exec, as the last command of the script",
        ),
    ],
)
def test_what_keeps_the_shell_is_named_with_what_to_write(script: str, what: str, step: str) -> None:
    assert _found("bash", "-c", script) == Mistake(what, step, AT)


@pytest.mark.parametrize(
    ("kind", "script", "begins", "program"),
    [
        ("vLLM", "tini -- vllm serve m", "tini ... vllm serve", "vllm serve"),
        ("vLLM", "numactl --cpunodebind=0 vllm serve m", "numactl ... vllm serve", "vllm serve"),
        ("TensorRT-LLM", "mpirun -n 8 trtllm-serve m", "mpirun ... trtllm-serve", "trtllm-serve"),
        (
            "TensorRT-LLM",
            "mpirun -n 8 --allow-run-as-root trtllm-serve m",
            "mpirun ... trtllm-serve",
            "trtllm-serve",
        ),
    ],
)
def test_a_shell_stays_before_the_program_that_starts_an_engine_too(
    kind: str, script: str, begins: str, program: str
) -> None:
    what = f"dash stays before {program}, which has no exec, and hands SIGTERM on to nobody: "
    never = NEVER.replace("vLLM", kind)
    step = f"Write exec {begins} ..., as the last command of the script"
    assert _found("dash", "-c", script, kind=kind) == Mistake(what + never, step, AT)
    assert [_found("dash", "-c", f"exec {script}", kind=kind), _found("bash", "-c", script, kind=kind)] == [
        None,
        None,
    ]


def test_a_shell_that_is_not_the_first_process_of_its_namespace_ends_before_its_engine() -> None:
    found = _found("sh", "-ec", "python3 -m sglang.launch_server", kind="SGLang", shareProcessNamespace=True)
    assert found == Mistake(
        "where sh is dash (Debian, Ubuntu), it stays before sglang.launch_server, which has no exec, and "
        "hands SIGTERM on to nobody: SIGTERM ends sh alone, and with it the container and all that SGLang "
        "has in hand",
        "Write exec python3 ... sglang.launch_server ..., as the last command of the script",
        AT,
    )


def test_nothing_is_said_where_another_program_may_pass_signals_on() -> None:
    kills = {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "pkill -TERM vllm; sleep 60"]}}}}
    in_args = {"command": [], "args": ["sh", "-c", "vllm serve m"]}
    assert [
        _found("tini", "-g", "--", "sh", "-c", "vllm serve m"),
        _found("bash", "run.sh"),
        _found("zsh", "-c", "vllm serve m 2>&1"),
        _found("sh", "-c", "vllm serve m", engine=kills),
        _found(engine=in_args),
        _found("vllm", "serve", "m"),
        _found("sh", "-c", "serve 'm"),
        _found("sh", "-c", "ours", kind="Other"),
    ] == [None] * 8
