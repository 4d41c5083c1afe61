"""A command that waits for a plugin says so."""

import threading
from typing import Any

import pytest

from inferfleet.plugins.loading import slow


class _Edits(list[str]):
    """The edits that go on. It is known how often somebody has looked at them."""

    def __init__(self, *edits: str) -> None:
        super().__init__(edits)
        self._looks = threading.Semaphore(0)

    def __getitem__(self, place: Any) -> Any:
        self._looks.release()
        return super().__getitem__(place)

    def looked_at(self, times: int) -> None:
        for _ in range(times):
            assert self._looks.acquire(timeout=300)


def test_a_plugin_that_takes_long_is_told_once_while_it_edits(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow, "SECONDS", 0.01)
    edit = "plugin my-plugin (plugins/my_plugin.py)"
    with slow.told_when_slow():
        for edits in (_Edits(edit), _Edits(), _Edits(edit), _Edits()):
            monkeypatch.setattr(slow, "EDITING", edits)
            edits.looked_at(5)
    assert capfd.readouterr() == ("", f"still in {edit}\n")
