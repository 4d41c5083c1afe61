"""Installed programs count only in a sufficient version, whatever words they print around it."""

import pytest

from sandbox.toolchain.versions import parse, sufficient


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("v3.250.0", (3, 250, 0)),
        ("Kubernetes v1.36.3", (1, 36, 3)),
        ("Client Version: v1.32.0-rc.1\nKustomize Version: v5.5.0", (1, 32, 0)),
        ("etcd Version: 3.7.3\nGit SHA: abc\nGo Version: go1.26.2", (3, 7, 3)),
        ("go version go1.27 linux/amd64", (1, 27, 0)),
        ("kwokctl version v0.8.0 go1.26.8 (linux/amd64)", (0, 8, 0)),
        ("unknown", None),
        ("", None),
    ],
)
def test_the_first_version_in_the_text_is_read(printed: str, version: tuple[int, int, int] | None) -> None:
    assert parse(printed) == version


@pytest.mark.parametrize(
    ("printed", "least", "below", "is_sufficient"),
    [
        ("1.36.3", "1.36.0", "1.37.0", True),
        ("1.36.0", "1.36.0", "1.37.0", True),
        ("1.37.0", "1.36.0", "1.37.0", False),
        ("1.9.0", "1.36.0", "1.37.0", False),
        ("go1.30.1", "1.26.0", "", True),
        ("no version", "1.26.0", "", False),
    ],
)
def test_a_version_is_compared_by_its_numbers(
    printed: str, least: str, below: str, is_sufficient: bool
) -> None:
    assert sufficient(printed, least, below) is is_sufficient
