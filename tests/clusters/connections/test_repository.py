"""What lies in a repository is told by the folders it is in, under whatever name it is reached."""

from pathlib import Path

import pytest
import yaml
from fake_cluster import kubeconfig

from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.kubeconfig import read_kubeconfigs
from inferfleet.desired.values import Connection


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in a folder of a Git repository, beside other folders of it."""
    root = tmp_path / "checkout/infra"
    (root / "stacks").mkdir(parents=True)
    (tmp_path / "checkout/.git").mkdir()
    (tmp_path / "checkout/other").mkdir()
    (tmp_path / "home").mkdir()
    return root


def held(root: Path, path: Path) -> bool:
    return Repository(root, trusted=False).holds(path)


def test_the_repository_is_all_of_the_checkout_and_nothing_else(project: Path, tmp_path: Path) -> None:
    places = {
        "checkout/infra/stacks/k": True,
        "checkout/infra/stacks/prod/../../../../home/k": False,
        "home/../checkout/other/k": True,
        "checkout/k": True,
        "checkout-2/k": False,
        "home/k": False,
    }
    assert {place: held(project, tmp_path / place) for place in places} == places


def test_without_git_it_is_the_project(project: Path, tmp_path: Path) -> None:
    (tmp_path / "checkout/.git").rmdir()
    assert [held(project, tmp_path / place) for place in ("checkout/infra/k", "checkout/other/k")] == [
        True,
        False,
    ]


def test_links_lead_in_and_out_of_it(project: Path, tmp_path: Path) -> None:
    """A link that a pull request brings is in the repository; so is what a link elsewhere leads to."""
    (project / "k").write_text("")
    (tmp_path / "home/k").write_text("")
    (project / "out").symlink_to(tmp_path / "home/k")
    (tmp_path / "home/in").symlink_to(project / "k")
    (tmp_path / "home/folder").symlink_to(project)
    held_ones = [
        held(project, path) for path in (project / "out", tmp_path / "home/in", tmp_path / "home/folder/k")
    ]
    assert held_ones == [True, True, True]
    assert held(tmp_path / "home/folder", project / "k")


def test_a_kubeconfig_elsewhere_may_name_nothing_in_the_repository(project: Path, tmp_path: Path) -> None:
    file, connection = tmp_path / "home/k", Connection("east", "e", "active", kubeconfig=tmp_path / "home/k")
    (project / "x").write_text("hunter2")
    told = {}
    users = {
        "tokenFile": {"tokenFile": "../checkout/infra/x"},
        "client-key": {"client-key": f"{project}/x"},
        "exec command": {"exec": {"command": f"{project}/x"}},
    }
    for name, user in users.items():
        file.write_text(yaml.safe_dump(kubeconfig("https://east", **user)))
        problem = read_kubeconfigs([connection], {}, Repository(project, trusted=False)).problems["east"]
        told[name] = problem.what.removeprefix(f"cluster 'east': kubeconfig {file}: its {name} ").split(
            " ", 1
        )[1]
        assert read_kubeconfigs([connection], {}, Repository(project, trusted=True)).problems == {}
    why = "is in the repository, where a pull request can change it, so it is not used"
    assert told == dict.fromkeys(users, why)
