"""CRDs are applied once, and again when the files or the cluster became others."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from sandbox.cluster import seeds
from sandbox.cluster.definitions import InstalledCrds, define, fresh, name_of, read, served, write
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.kwok import KwokCluster
from sandbox.places import StackPlaces

ROUTES, POLICY = "customresourcedefinition/routes.example.com", "validatingadmissionpolicy/safe.example.com"
LISTED = """\
CustomResourceDefinition routes.example.com uid-1 1 True
CustomResourceDefinition new.example.com uid-2 1 False
CustomResourceDefinition newest.example.com uid-3 1 \n\
ValidatingAdmissionPolicy safe.example.com uid-4 2 \n\
"""


@dataclass
class _Recording:
    """A cluster that answers with the same list always; what it was asked, by verb."""

    listed: str
    asked: list[str] = field(default_factory=list)

    def __call__(self, *command: str) -> str:
        self.asked.append("schema" if "--raw" in command else command[0])
        if command[0] == "get":
            return self.listed
        return "customresourcedefinition.apiextensions.k8s.io/routes.example.com\n"


def _defined(
    root: Path, listed: str, content: str, known: InstalledCrds
) -> tuple[list[str], InstalledCrds | None]:
    """What is asked of a cluster with a record when a file is defined, and its record afterwards."""
    file = root / "routes.yaml"
    file.write_text(content)
    cluster, recording = KwokCluster(StackPlaces(root, "local"), "east"), _Recording(listed)
    cluster.folder.mkdir(parents=True)
    write(cluster.folder / seeds.RECORD, known)
    define(cluster, cast(Kubectl, recording), (file,))
    return recording.asked, read(cluster.folder / seeds.RECORD)


def _digest(root: Path, content: str) -> str:
    (root / "routes.yaml").write_text(content)
    return seeds.digest([root / "routes.yaml"])


def test_what_is_there_unchanged_is_not_applied(tmp_path: Path) -> None:
    known = InstalledCrds(_digest(tmp_path, "v1"), {ROUTES: "uid-1 1"})
    assert _defined(tmp_path, LISTED, "v1", known) == (["get", "schema"], known)


@pytest.mark.parametrize(
    ("listed", "uid"),
    [
        ("CustomResourceDefinition routes.example.com uid-1 2 True\n", "uid-1 2"),
        ("CustomResourceDefinition routes.example.com uid-9 1 True\n", "uid-9 1"),
    ],
    ids=["edited", "made anew"],
)
def test_what_somebody_changed_is_applied_again(tmp_path: Path, listed: str, uid: str) -> None:
    digest = _digest(tmp_path, "v1")
    asked, record = _defined(tmp_path, listed, "v1", InstalledCrds(digest, {ROUTES: "uid-1 1"}))
    assert (asked, record) == (
        ["get", "apply", "wait", "get", "schema"],
        InstalledCrds(digest, {ROUTES: uid}),
    )


def test_other_files_are_applied_whatever_is_there(tmp_path: Path) -> None:
    known, digest = InstalledCrds(_digest(tmp_path, "v1"), {ROUTES: "uid-1 1"}), _digest(tmp_path, "v2")
    asked, record = _defined(tmp_path, LISTED, "v2", known)
    assert (asked, record) == (["apply", "wait", "get", "schema"], InstalledCrds(digest, {ROUTES: "uid-1 1"}))


def test_a_crd_counts_from_when_it_is_served_and_a_policy_always() -> None:
    assert served(LISTED) == {ROUTES: "uid-1 1", POLICY: "uid-4 2"}


def test_only_what_was_made_from_nothing_serves_as_a_seed() -> None:
    assert fresh(InstalledCrds("d", {ROUTES: "uid-1 1"}), [ROUTES])
    assert not fresh(InstalledCrds("d", {ROUTES: "uid-1 2"}), [ROUTES])
    assert not fresh(InstalledCrds("d", {ROUTES: "uid-1 1"}), [ROUTES, POLICY])


def test_names_have_no_groups() -> None:
    assert name_of("customresourcedefinition.apiextensions.k8s.io/routes.example.com") == ROUTES


@pytest.mark.parametrize("text", ["", "{", "[]", '{"digest": "d"}'])
def test_a_record_that_says_nothing_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "record").write_text(text)
    assert (read(tmp_path / "record"), read(tmp_path / "absent")) == (None, None)
