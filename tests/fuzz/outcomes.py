"""Run one input by the command's own entry, in this process, and say what of its outcome must not be."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from cases import OUTSIDE, SECRET, Case, write

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.main import app
from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.kubeconfig import read_kubeconfigs
from inferfleet.desired import desired
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.lock.lock import Lock

# Seconds after which an input counts as one that never ends.
LIMIT = 300.0
LONGEST_LINE = 2_500
# Words of the libraries that we use, which mean nothing to whoever writes documents.
LIBRARY_WORDS = re.compile(
    r"pydantic|ValidationError|Input should be|input_value|input_type|type=[a-z_]+,|Traceback|"
    r"celpy|cel-expr|CELEvalError|CELParseError|\blark\b|UnexpectedToken|google\.protobuf|absl|"
    r"libyaml|yaml\.|while parsing|while scanning|did not find expected|could not find expected|"
    r"mapping values are not|cannot start any token|<block end>|found undefined|"
    r"kubernetes\.client|HTTPSConnectionPool|Max retries|urllib3|"
    r"<class '|object at 0x|\[Errno|codec can't|NoneType|unhashable|maximum recursion|has no attribute|"
    r"Expecting value|Incorrect padding|ConfigException"
)
_COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)


class Hang(BaseException):
    """Raised by the alarm; no handler of the product catches it."""


@dataclass
class Outcome:
    """What a case did. `faults` is empty when all is as it should be."""

    code: int | None = None
    seconds: float = 0.0
    out: str = ""
    err: str = ""
    faults: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return how the command ended, in a word."""
        names = {code.value: code.name.lower() for code in ExitCode}
        return "fault" if self.faults else names.get(self.code or 0, "?")


def outcome_of(case: Case, *, steady: bool = True) -> Outcome:
    """Return the outcome of a case, which has the files of its project to itself.

    With `steady`, what is accepted is also planned and rendered twice.
    """
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    before = Path.cwd()
    begun = time.perf_counter()
    try:
        root = folder / "project"
        write(case, root)
        os.chdir(root)
        outcome = _ran(case.command)
        outcome.faults += _faults(case, outcome)
        if case.kind == "kubeconfig":
            outcome.faults += _kubeconfig_faults(root)
        elif steady and outcome.code == ExitCode.FINE and not outcome.faults:
            outcome.faults += _unsteady()
    finally:
        os.chdir(before)
        shutil.rmtree(folder)
    outcome.seconds = time.perf_counter() - begun
    return outcome


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    def hang(*_: Any) -> None:
        raise Hang

    old = signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def _ran(command: tuple[str, ...]) -> Outcome:
    outcome, out, err = Outcome(), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with _alarm():
                app(args=list(command), prog_name="inferfleet")
        except SystemExit as ended:
            outcome.code = ended.code if isinstance(ended.code, int) else 0
        except Hang:
            outcome.faults.append(f"takes longer than {LIMIT} s")
        except Exception:  # noqa: BLE001 (whatever it is, it is what is looked for)
            outcome.faults.append(f"raises {traceback.format_exc()}")
    outcome.out, outcome.err = out.getvalue(), err.getvalue()
    return outcome


def _faults(case: Case, outcome: Outcome) -> Iterator[str]:
    whole = outcome.out + outcome.err
    yield from text_faults(whole)
    if outcome.code is not None and outcome.code not in iter(ExitCode):
        yield f"exit code {outcome.code} is not documented"
    if "--json" in case.command and not outcome.faults:
        try:
            json.loads(outcome.out)
        except ValueError:
            yield f"--json printed no JSON: {outcome.out[:200]!r}"
        if outcome.err:
            yield f"--json printed to standard error: {outcome.err[:200]!r}"
    if outcome.code == ExitCode.PROBLEMS and "--json" not in case.command and not outcome.err.strip():
        yield "fails without a word"
    longest = max(outcome.err.splitlines(), key=len, default="")
    if len(longest) > LONGEST_LINE:
        yield f"prints a message of {len(longest)} characters: {longest[:200]}"
    if OUTSIDE in whole:
        yield "quotes a file outside of the project"
    if SECRET in whole and _is_secret(case):
        yield "quotes a secret"


def text_faults(text: str) -> Iterator[str]:
    """Yield what no output may have."""
    hostile = {char for char in text if not (char == "\n" or char.isprintable())}
    if hostile:
        yield f"prints {sorted(map(ascii, hostile))}"
    if command := _COMMAND.search(text):
        yield f"prints a command to a CI system: {text[command.start() : command.start() + 80]!r}"
    if word := LIBRARY_WORDS.search(text):
        yield f"prints words of a library: {text[max(0, word.start() - 80) : word.end() + 80]!r}"


def _is_secret(case: Case) -> bool:
    """Return True unless the mutation moved the canary to a place whose values may be quoted."""
    text = case.files.get("stacks/Pulumi.prod.yaml")
    if text is None:
        return True
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        return True
    config = data.get("config") if isinstance(data, dict) else None
    if not isinstance(config, dict):
        return False
    others = {key: value for key, value in config.items() if key != "inferfleet:secrets"}
    # As keys and names of secrets they are quoted.
    return SECRET not in repr([others, {**data, "config": 0}, _names(config.get("inferfleet:secrets"))])


def _names(secrets: Any) -> list[Any]:
    """Return all keys inside of the value."""
    if isinstance(secrets, list):
        return [name for value in secrets for name in _names(value)]
    if isinstance(secrets, dict):
        return [*secrets, *(name for value in secrets.values() for name in _names(value))]
    return []


def _unsteady() -> Iterator[str]:
    """Yield what differs between two runs of `plan` and `render` with the same files."""
    for command in (("plan", "--json"), ("render", "--format", "json"), ("render",)):
        first, second = _ran(command), _ran(command)
        yield from first.faults + second.faults
        if (first.out, first.code) != (second.out, second.code):
            yield f"{' '.join(command)} differs from one run to the next"
    yield from text_faults(first.out)
    try:
        list(yaml.load_all(first.out, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError as wrong:
        yield f"render prints what is no YAML: {wrong}"


def _kubeconfig_faults(root: Path) -> Iterator[str]:
    """Yield what is wrong with what is said about the kubeconfigs of the stack."""
    try:
        with _alarm():
            documents, _ = load_stack(root, "prod")
            connections = [cluster.connection for cluster in desired(documents, Lock("prod")).clusters]
            problems = read_kubeconfigs(connections, {}, Repository(root, trusted=True)).problems
    except InvalidDocuments as invalid:
        problems = dict(enumerate(map(str, invalid.problems)))
    except Hang:
        yield "reading a kubeconfig hangs"
        return
    except Exception:  # noqa: BLE001 (whatever it is, it is what is looked for)
        yield f"a kubeconfig raises {traceback.format_exc()}"
        return
    text = "\n".join(map(str, problems.values()))
    yield from text_faults(text)
    if SECRET in text and _is_token((root / "stacks/prod/east.kubeconfig").read_bytes()):
        yield "quotes a token"


def _is_token(kubeconfig: bytes) -> bool:
    """Return True unless the mutation moved the canary out of the users, where names may be quoted."""
    try:
        data = yaml.safe_load(kubeconfig)
    except (yaml.YAMLError, UnicodeDecodeError):
        return True
    users = data.pop("users", None) if isinstance(data, dict) else None
    named = [user.pop("user", None) and user for user in users or [] if isinstance(user, dict)]
    return SECRET not in repr([data, named])
