"""Each stack has a passphrase of its own, and none is given up while something needs it."""

from pathlib import Path

import pytest

from sandbox.passphrase import fits, forget, make_passphrase
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem

# What Pulumi wrote for the empty passphrase, and the same with another last byte.
OF_EMPTY = "v1:o8EtFL+wEEU=:v1:mPJSMXbIZOCzXkLu:SUj1PHwZpj/q6DsWV2MnqH56Rqu7SQ=="
DAMAGED = "v1:o8EtFL+wEEU=:v1:mPJSMXbIZOCzXkLu:SUj1PHwZpj/q6DsWV2MnqH56Rqu7SA=="


@pytest.fixture
def places(tmp_path: Path) -> StackPlaces:
    (tmp_path / "stacks").mkdir()
    return StackPlaces(tmp_path, "s")


def _settings(places: StackPlaces, text: str) -> None:
    places.settings.write_text(text)


def test_a_new_stack_gets_a_random_passphrase_and_keeps_it(places: StackPlaces) -> None:
    make_passphrase(places, "")
    first = places.passphrase.read_text()
    assert (len(first.strip()), places.passphrase.stat().st_mode & 0o777) == (43, 0o600)
    make_passphrase(places, "")
    assert places.passphrase.read_text() == first
    other = StackPlaces(places.root, "other")
    make_passphrase(other, "")
    assert other.passphrase.read_text() != first


@pytest.mark.parametrize("salt", [OF_EMPTY, DAMAGED, "v2:x", "nonsense"])
def test_a_salt_of_an_unknown_passphrase_is_refused_with_the_line_to_remove(
    places: StackPlaces, salt: str
) -> None:
    _settings(places, f"encryptionsalt: {salt}\n")
    told = (
        rf"passphrase that this sandbox does not have. Remove the line encryptionsalt from {places.settings}"
    )
    with pytest.raises(SandboxProblem, match=told):
        make_passphrase(places, "")


def test_a_salt_belongs_to_one_passphrase() -> None:
    assert [fits(passphrase, OF_EMPTY) for passphrase in ("", "x")] == [True, False]


def test_a_passphrase_goes_with_its_sandbox_unless_settings_have_secrets(places: StackPlaces) -> None:
    make_passphrase(places, "")
    _settings(places, "config:\n  inferfleet:secrets:\n    ml/hf:\n      token:\n        secure: v1:abc\n")
    assert forget(places) is False
    assert places.passphrase.exists()
    _settings(places, "config:\n  inferfleet:locked: false\n")
    assert forget(places) is True
    assert not places.secrets.exists()
