"""GPUDirect RDMA of A3 Ultra, A4 and A4X nodes: interfaces, Google's NCCL plugin gIB, and its settings.

After `gpudirect-rdma/nccl-test.yaml`, and `nccl-test-a4x-max.yaml` for IPC_LOCK, without which memory cannot
be registered where memlock is limited; `gpudirect.py` has commit and values. Google publishes the
settings of NCCL as a script alone, so it runs before the engine, in the engine's container. Where GKE offers
the cards to claims, pods have them already and name no networks; the rest is the same (cluster-toolkit,
examples/gke-a4x/nccl-jobset-example.yaml at commit 10470803, 2026-06-25).
"""

from typing import Any

from inferfleet.plugins.api import (
    PluginError,
    PodTemplate,
    Request,
    accelerator,
    add_capability,
    engine,
    put_mount,
    put_volume,
)
from inferfleet.plugins.builtin.network_fabric import gpudirect
from inferfleet.plugins.builtin.network_fabric.interfaces import add_libraries, attach, network_names

_SCRIPT = gpudirect.RDMA_SCRIPT
_MISSING = f"{_SCRIPT} is missing: is the installer of gIB on this node?"
_START = [
    "/bin/bash",
    "-c",
    f'[ -r {_SCRIPT} ] || {{ echo "{_MISSING}" >&2; exit 1; }}\nsource {_SCRIPT}\nexec "$0" "$@"\n',
]


def use(
    template: PodTemplate,
    request: Request,
    *,
    networks: tuple[str, ...],
    before: tuple[str, ...],
    entry_point: tuple[str, ...],
) -> None:
    """Let the engine use GPUDirect RDMA. Raises PluginError for what stands in its way."""
    count = accelerator(request).count
    # The network of the second gVNIC comes first, and then that of the adapters, with one subnetwork per GPU.
    rails = tuple(f"{part}-{rail}" for part in request.pool.networks[1:] for rail in range(count))
    if not request.pool.claims_cards:
        attach(
            template,
            network_names(rails, networks, count=count, fabric="GPUDirect RDMA"),
            first=gpudirect.RDMA_FIRST,
        )
    elif networks:
        raise PluginError(
            f"pods on pool {request.pool.name} of cluster {request.cluster.name} claim their network cards, "
            "so networks has no use; remove it, or use scope"
        )
    container = engine(template)
    for name, (folder, path) in gpudirect.RDMA_VOLUMES.items():
        put_volume(template, {"name": name, "hostPath": {"path": folder}})
        put_mount(container, {"name": name, "mountPath": path})
    add_capability(container, "IPC_LOCK")
    add_libraries(container, before)
    _start_with_script(container, entry_point)


def _start_with_script(container: dict[str, Any], entry_point: tuple[str, ...]) -> None:
    command = container.get("command") or []
    if command[: len(_START)] == _START:
        return
    if not (command or entry_point):
        raise PluginError(
            f"the engine has no command, so nothing can run {_SCRIPT} before it; set entryPoint to that of "
            f"the image {container['image']}, such as [vllm, serve], or write command in the template"
        )
    container["args"] = [*(command or entry_point), *container.get("args", [])]
    container["command"] = list(_START)
