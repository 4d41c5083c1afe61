"""An outside plugin: RDMA between nodes, with the huge pages that UCX registers."""

from pydantic import Field

from inferfleet.plugins.api import (
    Config,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    add_capability,
    engine,
    mapping,
    put_env,
    put_mount,
    put_volume,
)


class Rdma(Config):
    resource: str = "rdma/ib"
    """Resource of the RDMA device plugin."""
    huge_pages: str = Field(default="2Gi", pattern=r"^[1-9][0-9]*Gi$")
    """Memory in huge pages of 2 MiB."""


def edit(template: PodTemplate, request: Request, config: Rdma) -> PodTemplate:
    """Give the engine an RDMA device and huge pages."""
    if request.gpus < request.accelerator.count:
        raise PluginError(
            f"a pod with {request.gpus} of {request.accelerator.count} devices shares its node's adapters; "
            "take whole nodes"
        )
    container = engine(template)
    resources = mapping(container, "resources")
    for part in ("limits", "requests"):
        resources.setdefault(part, {}).update({config.resource: "1", "hugepages-2Mi": config.huge_pages})
    add_capability(container, "IPC_LOCK")
    put_volume(template, {"name": "hugepages", "emptyDir": {"medium": "HugePages-2Mi"}})
    put_mount(container, {"name": "hugepages", "mountPath": "/hugepages-2Mi"})
    put_env(container, {"name": "UCX_TLS", "value": "rc,cuda_copy,cuda_ipc"})
    return template


PLUGIN = Plugin("rdma", Rdma, edit, version="1.2.0")
