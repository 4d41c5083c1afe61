"""What the volume of a cache may be: a claim, an image, a bucket with its sidecar, or space of the node."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from inferfleet.plugins import api
from inferfleet.plugins.api import Amount, ObjectName, SidecarConfig, Written

SubPath = Annotated[
    str, Written(r"(?!(.*/)?\.\.(/|$))[^/:][^:]*", "a path inside the volume, without ..", limit=1024)
]
Size = Annotated[str, Written(r"[1-9][0-9]*(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)", "a quantity such as 200Gi")]


class SecretKey(api.Config):
    """A key of a Secret; its value is never written here."""

    name: ObjectName
    """Name of the Secret in the namespace of the deployment."""
    key: Annotated[str, Written(r"[-._a-zA-Z0-9]+", "a key of a Secret")]
    """Key in it."""


class Claim(api.Config):
    """A PersistentVolumeClaim in the namespace of the deployment."""

    claim_name: ObjectName
    """Name of the claim."""
    read_only: bool = False
    """Whether pods only read it."""
    sub_path: SubPath | None = None
    """Folder of the volume that is mounted. Default: all of it."""


class Image(api.Config):
    """An image or OCI artifact whose files are mounted; read-only."""

    reference: Annotated[
        str,
        Written(
            r"[^\s@]+@sha256:[0-9a-f]{64}",
            "an image by digest, such as registry.example.com/qwen@sha256:<64 digits>",
            limit=1024,
        ),
    ]
    """The image by digest (`@sha256:`), because a tag may be another image tomorrow."""
    pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """When nodes pull it."""
    sub_path: SubPath | None = None
    """Folder of the image that is mounted. Default: all of it."""


class GcsFuseSidecar(SidecarConfig):
    """What the sidecar of Cloud Storage FUSE requests and may use.

    Its webhook takes a limit of 0 for none, and one that is left out for the request.
    """

    container: ClassVar[str] = "gke-gcsfuse-sidecar"
    annotations: ClassVar[Mapping[str, str]] = {
        "cpu": "gke-gcsfuse/cpu-request",
        "memory": "gke-gcsfuse/memory-request",
        "ephemeral_storage": "gke-gcsfuse/ephemeral-storage-request",
        "cpu_limit": "gke-gcsfuse/cpu-limit",
        "memory_limit": "gke-gcsfuse/memory-limit",
        "ephemeral_storage_limit": "gke-gcsfuse/ephemeral-storage-limit",
    }

    no_limit: ClassVar[str | None] = "0"

    cpu: Amount = "250m"
    """Cores that it requests."""
    memory: Amount = "256Mi"
    """Memory that it requests."""
    ephemeral_storage: Amount = "5Gi"
    """Space on the node's disk that it requests. Files that engines write pass through it."""
    cpu_limit: Amount | None = None
    """The most cores that it may use. Default: no limit."""
    memory_limit: Amount | None = None
    """The most memory that it may use. Default: no limit."""
    ephemeral_storage_limit: Amount | None = None
    """The most space that it may use. Default: no limit."""

    @property
    def requests(self) -> dict[str, str]:
        """Return what the sidecar requests."""
        return {**super().requests, "ephemeral-storage": self.ephemeral_storage}


class Bucket(api.Config):
    """A bucket of Google Cloud Storage, mounted by the CSI driver for Cloud Storage FUSE."""

    bucket: Annotated[str, Written(r"[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]", "the name of a bucket")]
    """Name of the bucket."""
    mount_options: tuple[Annotated[str, Written(r"[^,\s]+", "one option, without a comma")], ...] = ()
    """Options of Cloud Storage FUSE, such as `implicit-dirs`. Default: none."""
    read_only: bool = True
    """Whether pods only read it."""
    driver_installed: bool = False
    """Says that a cluster that this stack did not create has the driver and its webhook."""
    sidecar: GcsFuseSidecar = GcsFuseSidecar()
    """What the sidecar requests and may use, which the plan counts. Default: as the driver has it."""


class EmptyDir(api.Config):
    """Space on the node's disk that ends with the pod."""

    size_limit: Size
    """The most that it may hold; pods that write more are evicted."""
