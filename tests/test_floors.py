"""The house keeps its floors: who may import whom, read from the code itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A room may import from rooms on lower floors and from itself; rooms of one floor do not know each other.
FLOORS = {
    "inferfleet.profiles": 0,
    "inferfleet.api": 1,
    "inferfleet.fleet": 2,
    "inferfleet.gke": 3,
    "inferfleet.plugins": 3,
    "inferfleet.manifests": 4,
    "inferfleet.desired": 5,
    "inferfleet.review": 6,
    "inferfleet.live": 6,
    "inferfleet.cli": 7,
    "components": 6,
    "sandbox": 7,
    "__main__": 8,
}
PULUMI_ROOMS = {"components", "sandbox", "__main__"}
# The sandbox is known to nothing but the verb that starts it (and the end-to-end tests).
SANDBOX_VERB = Path("inferfleet/cli/sandbox.py")


def room(module: str) -> str | None:
    """The longest known room that holds `module`."""
    parts = module.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in FLOORS), None)


def imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def breaches(path: Path, source: str) -> list[str]:
    """Every import of the file at `path` (relative to the root) that the floors forbid."""
    module = ".".join(path.with_suffix("").parts)
    own = room(module)
    found = []
    for target in imports(source):
        other = room(target)
        if target.startswith("."):
            found.append(f"{path} imports {target}: write imports from the root")
        elif target.split(".")[0].startswith("pulumi"):
            if own not in PULUMI_ROOMS:
                found.append(f"{path} imports {target}: pulumi belongs in {', '.join(sorted(PULUMI_ROOMS))}")
        elif other == "sandbox" and own != "sandbox":
            if path != SANDBOX_VERB:
                found.append(f"{path} imports {target}: only {SANDBOX_VERB} may know the sandbox")
        elif other and own and other != own and FLOORS[other] >= FLOORS[own]:
            found.append(f"{path} imports {target}: {other} is not below {own}")
    return found


def sources() -> Iterator[Path]:
    yield Path("__main__.py")
    for folder in ("inferfleet", "components", "sandbox"):
        yield from sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))


def test_every_file_imports_only_from_below() -> None:
    found = [line for path in sources() for line in breaches(path, (ROOT / path).read_text())]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("inferfleet/fleet/x.py", "import pulumi"),
        ("inferfleet/fleet/x.py", "def f():\n    from pulumi.runtime import mocks"),
        ("inferfleet/profiles/x.py", "from inferfleet.api import load"),
        ("inferfleet/plugins/x.py", "from inferfleet.manifests import pod"),
        ("inferfleet/desired/x.py", "from components.stack import register_stack"),
        ("inferfleet/cli/plan.py", "import sandbox.verb"),
        ("inferfleet/fleet/x.py", "from . import names"),
        ("components/x.py", "from inferfleet.cli.main import main"),
    ],
)
def test_a_forbidden_import_is_found(path: str, source: str) -> None:
    assert len(breaches(Path(path), source)) == 1


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
