"""A pull request brings a kubeconfig: in a real preview and update nothing of it is read, run or sent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from documents import cluster, east, west
from fake_cluster import kubeconfig
from listener import Listener
from project import Project

STACK = "Stack inferfleet-e2e"
REFUSED = "is in the repository, where a pull request can change it, so it is not used"


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def bring(project: Project, server: str, user: dict[str, Any], *, trusted: bool = False) -> None:
    """Beside the sandbox's own clusters, one whose kubeconfig lies with the documents."""
    evil = cluster("evil", pools={"l4": ("nvidia-l4-4x", 1)})
    evil["spec"]["cluster"]["existing"]["kubeconfig"]["path"] = "evil.kubeconfig"
    project.begin(clusters=[east(), west(), evil])
    (project.documents / "evil.kubeconfig").write_text(yaml.safe_dump(kubeconfig(server, **user)))
    project.configure(trustRepositoryKubeconfigs=trusted)


def test_what_a_pull_request_brings_is_used_in_no_preview_and_no_update(
    project: Project, listener: Listener, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("hunter2")
    command = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "touch",
        "args": [str(tmp_path / "ran")],
        "interactiveMode": "Never",
    }
    https, http = f"https://{listener.host}", f"http://{listener.host}"
    sends = {"tokenFile": str(tmp_path / "key")}
    for server, user in ((https, {"exec": command}), (https, sends), (http, sends)):
        bring(project, server, user)
        for verb in (project.preview, project.up):
            ran = verb()
            assert (ran.code != 0, ran.operations.keys() - {STACK}) == (True, set())
            assert "cluster 'evil': kubeconfig" in ran.output
            assert REFUSED in ran.output
            assert "hunter2" not in ran.output
    assert (listener.connections, [file.name for file in tmp_path.iterdir()]) == (0, ["key"])

    # The setting is what kept it from running; with it the sandbox's own kubeconfigs are used as before.
    bring(project, https, {"exec": command}, trusted=True)
    assert project.preview().code != 0
    assert (tmp_path / "ran").exists()
    project.begin(clusters=[east(), west()])
    assert project.preview().code == 0
