"""Plugin hugepages: memory in huge pages for the engine, and a file system of it.

Source: https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/ (Kubernetes 1.36): requests
must equal limits, and an emptyDir with medium `HugePages-<size>` has the pages as files. A container that
asks for them asks for cpu or memory too, whatever the whole pod asks for (`validateResourceRequirements`
in pkg/apis/core/validation/validation.go). Nodes must have the pages: `spec.node.hugepages` of their class
says so.
"""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    engine,
    mapping,
    mistaken,
    put_mount,
    put_resource,
    put_volume,
)

_MIB = {"2Mi": 2, "1Gi": 1024}


class Config(api.Config):
    """How many huge pages the engine gets, and where."""

    size: Literal["2Mi", "1Gi"] = "2Mi"
    """Size of a page: `2Mi` or `1Gi`, as the nodes have them."""
    amount: Annotated[str, Field(pattern="^[1-9][0-9]{0,5}(Mi|Gi)$")]
    """Memory in such pages, a multiple of their size, such as `4Gi`. It is on top of the engine's memory."""
    mount_path: Annotated[str, Field(pattern="^/[^:]*[^:/]$", max_length=4096)] | None = None
    """Folder at which the engine finds the pages as files. Default: `/hugepages-2Mi` or `/hugepages-1Gi`."""

    @model_validator(mode="after")
    def _whole_pages(self) -> "Config":
        amount = int(self.amount[:-2]) * (1024 if self.amount.endswith("Gi") else 1)
        if amount % _MIB[self.size]:
            raise mistaken(
                f"amount {self.amount} is no multiple of a page of {self.size}",
                f"Write {max(1, round(Decimal(amount) / _MIB[self.size])) * _MIB[self.size]}Mi",
            )
        return self


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Give the engine memory in huge pages, also as files."""
    container = engine(template)
    resource = f"hugepages-{config.size}"
    resources = mapping(container, "resources")
    named = [*resources.get("limits", {}), *resources.get("requests", {})]
    if not {"cpu", "memory"} & {*named}:
        raise PluginError(
            "the engine asks for neither cpu nor memory, and Kubernetes gives a container huge pages only "
            "beside them, whatever the whole pod asks for; add resources.requests.memory to the engine"
        )
    put_resource(container, resource, config.amount)
    put_volume(template, {"name": resource.lower(), "emptyDir": {"medium": f"HugePages-{config.size}"}})
    put_mount(container, {"name": resource.lower(), "mountPath": config.mount_path or f"/{resource}"})
    return template


PLUGIN = Plugin("hugepages", Config, edit, version="1.0.0")
