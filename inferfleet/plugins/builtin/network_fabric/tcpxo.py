"""GPUDirect-TCPXO of A3 Mega nodes: a daemon beside the engine, devices, libraries, settings of NCCL.

After `gpudirect-tcpxo/nccl-test-latest.yaml`; `gpudirect.py` has commit and values. The daemon is a
native sidecar, as Google's best practice has it, so that the engine starts once it is ready.
"""

from inferfleet.plugins.api import (
    PodTemplate,
    Request,
    engine,
    put_field,
    put_init_container,
    put_mount,
    put_volume,
)
from inferfleet.plugins.builtin.network_fabric import gpudirect
from inferfleet.plugins.builtin.network_fabric.interfaces import (
    add_libraries,
    attach,
    network_names,
    put_missing_env,
)

IMAGE = gpudirect.DAEMON_IMAGE
# Google's example gives up after 31 seconds, and the daemon takes about 30.
_PATIENCE = 24


def use(
    template: PodTemplate, request: Request, *, networks: tuple[str, ...], before: tuple[str, ...], image: str
) -> None:
    """Let the engine use GPUDirect-TCPXO. Raises PluginError for what stands in its way."""
    names = network_names(
        request.pool.networks, networks, count=gpudirect.TCPXO_INTERFACES, fabric="GPUDirect-TCPXO"
    )
    attach(template, names, first=gpudirect.TCPXO_FIRST)
    devices = "".join(f"- path: {device}\n" for device in gpudirect.DEVICES)
    put_field(template, "metadata", "annotations", gpudirect.DAEMON_DEVICES, value=devices)
    container = engine(template)
    mounts = []
    for name, (folder, of_daemon, of_engine) in gpudirect.TCPXO_VOLUMES.items():
        put_volume(template, {"name": name, "hostPath": {"path": folder}})
        if of_daemon:
            mounts.append({"name": name, "mountPath": of_daemon})
        if of_engine:
            put_mount(container, {"name": name, "mountPath": of_engine})
    add_libraries(container, before)
    put_missing_env(container, gpudirect.TCPXO_ENV)
    daemon = {
        "name": gpudirect.DAEMON,
        "image": image,
        "restartPolicy": "Always",
        "command": list(gpudirect.DAEMON_COMMAND),
        "args": [gpudirect.DAEMON_SCRIPT],
        "env": [
            {"name": "LD_LIBRARY_PATH", "value": gpudirect.LIBRARIES},
            {"name": "HEALTH_CHECK_LOG_FILE", "value": gpudirect.DAEMON_HEALTH},
        ],
        "securityContext": {"capabilities": {"add": list(gpudirect.DAEMON_CAPABILITIES)}},
        "startupProbe": {
            "exec": {"command": ["cat", gpudirect.DAEMON_HEALTH]},
            "initialDelaySeconds": 1,
            "periodSeconds": 5,
            "timeoutSeconds": 1,
            "failureThreshold": _PATIENCE,
        },
        "volumeMounts": mounts,
    }
    put_init_container(template, daemon, same=("image", "args"))
