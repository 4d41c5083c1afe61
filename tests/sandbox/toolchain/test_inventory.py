"""The inventory names everything that is pinned, and where."""

from pathlib import Path

from sandbox.toolchain.inventory import PYTHON, ROOT, go_modules, inventory, python_packages
from sandbox.toolchain.parts import EXTRA, PARTS

REQUIREMENTS = """# made by a tool
PyYAML==6.0.3 ; python_version < '4' \\
    --hash=sha256:{b} \\
    --hash=sha256:{a}
    # via inferfleet
""".format(a="a" * 64, b="b" * 64)
SUMS = "example.com/A v1.0.0 h1:x=\nexample.com/A v1.0.0/go.mod h1:y=\nexample.com/b v2.0.0/go.mod h1:z=\n"


def test_python_packages_have_the_hashes_of_all_their_files() -> None:
    [package] = python_packages(REQUIREMENTS)
    assert (package.purl, package.version, package.sha256) == (
        "pkg:pypi/pyyaml@6.0.3",
        "6.0.3",
        ("a" * 64, "b" * 64),
    )


def test_of_go_modules_those_count_whose_source_may_be_built() -> None:
    assert [(module.purl, module.h1) for module in go_modules(SUMS)] == [
        ("pkg:golang/example.com/a@v1.0.0", "h1:x=")
    ]


def test_the_inventory_is_whole_and_always_the_same() -> None:
    made = inventory()
    assert made == inventory()
    components = {component["purl"]: component for component in made["components"]}
    assert len(components) == len(made["components"])
    files = {
        item["value"]
        for component in components.values()
        for item in component["properties"]
        if item["name"] == "inferfleet:pinnedIn"
    }
    assert files == {*PYTHON, *(f"sandbox/toolchain/{part.name}/go.sum" for part in (*PARTS, *EXTRA))}
    assert all("hashes" in component for purl, component in components.items() if purl.startswith("pkg:pypi"))
    for name in PYTHON:
        pinned = [
            line for line in Path(ROOT / name).read_text().splitlines() if "==" in line and "#" not in line
        ]
        assert len(list(python_packages((ROOT / name).read_text()))) == len(pinned)
