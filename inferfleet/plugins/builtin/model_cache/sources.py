"""What the volume of a cache may be: a claim, an image, a bucket with its sidecar, or space of the node, that
is empty at first or has a model that kit unpacks.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Amount,
    ObjectName,
    PodTemplate,
    Request,
    SidecarConfig,
    Written,
    put_init_container,
    put_volume,
)

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


# The init container, its image where neither the cluster nor a config names one, and its own folders.
UNPACK = "model-unpack"
KIT_IMAGE = "ghcr.io/kitops-ml/kitops:v1.11.0"
_KIT_HOME, _DOCKER_CONFIG = "/tmp/kit", "/.docker"


class Oci(api.Config):
    """A model in an OCI registry, a ModelKit or ModelPack, that kit unpacks for each pod anew."""

    reference: Annotated[
        str,
        Written(
            r"(?=[^/]*[.:])[A-Za-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
            r"(:[A-Za-z0-9_][-A-Za-z0-9_.]*|@sha256:[0-9a-f]{64})",
            "a registry (with a dot or a port), a repository in lower case and a tag or digest, such as "
            "registry.example.com/qwen:v1",
            limit=1024,
        ),
    ]
    """The artifact by registry, repository and tag or digest. A tag may be another model tomorrow. kit takes
    a first part without a dot or a port for a repository on localhost.
    """
    size_limit: Size
    """The most that the unpacked model may take of the node's disk, and as much again for what kit keeps."""
    image: Annotated[str, Written(r"\S+", "an image", limit=1024)] | None = None
    """Image with kit. Default: `serving.images.kit` of the cluster, or else that of KitOps 1.11.0."""
    pull_secret: ObjectName | None = None
    """Secret of type `kubernetes.io/dockerconfigjson` for the registry. Default: the first of the pod's
    `imagePullSecrets`, if it has any.
    """
    plain_http: bool = False
    """Whether the registry is asked by http, where nobody checks what comes."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return what explain says of the reference."""
        if "@" in self.reference:
            return ()
        return (f"each pod unpacks what {self.reference} is when it starts; a digest is always the same",)


def unpack(template: PodTemplate, request: Request, source: Oci, mount: dict[str, Any]) -> None:
    """Add an init container that unpacks the model into the volume of `mount`, before engines start."""
    home = f"{mount['name']}-kit"
    mounts = [mount, {"name": home, "mountPath": _KIT_HOME}]
    variables = [{"name": "KITOPS_HOME", "value": _KIT_HOME}]
    put_volume(template, {"name": home, "emptyDir": {"sizeLimit": source.size_limit}})
    pull_secrets = template["spec"].get("imagePullSecrets", ())
    secret = source.pull_secret or next((pull["name"] for pull in pull_secrets), None)
    if secret:
        name = f"{mount['name']}-docker"
        items = [{"key": ".dockerconfigjson", "path": "config.json"}]
        put_volume(template, {"name": name, "secret": {"secretName": secret, "items": items}})
        mounts.append({"name": name, "mountPath": _DOCKER_CONFIG, "readOnly": True})
        variables.append({"name": "DOCKER_CONFIG", "value": _DOCKER_CONFIG})
    plain = ["--plain-http"] if source.plain_http else []
    container = {
        "name": UNPACK,
        "image": source.image or request.cluster.kit_image or KIT_IMAGE,
        "command": ["kit"],
        # A container that is started again finds what the one before it unpacked.
        "args": ["unpack", source.reference, "--dir", mount["mountPath"], "--overwrite", *plain],
        "env": variables,
        "volumeMounts": mounts,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    put_init_container(template, container, same=("image", "args"))
