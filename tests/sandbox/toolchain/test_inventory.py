"""The inventory names everything that is pinned, and where."""

from pathlib import Path

from sandbox.toolchain.inventory import PYTHON, RELEASED, ROOT, go_modules, inventory, python_packages
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
    assert (package.purl, package.version, package.hashes) == (
        "pkg:pypi/pyyaml@6.0.3",
        "6.0.3",
        (f"SHA-256:{'a' * 64}", f"SHA-256:{'b' * 64}"),
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
    assert files == {
        *PYTHON,
        RELEASED,
        *(f"sandbox/toolchain/{part.name}/go.sum" for part in (*PARTS, *EXTRA)),
    }
    assert all("hashes" in component for purl, component in components.items() if purl.startswith("pkg:pypi"))
    url = (
        "https%3A%2F%2Fgithub.com%2Fkubernetes-sigs%2Fkwok%2Freleases%2Fdownload%2Fv0.8.0%2Fkwok-linux-arm64"
    )
    assert components[f"pkg:generic/kwok@0.8.0?download_url={url}"]["hashes"] == [
        {"alg": "SHA-256", "content": "628f7d277860f524a2a775c217adcc58828e7b59ab0933680315784f1b8b0e37"}
    ]
    for name in PYTHON:
        pinned = [
            line for line in Path(ROOT / name).read_text().splitlines() if "==" in line and "#" not in line
        ]
        assert len(list(python_packages((ROOT / name).read_text()))) == len(pinned)
