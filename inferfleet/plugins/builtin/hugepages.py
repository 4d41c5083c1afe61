"""Plugin hugepages: memory in huge pages for the engine, and a file system of it.

Source: https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/ (Kubernetes 1.36): requests
must equal limits, and an emptyDir with medium `HugePages-<size>` has the pages as files. Nodes must have the
pages: `spec.node.hugepages` of their class says so.
"""

from typing import Annotated, Literal

from pydantic import Field

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Plugin,
    PodTemplate,
    Request,
    engine,
    put_mount,
    put_resource,
    put_volume,
)


class Config(api.Config):
    """How many huge pages the engine gets, and where."""

    size: Literal["2Mi", "1Gi"] = "2Mi"
    """Size of a page: `2Mi` or `1Gi`, as the nodes have them."""
    amount: Annotated[str, Field(pattern="^[1-9][0-9]{0,5}(Mi|Gi)$")]
    """Memory in such pages, a multiple of their size, such as `4Gi`. It is on top of the engine's memory."""
    mount_path: Annotated[str, Field(pattern="^/[^:]*[^:/]$", max_length=4096)] | None = None
    """Folder at which the engine finds the pages as files. Default: `/hugepages-2Mi` or `/hugepages-1Gi`."""


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Give the engine memory in huge pages, also as files."""
    container = engine(template)
    resource = f"hugepages-{config.size}"
    put_resource(container, resource, config.amount)
    put_volume(template, {"name": resource.lower(), "emptyDir": {"medium": f"HugePages-{config.size}"}})
    put_mount(container, {"name": resource.lower(), "mountPath": config.mount_path or f"/{resource}"})
    return template


PLUGIN = Plugin("hugepages", Config, edit, version="1.0.0")
