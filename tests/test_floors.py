"""The house keeps its floors: who imports whom, and who touches the outside, read from the code itself."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# From the ground up. A room imports from the floors below and from itself; rooms of one floor do not know
# each other. A room is a package with all its sub-packages, or a single module; the longest name counts.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("inferfleet", "inferfleet.profiles", "inferfleet.starting"),
    ("inferfleet.api.wording",),
    ("inferfleet.api.problems",),
    ("inferfleet.api.yaml", "inferfleet.api.kinds"),
    ("inferfleet.api.documents",),
    ("inferfleet.api.loading",),
    ("inferfleet.api",),
    ("inferfleet.fleet.shapes", "inferfleet.fleet.spot"),
    ("inferfleet.fleet.selectors", "inferfleet.fleet.lock", "inferfleet.fleet.names"),
    ("inferfleet.fleet.decisions",),
    ("inferfleet.fleet.placement",),
    ("inferfleet.fleet",),
    ("inferfleet.gke.facts", "inferfleet.plugins"),
    ("inferfleet.gke.fabrics",),
    ("inferfleet.gke.pool",),
    ("inferfleet.gke.values",),
    ("inferfleet.gke.recipes", "inferfleet.gke.settings"),
    ("inferfleet.gke.changes",),
    ("inferfleet.gke", "inferfleet.gke.quota"),
    ("inferfleet.manifests.metadata", "inferfleet.manifests.pod"),
    ("inferfleet.manifests.picker",),
    ("inferfleet.manifests",),
    ("inferfleet.desired",),
    ("inferfleet.reach", "components"),
    ("inferfleet.preflight",),
    ("inferfleet.status", "inferfleet.recovery"),
    ("inferfleet.run", "inferfleet.cli.exit_codes", "inferfleet.cli.output"),
    ("inferfleet.cli.show", "inferfleet.cli.report", "inferfleet.cli.source"),
    ("inferfleet.cli.verbs",),
    ("inferfleet.cli", "sandbox"),
    ("__main__",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
PULUMI_ROOMS = {"components", "sandbox", "__main__"}
# The one module that knows the sandbox, and the one module of it that is known.
SANDBOX_VERB = ("inferfleet.cli.main", "sandbox.verbs.sandbox")
# Rooms that talk to processes, sockets or the file system. `documents` only joins paths.
OUTSIDE = {
    "os",
    "subprocess",
    "socket",
    "ssl",
    "shutil",
    "tempfile",
    "urllib",
    "http",
    "kubernetes",
    "google",
}
OUTSIDE_ROOMS = {
    "inferfleet.api.documents",
    "inferfleet.api.loading",
    "inferfleet.reach",
    "inferfleet.recovery",
    "inferfleet.cli",
    "inferfleet.cli.report",
    "inferfleet.cli.show",
    "inferfleet.cli.source",
    "inferfleet.cli.verbs",
    "sandbox",
    "__main__",
}
# Reads the process environment: the two ways in, and what hands it on to a child process.
ENVIRONMENT_MODULES = {
    "__main__",
    "inferfleet.cli.source",
    "inferfleet.reach.exec_command",
    "inferfleet.recovery.pulumi_command",
}


def sources() -> Iterator[Path]:
    yield Path("__main__.py")
    for folder in ("inferfleet", "components", "sandbox"):
        yield from sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))


def module_of(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> frozenset[str]:
    return frozenset(module_of(path) for path in sources())


def room(module: str) -> str | None:
    """The longest room that holds `module`."""
    parts = module.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in FLOOR and (name != "inferfleet" or name == module)), None)


def imports(source: str) -> Iterator[str]:
    """Every module imported, by statement, or by its name in a text (`importlib`, `python -m`)."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            inner = [f"{module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else module for name in inner)
        elif isinstance(node, ast.Constant) and node.value in modules() and "." in str(node.value):
            yield str(node.value)


