"""A simulated cloud that does not begin to answer is told at once, with what it said."""

from pathlib import Path

import pytest

from sandbox.gcp.lifecycle import start_cloud
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import Tools


def test_a_cloud_that_ends_while_it_starts_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its toolchain is not there.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(
        SandboxProblem, match=r"(?s)stack gone does not answer at port \d+ .*not complete\. Run `.*sandbox up"
    ):
        start_cloud(StackPlaces(tmp_path, "gone"), Tools((), ""))
