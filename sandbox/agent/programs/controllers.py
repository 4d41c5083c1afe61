"""Controllers of add-ons, which a stack installs as Deployments: each as its manifest says, in its pod.

Here pods share a network, so each listens at its own address. What is changed for that are the configuration
of LeaderWorkerSet's controller and the flags of istiod; nothing else of their manifests is. Envoy Gateway is
run in a network of its own (`own_network.py`), and only what other versions of it are is said here.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from inferfleet.tables.addons import ADDONS
from sandbox.agent.programs.real_program import RealProgram, Started
from sandbox.agent.programs.volumes import keep
from sandbox.cluster.kwok_stages import CONTROLLERS, SHUTDOWN_MANAGER
from sandbox.cluster.objects import Object
from sandbox.istio.control_plane import FOR_ORDINARY_ENVOYS, MESH

_LWS, _ISTIOD, _ENVOY_GATEWAY = CONTROLLERS
# The program of each image. Both versions of Istio are on the way to one release, and one program stands for
# both; LeaderWorkerSet's is of the version that the toolchain builds.
IMAGES = {
    f"{_LWS}:v{ADDONS['leaderWorkerSet'].releases[0].version}": "lws-controller",
    **{f"{_ISTIOD}:{release.version}": "istiod" for release in ADDONS["istio"].releases},
    f"{_ENVOY_GATEWAY}:v{ADDONS['envoyGateway'].releases[0].version}": "envoy-gateway",
}
_LWS_CONFIG = "/controller_manager_config.yaml"
_CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"


def is_controller(container: Object) -> bool:
    """Return whether a container is of an image of the controllers, in whatever version."""
    of_controller = str(container["image"]).rpartition(":")[0] in CONTROLLERS
    return of_controller and container["name"] != SHUTDOWN_MANAGER


class Controller(RealProgram):
    """The program of a controller. `command` of its manifest is that of its image."""

    entrypoint_only = False

    def adapted(self, started: Started) -> Started:
        address, folder = self._pod["status"]["podIP"], self._folder
        if started.name == "istiod":
            (folder / "mesh").write_text(yaml.safe_dump(MESH))
            ports = {
                "monitoringAddr": 15014,
                "httpAddr": 8080,
                "httpsAddr": 15017,
                "grpcAddr": 15010,
                "secureGRPCAddr": 15012,
            }
            flags = [f"--{flag}={address}:{port}" for flag, port in ports.items()]
            flags += ["--ctrlz_port=0", f"--meshConfig={folder / 'mesh'}"]
            flags += [f"--kubeconfig={self._access.kubeconfig}"]
            return Started(
                started.name, [*started.args, *flags], {**started.variables, **FOR_ORDINARY_ENVOYS}
            )
        config = _listening_at(address, started.folders)
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        args = [
            f"--config={folder / 'config.yaml'}" if "--config=" in each else each for each in started.args
        ]
        return Started(started.name, args, started.variables)

    async def started(self) -> None:
        await super().started()
        self.goes_on(keep(self._host.api, self._pod, self._container, self._folder / "volumes"))


def _listening_at(address: str, folders: Mapping[str, Path]) -> dict[str, Any]:
    """Return the configuration of LeaderWorkerSet's controller with its own address and folders."""
    config: dict[str, Any] = yaml.safe_load(folders[_LWS_CONFIG].read_text()) or {}
    certificates = folders.get(_CERTIFICATES)
    webhook = {"host": address, "port": 9443, "certDir": str(certificates)}
    return {
        **config,
        "webhook": {**(config.get("webhook") or {}), **webhook},
        "metrics": {"bindAddress": "0"},
        "health": {**(config.get("health") or {}), "healthProbeBindAddress": f"{address}:8081"},
    }
