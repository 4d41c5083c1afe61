"""Whose values of the configuration a change of the repository can set."""

from pathlib import Path

import pytest

from inferfleet.documents.loading.project import StackFiles
from inferfleet.documents.loading.settings import keys_in_repository

SECURE = "{secure: v1:abc}"


@pytest.mark.parametrize(
    ("stack", "project", "in_repository"),
    [
        ("", "", False),
        ("config: {'inferfleet:east': text}", "", True),
        ("config: {east: text}", "", True),
        (f"config: {{'inferfleet:east': {SECURE}}}", "", False),
        (f"config: {{'inferfleet:east': {SECURE}, east: text}}", "", True),
        ("config: {'aws:east': text}", "", False),
        ("", "config: {'inferfleet:east': {default: text}}", True),
        (f"config: {{'inferfleet:east': {SECURE}}}", "config: {'inferfleet:east': text}", False),
        ("environment: [ours]", "", False),
        ("environment: {imports: [ours], values: {}}", "", True),
    ],
)
def test_a_value_that_is_written_and_not_encrypted_is_the_repository_s(
    tmp_path: Path, stack: str, project: str, in_repository: bool
) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks/Pulumi.prod.yaml").write_text(stack)
    (tmp_path / "Pulumi.yaml").write_text(project)
    keys = keys_in_repository(StackFiles(tmp_path, "prod"), ["east"])
    assert keys == (frozenset(["east"]) if in_repository else frozenset())
