"""What stands in the way of the processes beside a cluster is said, with the next step."""

from pathlib import Path

import pytest

from sandbox.cluster import companions
from sandbox.cluster.kwok import KwokCluster
from sandbox.network import pod_network
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.processes import Process
from sandbox.toolchain.tools import Tools

# No process has this number: it is above what a kernel gives.
NOBODY = 2**30


def test_a_network_that_ended_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(SandboxProblem) as told:
        pod_network.inside(tmp_path, "east")
    assert str(told.value) == (
        "cluster east: the network of its pods ended before the programs beside it began. "
        "Run the same command again: it starts what is missing."
    )


def test_a_process_that_does_not_end_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = KwokCluster(StackPlaces(tmp_path, "local"), "east")
    stuck = Process(NOBODY, cluster.folder / "bin" / companions.AGENT.name)
    monkeypatch.setattr(companions, "_END_SECONDS", 0.0)
    monkeypatch.setattr(KwokCluster, "processes", lambda _: [stuck])
    monkeypatch.setattr(companions, "has_namespace", lambda _: True)
    with pytest.raises(SandboxProblem) as told:
        companions.ensure_running(cluster, Tools((), ""))
    assert str(told.value) == (
        f"cluster east: agent ({NOBODY}) did not end within 0 s of being killed, so the network of its pods "
        "cannot begin anew. End them yourself, or restart this machine, and run the same command again."
    )
