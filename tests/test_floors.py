"""The house keeps its floors: who imports whom, and who touches the outside, read from the code itself."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest
from floors import (
    BUILTINS,
    CLOUDS,
    ENVIRONMENT,
    ENVIRONMENT_MODULES,
    FLOORS,
    IMPORTS_FROM_A_TABLE,
    OFFERED,
    OUTSIDE,
    PURE,
    SANDBOX_VERB,
    STANDARD_LIBRARY,
    TOUCHES,
    TOUCHING_MODULES,
    TOUCHING_ROOMS,
)

ROOT = Path(__file__).parent.parent

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
OURS = {room.split(".")[0] for room in FLOOR}
OUTSIDE_EXAMPLES = (
    "asyncio ctypes ftplib http.client kubernetes multiprocessing os pulumi random requests select shutil "
    "signal smtplib socket ssl subprocess sys tempfile threading time typer urllib.request urllib3 uuid"
)


def sources() -> Iterator[Path]:
    yield Path("__main__.py")
    for folder in ("inferfleet", "components", "sandbox"):
        yield from sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))


def module_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(("inferfleet", *parts) if parts[0] == "components" else parts).removesuffix(".__init__")


@cache
def modules() -> frozenset[str]:
    return frozenset(module_of(path) for path in sources())


def room(module: str) -> str | None:
    """The longest room that holds `module`."""
    parts = module.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in FLOOR and (name != "inferfleet" or name == module)), None)


@cache
def imports(source: str) -> tuple[str, ...]:
    """Every module imported, once: by statement, by a call, or by its name in a text (`python -m`)."""
    return tuple(dict.fromkeys(_imports(source)))


def _imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            inner = [f"{module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else module for name in inner)
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            yield imported_by(node)
        elif isinstance(node, ast.Constant) and node.value in modules() and "." in str(node.value):
            yield str(node.value)


def called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def imported_by(call: ast.Call) -> str:
    """The module that `import_module` or `__import__` imports, "?" if that is worked out."""
    argument = next(iter([*call.args, *(word.value for word in call.keywords if word.arg == "name")]), None)
    return str(argument.value) if isinstance(argument, ast.Constant) else "?"


@cache
def uses(source: str) -> tuple[str, ...]:
    """Every listed name, once, that the source uses: as an attribute, a builtin, an import or an argument."""
    return tuple(dict.fromkeys(_uses(source)))


def _uses(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in TOUCHES | ENVIRONMENT:
            yield node.attr
        elif isinstance(node, ast.Name) and node.id in BUILTINS:
            yield node.id
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] not in OURS:
            yield from (alias.name for alias in node.names if alias.name in TOUCHES | ENVIRONMENT)
        elif isinstance(node, ast.keyword) and node.arg in ENVIRONMENT:
            yield node.arg


def within(name: str, other: str) -> bool:
    return f"{name}.".startswith(f"{other}.")


def apart(module: str, target: str) -> bool:
    """True if the two are in different rooms of one floor, however low the inner room of the target is."""
    return any(
        within(module, own) and within(target, other) and not within(own, other) and not within(other, own)
        for rooms in FLOORS
        for own, other in permutations(rooms, 2)
    )


def cloud_of(module: str) -> str | None:
    """The room of the cloud that a module is of."""
    return next((cloud for cloud in CLOUDS if within(module, cloud)), None)


def knows(module: str, cloud: str) -> bool:
    return within(module, cloud) or module in CLOUDS[cloud]


def permission(own: str, target: str) -> str | None:
    """The name in the lists by which the room `own` may import `target`, which is not ours."""
    names = [*PURE, *OUTSIDE.get(own, ()), *(STANDARD_LIBRARY if own == "sandbox" else ())]
    return next((name for name in names if within(target, name)), None)


def breaches(path: Path, source: str) -> list[str]:
    """Everything that the file at `path` (relative to the root) imports or uses and the floors forbid."""
    module = module_of(path)
    own = room(module)
    if own is None:
        return [f"{path} is in no room"]
    forbidden = []
    for target in imports(source):
        other = room(target)
        if target == "?":
            if module not in IMPORTS_FROM_A_TABLE:
                forbidden.append(f"{path} imports by a name that it works out: write the name there")
        elif target.startswith("."):
            forbidden.append(f"{path} imports {target}: write imports from the root")
        elif target.split(".")[0] not in OURS:
            if permission(own, target) is None:
                forbidden.append(f"{path} imports {target}: neither PURE nor OUTSIDE gives it to {own}")
        elif other == "sandbox" and own != "sandbox":
            if (module, target) != SANDBOX_VERB:
                forbidden.append(f"{path} imports {target}: only {SANDBOX_VERB[0]} may know the sandbox")
        elif (cloud := cloud_of(target)) and not (own == "sandbox" or knows(module, cloud)):
            forbidden.append(f"{path} imports {target}: only CLOUDS know what is inside of {cloud}")
        elif (
            other
            and other != own
            and (module, target) != OFFERED
            and (FLOOR[other] >= FLOOR[own] or apart(module, target))
        ):
            forbidden.append(f"{path} imports {target}: {other} is not below {own}")
    for name in uses(source):
        if name in ENVIRONMENT:
            if module not in ENVIRONMENT_MODULES and own != "sandbox":
                forbidden.append(f"{path} uses {name}: only the ENVIRONMENT_MODULES read the environment")
        elif own not in TOUCHING_ROOMS and name not in TOUCHING_MODULES.get(module, ()):
            forbidden.append(f"{path} uses {name}: this room decides and touches nothing outside")
    return forbidden


def test_every_room_exists() -> None:
    missing = [name for name in FLOOR if name not in modules()]
    assert missing == []


def test_every_file_imports_only_from_below() -> None:
    found = [line for path in sources() for line in breaches(path, (ROOT / path).read_text())]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("inferfleet/fleet/x.py", "import pulumi"),
        ("inferfleet/fleet/x.py", "def f():\n    from pulumi.runtime import mocks"),
        ("inferfleet/tables/x.py", "from inferfleet.documents import load"),
        ("inferfleet/plugins/x.py", "from inferfleet.serving import workload"),
        ("inferfleet/fleet/lock/x.py", "from inferfleet.fleet import planning"),
        ("inferfleet/cloud/gke/facts/x.py", "from inferfleet.cloud.gke.settings.pools import gpu_pool"),
        ("inferfleet/desired/x.py", "from inferfleet.components.registration import register"),
        ("inferfleet/desired/x.py", "import subprocess"),
        ("inferfleet/cli/verbs/plan.py", "import sandbox.verbs.sandbox"),
        ("inferfleet/cli/verbs/plan.py", 'import_module("sandbox.verbs.sandbox")'),
        ("inferfleet/run.py", 'import_module("inferfleet.cli.main")'),
        ("inferfleet/fleet/x.py", "from . import names"),
        ("components/x.py", "from inferfleet.cli.main import main"),
        ("inferfleet/nowhere.py", ""),
        ("inferfleet/fleet/x.py", "from inferfleet.plugins import chain"),
        ("inferfleet/serving/x.py", "from inferfleet.cloud.gke.facts.schema import tokens"),
        ("inferfleet/desired/x.py", "from inferfleet.cloud.gke.facts.schema import tokens"),
        ("inferfleet/clusters/preflight/x.py", "from inferfleet.cloud.gke import names"),
        ("components/x.py", "from inferfleet.cloud.gke.kubeconfig import kubeconfig"),
        ("inferfleet/run.py", "from components.registration import register"),
        ("inferfleet/plugins/x.py", "from inferfleet.cloud.gke.facts.schema import tokens"),
        ("inferfleet/fleet/x.py", 'import_module("pulumi")'),
        ("inferfleet/fleet/x.py", 'importlib.import_module("subprocess")'),
        ("inferfleet/fleet/x.py", 'importlib.import_module(name="subprocess")'),
        ("inferfleet/fleet/x.py", '__import__("socket")'),
        ("inferfleet/clusters/connections/x.py", 'import_module("socket")'),
        ("inferfleet/clusters/connections/x.py", "import_module(name)"),
        ("inferfleet/fleet/x.py", "import importlib"),
        ("inferfleet/fleet/x.py", "from urllib import request"),
        ("inferfleet/documents/documents.py", "import os"),
        ("inferfleet/clusters/status/x.py", "from threading import Thread"),
        *(("inferfleet/desired/x.py", f"import {name}") for name in OUTSIDE_EXAMPLES.split()),
        ("inferfleet/fleet/x.py", "open('/etc/passwd')"),
        ("inferfleet/fleet/x.py", "read = open"),
        ("inferfleet/fleet/x.py", "exec(text)"),
        *(("inferfleet/serving/x.py", f"path.{name}()") for name in sorted(TOUCHES)),
        ("inferfleet/cloud/gke/facts/machines.py", "path.read_text()"),
        ("inferfleet/cloud/gke/facts/schema.py", "path.write_text(text)"),
        ("inferfleet/documents/documents.py", "path.read_text()"),
        ("inferfleet/documents/loading/files.py", "from os import environ"),
        ("inferfleet/documents/loading/files.py", "os.environ['CI']"),
        ("inferfleet/documents/loading/files.py", "os.getenv('CI')"),
        ("inferfleet/fleet/x.py", "Path.home()"),
        ("inferfleet/recovery/work.py", "path.expanduser()"),
        ("inferfleet/recovery/work.py", "from os.path import expanduser"),
        ("inferfleet/recovery/work.py", "from os import *"),
        ("inferfleet/cli/verbs/plan.py", "typer.Option(envvar='CI')"),
        ("inferfleet/run.py", "import tests.sharing"),
        ("sandbox/x.py", "from tests.sharing import shared"),
        ("sandbox/x.py", "import bench.outputs"),
        ("inferfleet/cli/x.py", 'import_module("bench.outputs")'),
        ("components/x.py", "import subprocess"),
        ("components/x.py", "from components import cloud"),
        ("sandbox/x.py", "import components"),
    ],
)
def test_a_forbidden_import_is_found(path: str, source: str) -> None:
    assert len(breaches(Path(path), source)) == 1


def test_components_are_imported_by_one_name_so_that_no_class_of_them_exists_twice() -> None:
    others = [*sources(), *(path for room in ("tests", "bench") for path in (ROOT / room).rglob("*.py"))]
    twice = [
        str(path)
        for path in others
        if any(within(target, "components") for target in imports((ROOT / path).read_text()))
    ]
    assert twice == []


def test_the_environment_is_read_only_at_the_ways_in() -> None:
    readers = {
        module_of(path)
        for path in sources()
        if path.parts[0] != "sandbox" and ENVIRONMENT & {*uses((ROOT / path).read_text())}
    }
    assert readers == ENVIRONMENT_MODULES


def test_few_know_what_is_inside_of_a_cloud() -> None:
    knowing = {
        cloud: {
            module_of(path)
            for path in sources()
            if path.parts[0] != "sandbox" and not within(module_of(path), cloud)
            if any(within(target, cloud) for target in imports((ROOT / path).read_text()))
        }
        for cloud in CLOUDS
    }
    assert knowing == CLOUDS


def test_every_exemption_is_used() -> None:
    pure: set[str] = set()
    used: dict[str, set[str]] = {}
    touching: dict[str, set[str]] = {}
    for path in sources():
        source, module = (ROOT / path).read_text(), module_of(path)
        own = room(module) or ""
        for target in imports(source):
            name = permission(own, target)
            if name in PURE:
                pure.add(name)
            elif name in OUTSIDE.get(own, ()):
                used.setdefault(own, set()).add(name)
        if touched := {*uses(source)} - ENVIRONMENT:
            touching.setdefault(module if module in TOUCHING_MODULES else own, set()).update(touched)
    assert (pure, used) == (PURE, OUTSIDE)
    assert {name: touching.get(name) for name in TOUCHING_MODULES} == TOUCHING_MODULES
    assert touching.keys() == TOUCHING_ROOMS | TOUCHING_MODULES.keys()


def test_components_register_and_look_nothing_up() -> None:
    """Configuration is for Fleet alone, an invoke for what stands; nothing is made in `apply`."""
    forbidden = re.compile(r"pulumi\.(Config|StackReference|runtime)|\.invoke|\.get\(\s*\"[^\"]*\",\s*opts")
    found = [
        str(path)
        for path in sources()
        if path.parts[0] == "components" and path.stem not in ("fleet", "standing")
    ]
    assert [path for path in found if forbidden.search((ROOT / path).read_text())] == []


def test_every_room_says_what_belongs_there() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for folder in ("inferfleet", "components", "sandbox")
        for path in (ROOT / folder).rglob("__init__.py")
        if len((ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()) < 2
    ]
    assert silent == []


# What does something, and returns what went wrong with it.
ACTIONS = ("carry_out",)
_FOUND = "(?:Problem|Mistake|LinkProblem|RecipeProblem)"
_FOUND_MANY = re.compile(rf"(?:Iterator|Iterable|list|Sequence)\[{_FOUND}\]|tuple\[{_FOUND}, \.\.\.\]")


def finders(source: str) -> Iterator[str]:
    """The functions that return problems or mistakes, but for those that are handed some and pass them on."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            handed = [argument.annotation for argument in (*node.args.args, *node.args.kwonlyargs)]
            passes_on = any(annotation and _many(annotation) for annotation in handed)
            if _many(node.returns) and not passes_on:
                yield node.name


def _many(annotation: ast.expr) -> bool:
    return _FOUND_MANY.fullmatch(ast.unparse(annotation)) is not None


def validators(source: str) -> Iterator[str]:
    """The functions by which pydantic checks a value once it has its type."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            decorators = {ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list}
            if decorators & {"model_validator", "field_validator"}:
                yield node.name
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "AfterValidator":
            yield ast.unparse(node.args[0]).rpartition(".")[2]


def test_functions_that_find_problems_or_mistakes_end_with_that_word() -> None:
    texts = {path: (ROOT / path).read_text() for path in sources()}
    wrong = [
        f"{path}: {name}"
        for path, text in texts.items()
        if path.parts[0] != "sandbox"
        for name in finders(text)
        if name not in ACTIONS and not re.fullmatch("(.*_)?(problems|mistakes)", name)
    ]
    assert wrong == []


def test_validators_of_models_begin_with_check() -> None:
    wrong = [
        f"{path}: {name}"
        for path in sources()
        if path.parts[0] != "sandbox"
        for name in validators((ROOT / path).read_text())
        if not re.match("_?check(_|$)", name)
    ]
    assert wrong == []
