"""End-to-end tests wait for the toolchain, and say why it does not come."""

from typing import Any

import pytest
import toolchain


@pytest.fixture(autouse=True)
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "is_there", lambda: False)


def test_a_build_that_fails_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_BUILD", "import sys; sys.exit('no module proxy answers')")
    with pytest.raises(pytest.fail.Exception) as failed:
        toolchain.wait()
    assert str(failed.value) == "the toolchain could not be built: no module proxy answers\n"


def test_a_build_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_BUILD", "import threading; threading.Event().wait()")
    monkeypatch.setattr(toolchain, "PATIENCE", 0.5)
    with pytest.raises(pytest.fail.Exception) as failed:
        toolchain.wait()
    assert str(failed.value) == "the toolchain was not there after 0.5 s"


def test_what_is_built_beside_the_tests_ends_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(toolchain, "_begun", begun)
    monkeypatch.setattr(toolchain, "_BUILD", "import threading; threading.Event().wait()")
    toolchain.begin()
    [build] = begun
    assert build.poll() is None
    toolchain.end()
    assert build.poll() is not None
