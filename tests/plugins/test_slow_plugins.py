"""A command that waits for a plugin says so."""

import threading

import pytest

from inferfleet.plugins.loading import slow


def test_a_plugin_that_takes_long_is_told_once_while_it_edits(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow, "SECONDS", 0.01)
    edit = "plugin my-plugin (plugins/my_plugin.py)"
    with slow.told_when_slow():
        for _ in range(2):
            monkeypatch.setattr(slow, "EDITING", [edit])
            threading.Event().wait(0.3)
            monkeypatch.setattr(slow, "EDITING", [])
            threading.Event().wait(0.1)
    assert capfd.readouterr() == ("", f"still in {edit}\n")