def breaches(path: Path, source: str) -> list[str]:
    """Every import of the file at `path` (relative to the root) that the floors forbid."""
    module = module_of(path)
    own = room(module)
    if own is None:
        return [f"{path} is in no room"]
    forbidden = []
    for target in dict.fromkeys(imports(source)):
        other = room(target)
        if target.startswith("."):
            forbidden.append(f"{path} imports {target}: write imports from the root")
        elif target.split(".")[0].startswith("pulumi"):
            if own not in PULUMI_ROOMS:
                forbidden.append(f"{path} imports {target}: only {sorted(PULUMI_ROOMS)} may")
        elif target.split(".")[0] in OUTSIDE and own not in OUTSIDE_ROOMS and own != "components":
            if not target.startswith("urllib.parse"):
                forbidden.append(f"{path} imports {target}: this room decides and touches nothing outside")
        elif other == "sandbox" and own != "sandbox":
            if (module, target) != SANDBOX_VERB:
                forbidden.append(f"{path} imports {target}: only {SANDBOX_VERB[0]} may know the sandbox")
        elif other and other != own and FLOOR[other] >= FLOOR[own]:
            forbidden.append(f"{path} imports {target}: {other} is not below {own}")
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
        ("inferfleet/profiles/x.py", "from inferfleet.api import load"),
        ("inferfleet/plugins/x.py", "from inferfleet.manifests import workload"),
        ("inferfleet/fleet/lock/x.py", "from inferfleet.fleet import planning"),
        ("inferfleet/gke/facts/x.py", "from inferfleet.gke.settings.pools import gpu_pool"),
        ("inferfleet/desired/x.py", "from components.stack import register_stack"),
        ("inferfleet/desired/x.py", "import subprocess"),
        ("inferfleet/cli/verbs/plan.py", "import sandbox.verbs.sandbox"),
        ("inferfleet/cli/verbs/plan.py", 'import_module("sandbox.verbs.sandbox")'),
        ("inferfleet/run.py", 'import_module("inferfleet.cli.main")'),
        ("inferfleet/fleet/x.py", "from . import names"),
        ("components/x.py", "from inferfleet.cli.main import main"),
        ("inferfleet/nowhere.py", ""),
    ],
)
def test_a_forbidden_import_is_found(path: str, source: str) -> None:
    assert len(breaches(Path(path), source)) == 1


def test_the_environment_is_read_only_at_the_ways_in() -> None:
    readers = {
        module_of(path)
        for path in sources()
        if path.parts[0] != "sandbox"
        if re.search(r"\bos\.(environ|getenv)\b", (ROOT / path).read_text())
    }
    assert readers == ENVIRONMENT_MODULES


def test_components_register_and_look_nothing_up() -> None:
    """No configuration, no invoke, no reading of other stacks, and no resource made inside `apply`."""
    forbidden = re.compile(r"pulumi\.(Config|StackReference|runtime)|\.invoke|\.get\(\s*\"[^\"]*\",\s*opts")
    found = [str(path) for path in sources() if path.parts[0] == "components"]
    assert [path for path in found if forbidden.search((ROOT / path).read_text())] == []


def test_every_room_says_what_belongs_there() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for folder in ("inferfleet", "components", "sandbox")
        for path in (ROOT / folder).rglob("__init__.py")
        if len((ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()) < 2
    ]
    assert silent == []


def test_no_file_is_longer_than_three_hundred_lines() -> None:
    ours = [*sources(), *(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))]
    long = [str(path) for path in ours if len((ROOT / path).read_text().splitlines()) > 300]
    assert long == []


def test_no_room_holds_more_than_sixteen_modules() -> None:
    rooms = [path.parent for path in sources()]
    assert sorted({str(room) for room in rooms if rooms.count(room) > 16}) == []


def test_the_house_stays_small_enough_to_know() -> None:
    """At most 200 product modules outside the sandbox, few of them crumbs that are read with a neighbour."""
    product = [path for path in sources() if path.parts[0] != "sandbox" and path.name != "__init__.py"]
    crumbs = [path for path in product if len((ROOT / path).read_text().splitlines()) <= 30]
    assert (len(product) <= 200, len(crumbs) < 15) == (True, True)
