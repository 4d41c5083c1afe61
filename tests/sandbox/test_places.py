"""Every stack of every checkout has a place of its own, and nothing outside it is touched."""

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from inferfleet.documents import load
from sandbox.cluster import ports
from sandbox.environment import environment
from sandbox.places import StackPlaces, project_root
from sandbox.plans import cluster_plans
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import Tools

CLUSTER = """
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {{name: {name}}}
spec:
  cluster: {{source: Existing, existing: {{kubeconfig: {{path: {path}}}}}}}
  nodePools: [{{name: l4, className: nvidia-l4-1x, nodeCount: 1}}]
  serving: {{gateway: {{className: {gateway}}}}}
---
"""


def test_only_clusters_whose_kubeconfig_lies_in_the_stack_s_folder_are_simulated(tmp_path: Path) -> None:
    paths = {
        "ours": "../../.sandbox/dev/ours.kubeconfig",
        "other-stack": "../../.sandbox/prod/other.kubeconfig",
        "climbs-out": "../../.sandbox/dev/../../out.kubeconfig",
        "real": "~/.kube/config",
        "absolute": f"{tmp_path}/.sandbox/dev/deep/absolute.kubeconfig",
    }
    folder = tmp_path / "stacks" / "dev"
    folder.mkdir(parents=True)
    (folder / "clusters.yaml").write_text(
        "".join(CLUSTER.format(name=name, path=path, gateway=f"gw-{name}") for name, path in paths.items())
    )
    plans = cluster_plans(StackPlaces(tmp_path, "dev"), load([folder], base=tmp_path))
    assert [(plan.name, plan.kubeconfig, plan.gateway_classes, len(plan.nodes)) for plan in plans] == [
        ("absolute", tmp_path / ".sandbox/dev/deep/absolute.kubeconfig", ("gw-absolute",), 2),
        ("ours", tmp_path / ".sandbox/dev/ours.kubeconfig", ("gw-ours",), 2),
    ]


def test_clusters_of_two_checkouts_and_two_stacks_have_different_names() -> None:
    names = {
        StackPlaces(Path(root), stack).cluster_name("east")
        for root in ("/home/me/one", "/home/me/two")
        for stack in ("local", "dev")
    }
    assert len(names) == 4


@pytest.mark.parametrize("stack", ["../x", "", ".", "a/b", "a b", ".hidden"])
def test_a_stack_name_cannot_lead_out_of_the_folder(stack: str) -> None:
    with pytest.raises(SandboxProblem, match="is not a stack name"):
        StackPlaces(Path("/checkout"), stack)


def test_the_project_is_found_from_any_folder_in_it(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "stacks" / "local").mkdir(parents=True)
    assert project_root(tmp_path / "stacks" / "local") == tmp_path


def test_the_environment_leads_to_the_sandbox_alone(tmp_path: Path) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert environment(StackPlaces(tmp_path, "dev"), Tools((), "/cache/bin:/usr/bin")) == {
        "PATH": f"{tmp_path}/.venv/bin:{tmp_path}/.sandbox/dev/path:/cache/bin:/usr/bin",
        "PULUMI_HOME": f"{tmp_path}/.sandbox/dev/pulumi-home",
        "PULUMI_BACKEND_URL": f"file://{tmp_path}/.sandbox/dev/state",
        "PULUMI_CONFIG_PASSPHRASE_FILE": f"{tmp_path}/.sandbox/.secrets/dev/passphrase",
        "PULUMI_STACK": "dev",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_PARALLEL": "128",
        "GOGC": "400",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }


def test_no_outgoing_connection_takes_a_port_of_a_cluster() -> None:
    outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert ports.FIRST < ports.LAST < ports.LAST + ports.BLOCK < outgoing


def test_a_held_port_is_nobody_else_s_until_its_end_and_a_program_listens_there() -> None:
    with ports.held(2) as (first, second):
        assert first != second
        with socket.socket() as somebody, pytest.raises(OSError, match="in use"):
            somebody.bind(("", first))
        with socket.create_server(("127.0.0.1", first)), socket.create_connection(("127.0.0.1", first)):
            pass
    with socket.socket() as somebody:
        somebody.bind(("", second))


def test_without_a_free_port_the_next_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(socket.socket):
        def bind(self, address: Any) -> None:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))

    monkeypatch.setattr(socket, "socket", Full)
    told = r"no port is free .* Address already in use\. End programs"
    with pytest.raises(SandboxProblem, match=told), ports.held(3):
        pass


def test_a_cluster_keeps_its_ports_until_its_stack_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(ports, "free", lambda port: port != ports.FIRST + 2)
    places = [StackPlaces(tmp_path / name, "local") for name in ("one", "two")]
    folders = [stack.cluster_folder(cluster) for stack in places for cluster in ("east", "west")]
    for stack in places:
        stack.kwok.mkdir(parents=True)
    first = ports.FIRST + ports.BLOCK  # the block before has a port that is taken
    assert [ports.reserve(folder) for folder in folders] == [first, first + 10, first + 20, first + 30]
    assert ports.reserve(folders[1]) == first + 10
    places[0].kwok.rmdir()
    places[0].folder.rmdir()
    assert ports.reserve(places[1].cluster_folder("north")) == first
    assert ports.reserve(folders[2], avoid=frozenset({first + 20})) == first + 10
