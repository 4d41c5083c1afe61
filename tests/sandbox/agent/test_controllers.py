"""Controllers that a stack installs run as their manifests say, but listen at the address of their pod."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.agent.programs.controllers import IMAGES, Controller, is_controller
from sandbox.agent.programs.images import program_of
from sandbox.agent.programs.real_program import Started

POD = {"metadata": {"name": "p", "namespace": "n"}, "status": {"podIP": "10.4.0.7"}}
CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"


class _Host:
    api: Any = None
    cluster_folder = Path("/cluster")


def adapted(folder: Path, started: Started) -> Started:
    host: Any = _Host()
    log: Any = None
    return Controller(host, IMAGES, POD, {}, folder, log).adapted(started)


@pytest.mark.parametrize(
    ("image", "ours", "program"),
    [
        ("registry.k8s.io/lws/lws:v0.9.0", True, "lws-controller"),
        ("registry.k8s.io/lws/lws:v9", True, None),
        ("docker.io/istio/pilot:1.31.1", True, "istiod"),
        ("docker.io/istio/proxyv2:1.31.1", False, None),
        ("docker.io/envoyproxy/gateway:v1.9.1", True, "envoy-gateway"),
        ("docker.io/envoyproxy/gateway:v1.9.0", True, None),
        ("example.com/manager:v0.9.0", False, None),
    ],
)
def test_a_controller_is_known_by_its_image_in_whatever_version(
    image: str, ours: bool, program: str | None
) -> None:
    assert (is_controller({"name": "manager", "image": image}), program_of(image, IMAGES)) == (ours, program)


def test_what_stands_beside_a_proxy_is_no_controller() -> None:
    assert not is_controller({"name": "shutdown-manager", "image": "docker.io/envoyproxy/gateway:v1.9.1"})


def test_the_configuration_of_leader_worker_sets_keeps_all_but_addresses_and_folders(tmp_path: Path) -> None:
    config = tmp_path / "mounted.yaml"
    config.write_text(yaml.safe_dump({"kind": "Configuration", "leaderElection": {"leaderElect": True}}))
    folders = {"/controller_manager_config.yaml": config, CERTIFICATES: tmp_path / "certs"}
    args = [f"--config={config}", "--zap-log-level=2"]
    started = adapted(tmp_path, Started("lws-controller", args, {"A": "b"}, folders))
    assert (started.args, started.variables) == (
        [f"--config={tmp_path / 'config.yaml'}", "--zap-log-level=2"],
        {"A": "b"},
    )
    assert yaml.safe_load((tmp_path / "config.yaml").read_text()) == {
        "kind": "Configuration",
        "leaderElection": {"leaderElect": True},
        "webhook": {"host": "10.4.0.7", "port": 9443, "certDir": str(tmp_path / "certs")},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "10.4.0.7:8081"},
    }


def test_istiod_listens_at_the_address_of_its_pod_and_speaks_to_an_ordinary_envoy(tmp_path: Path) -> None:
    started = adapted(tmp_path, Started("istiod", ["discovery"], {"PILOT_X": "y"}))
    assert started.args[0] == "discovery"
    assert {
        "--monitoringAddr=10.4.0.7:15014",
        "--httpAddr=10.4.0.7:8080",
        "--httpsAddr=10.4.0.7:15017",
        "--grpcAddr=10.4.0.7:15010",
        "--secureGRPCAddr=10.4.0.7:15012",
        f"--meshConfig={tmp_path / 'mesh'}",
    } < {*started.args}
    assert started.variables["PILOT_X"] == "y"
    assert yaml.safe_load((tmp_path / "mesh").read_text())["enableAutoMtls"] is False
