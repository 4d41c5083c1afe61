"""Plugin model-cache: where an engine keeps the models that it downloads, or finds those that are there.

One volume, and the variables by which Hugging Face's libraries (HF_HOME) or NVIDIA's NIM (NIM_CACHE_PATH) use
it. Claims, buckets, images and Secrets come from the stack; values of tokens are never in a config.

* A claim that all replicas share has to be ReadWriteMany or ReadOnlyMany.
* An image volume is named by digest, so that all replicas have the same files. It is alpha in Kubernetes
  1.31, beta and off in 1.33, on by default from 1.35, stable in 1.36, and needs containerd 2.1 or CRI-O 1.31.
* Pods with a volume of Cloud Storage FUSE get GKE's sidecar, whoever gave them the volume, and the plan
  counts it. The driver is on in GKE clusters of the stack, and looked for on others. Pods read the bucket as
  their ServiceAccount, by Workload Identity Federation.
* An emptyDir is empty for each new pod, so it saves downloads of containers that restart, and nothing else.
* A model in an OCI registry is unpacked by kit, in an init container, to a folder with which engines are
  started: no cache, so no variable names it.

From a volume that is read-only nothing can be downloaded, so engines are told that they are offline.
A template that has one of the variables with another value is refused: its engine would look elsewhere.

Sources: huggingface_hub docs/source/en/package_reference/environment_variables.md (HF_HOME, HF_TOKEN,
HF_HUB_OFFLINE) and src/huggingface_hub/constants.py (TRANSFORMERS_OFFLINE), transformers
src/transformers/dynamic_module_utils.py (HF_MODULES_CACHE);
docs.nvidia.com/nim/large-language-models/2.0.13 (NIM_CACHE_PATH, NIM_DISABLE_MODEL_DOWNLOAD,
/opt/nim/.cache, NGC_API_KEY); of kitops-ml/kitops pkg/cmd/unpack/cmd.go at 908eee3 (kit unpack),
pkg/lib/network/auth.go at 2e08698 (DOCKER_CONFIG is read where kit's own store has nothing),
pkg/lib/repo/util/reference.go at a041892 (a registry has a dot or a port) and its release Dockerfile (kit
runs as user 1001); vLLM vllm/envs.py (VLLM_CACHE_ROOT);
kubernetes.io/docs/tasks/configure-pod-container/image-volumes (v1.35), and of kubernetes/kubernetes the pull
requests 135195 (on in 1.35) and 136711 (stable in 1.36);
cloud.google.com/kubernetes-engine/docs/how-to/cloud-storage-fuse-csi-driver-sidecar (2026), and
pkg/webhook/config.go of GoogleCloudPlatform/gcs-fuse-csi-driver at 01870a9.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Amount,
    Edited,
    Mistake,
    ObjectName,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    TextRule,
    containers,
    engine,
    limit_mistakes,
    put_env,
    put_field,
    put_init_container,
    put_mount,
    put_volume,
)

VOLUME = "model-cache"
NIM_PATH = "/opt/nim/.cache"
HF_PATH = "/model-cache"
GCS_DRIVER = "gcsfuse.csi.storage.gke.io"
_IMAGES_SINCE = (1, 35)
# Code of a model that transformers copies there must be writable, also where HF_HOME is not.
_MODULES = {"name": "HF_MODULES_CACHE", "value": "/tmp/hf-modules"}
# The init container, its image where neither the cluster nor a config names one, and its own folders.
UNPACK = "model-unpack"
KIT_IMAGE = "ghcr.io/kitops-ml/kitops:v1.11.0"
_KIT_HOME, _DOCKER_CONFIG = "/tmp/kit", "/.docker"

SubPath = Annotated[
    str, TextRule(r"(?!(.*/)?\.\.(/|$))[^/:][^:]*", "a path inside the volume, without ..", limit=1024)
]
Size = Annotated[str, TextRule(r"[1-9][0-9]*(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)", "a quantity such as 200Gi")]
Path = Annotated[str, TextRule(r"(/[^/:]+)+", "an absolute path such as /model-cache", limit=1024)]


class SecretKey(api.Config):
    """A key of a Secret; its value is never written here."""

    name: ObjectName
    """Name of the Secret in the namespace of the deployment."""
    key: Annotated[str, TextRule(r"[-._a-zA-Z0-9]+", "a key of a Secret")]
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
        TextRule(
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


class GcsFuseSidecar(api.Config):
    """What the sidecar of Cloud Storage FUSE requests and may use."""

    cpu: Amount | None = None
    """Cores that it requests. Default: `cpuLimit`, or else as the driver has it."""
    memory: Amount | None = None
    """Memory that it requests. Default: `memoryLimit`, or else as the driver has it."""
    ephemeral_storage: Amount | None = None
    """Space on the node's disk that it requests. Files that engines write pass through it. Default:
    `ephemeralStorageLimit`, or else as the driver has it.
    """
    cpu_limit: Amount | None = None
    """The most cores that it may use. Default: no limit."""
    memory_limit: Amount | None = None
    """The most memory that it may use. Default: no limit."""
    ephemeral_storage_limit: Amount | None = None
    """The most space that it may use. Default: no limit."""

    def mistakes(self) -> Iterator[Mistake]:
        """Return requests beyond their limits."""
        return limit_mistakes(self, {name: request for name, (request, _) in self._sizes.items() if request})

    @property
    def annotations(self) -> dict[str, str]:
        """Return the annotations of what is set.

        The webhook takes a limit of 0 for none, and one that is left out for the request.
        """
        annotations = {}
        for name, (request, limit) in self._sizes.items():
            if request:
                annotations[f"gke-gcsfuse/{name}-request"] = request
            if request or limit:
                annotations[f"gke-gcsfuse/{name}-limit"] = limit or "0"
        return annotations

    @property
    def _sizes(self) -> dict[str, tuple[str | None, str | None]]:
        return {
            "cpu": (self.cpu, self.cpu_limit),
            "memory": (self.memory, self.memory_limit),
            "ephemeral-storage": (self.ephemeral_storage, self.ephemeral_storage_limit),
        }


class Bucket(api.Config):
    """A bucket of Google Cloud Storage, mounted by the CSI driver for Cloud Storage FUSE."""

    bucket: Annotated[str, TextRule(r"[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]", "the name of a bucket")]
    """Name of the bucket."""
    mount_options: tuple[Annotated[str, TextRule(r"[^,\s]+", "one option, without a comma")], ...] = ()
    """Options of Cloud Storage FUSE, such as `implicit-dirs`. Default: none."""
    read_only: bool = True
    """Whether pods only read it."""
    sidecar: GcsFuseSidecar = GcsFuseSidecar()
    """What the sidecar requests and may use, which the plan counts. Default: as annotations of the template
    say, or the driver has it.
    """


class EmptyDir(api.Config):
    """Space on the node's disk that ends with the pod."""

    size_limit: Size
    """The most that it may hold; pods that write more are evicted."""


class Oci(api.Config):
    """A model in an OCI registry, a ModelKit or ModelPack, that kit unpacks for each pod anew."""

    reference: Annotated[
        str,
        TextRule(
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
    image: Annotated[str, TextRule(r"\S+", "an image", limit=1024)] | None = None
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


class Config(api.Config):
    """Exactly one of pvc, image, gcsFuse, emptyDir and oci has to be set."""

    pvc: Claim | None = None
    """Models are on a PersistentVolumeClaim."""
    image: Image | None = None
    """Models are in an image volume."""
    gcs_fuse: Bucket | None = None
    """Models are in a bucket of Google Cloud Storage."""
    empty_dir: EmptyDir | None = None
    """Models are downloaded for each pod anew."""
    oci: Oci | None = None
    """Models are unpacked from an OCI registry for each pod anew, into a folder that engines only read."""
    layout: Literal["HuggingFace", "NIM"] = "HuggingFace"
    """Whose cache it is: of Hugging Face's libraries (HF_HOME), or of NVIDIA's NIM (NIM_CACHE_PATH)."""
    mount_path: Path | None = None
    """Where it is mounted. Default: `/model-cache`, for NIM `/opt/nim/.cache`."""
    offline: bool = False
    """Whether nothing is downloaded: everything that the engine needs is there."""
    hf_token: SecretKey | None = None
    """Token for Hugging Face (HF_TOKEN), from a Secret."""
    ngc_api_key: SecretKey | None = None
    """Key for NVIDIA's registry (NGC_API_KEY), from a Secret; for NIM alone."""
    compile_cache: bool = False
    """Whether vLLM keeps what it compiles there too (VLLM_CACHE_ROOT), which shortens the next start."""
    containers: Annotated[tuple[str, ...], Field(min_length=1)] = ("engine",)
    """Containers that get them, such as an init container that downloads. Default: the engine."""

    def mistakes(self) -> Iterator[Mistake]:
        """Yield what source, layout, tokens and caches contradict."""
        sources = [name for name, source in self.sources.items() if source is not None]
        if len(sources) != 1:
            has = " and ".join(sources) or "none"
            yield Mistake(
                f"model-cache needs one of {', '.join(self.sources)}, and has {has}",
                "Keep one of them" if sources else "Add one of them",
            )
        if self.read_only and not self.offline and not self.oci:
            yield Mistake(
                "the volume is read-only, so what is missing in it cannot be downloaded",
                "Set offline: true, or take a volume that can be written",
            )
        if self.offline and self.empty_dir:
            yield Mistake("offline is true, and an emptyDir begins empty", "Remove offline, or take a claim")
        if self.offline and (self.hf_token or self.ngc_api_key):
            yield Mistake("offline is true, so no token is of use", "Remove the token, or offline")
        if self.oci and self.layout == "NIM":
            yield Mistake("NIM does not take a model by its folder", "Remove oci, or layout: NIM")
        if self.ngc_api_key and self.layout != "NIM":
            yield Mistake("ngcApiKey is of use to NIM alone", "Set layout: NIM, or remove ngcApiKey")
        if self.compile_cache and self.read_only:
            yield Mistake("compileCache is true, and the volume is read-only", "Remove one of the two")

    @property
    def sources(self) -> dict[str, api.Config | None]:
        """Return the possible sources by the names of their fields."""
        return {
            "pvc": self.pvc,
            "image": self.image,
            "gcsFuse": self.gcs_fuse,
            "emptyDir": self.empty_dir,
            "oci": self.oci,
        }

    @property
    def read_only(self) -> bool:
        """Return whether engines cannot write to the volume."""
        return bool(
            self.image
            or self.oci
            or (self.pvc and self.pvc.read_only)
            or (self.gcs_fuse and self.gcs_fuse.read_only)
        )

    @property
    def path(self) -> str:
        """Return where the volume is mounted."""
        return self.mount_path or (NIM_PATH if self.layout == "NIM" else HF_PATH)


def edit(template: PodTemplate, request: Request, config: Config) -> Edited:
    """Give engines models on a volume: a claim, an image, a bucket, the node's disk, or unpacked by kit."""
    if config.compile_cache and request.deployment.engine != "vLLM":
        raise PluginError(
            f"compileCache is for vLLM, and the engine is {request.deployment.engine}; remove it, or limit "
            "the plugin to roles with vLLM"
        )
    mount: dict[str, Any] = {"name": VOLUME, "mountPath": config.path}
    if config.read_only:
        mount["readOnly"] = True
    for source in (config.pvc, config.image):
        if source and source.sub_path:
            mount["subPath"] = source.sub_path
    put_volume(template, {"name": VOLUME, **_source(config)})
    if config.oci:
        _unpack(template, request, config.oci, {"name": VOLUME, "mountPath": config.path})
    by_name = {container["name"]: container for container in containers(template)}
    for name in dict.fromkeys(config.containers):
        if name not in by_name:
            raise PluginError(
                f"containers names {name}, which the pod does not have; it has {', '.join(by_name)}"
            )
        put_mount(by_name[name], mount.copy())
        put_env(by_name[name], *_variables(config), replace=False)
    if config.gcs_fuse:
        return _with_bucket(template, request, config.gcs_fuse)
    if config.oci:
        loaded = _loaded_elsewhere(template, request, config.path)
        return Edited(template, remarks=(*config.oci.remarks, *loaded))
    return Edited(template, remarks=_image_remarks(request) if config.image else ())


def _loaded_elsewhere(template: PodTemplate, request: Request, folder: str) -> tuple[str, ...]:
    """Return what explain says of an engine whose model is known, and is not what kit unpacks."""
    model = request.deployment.model
    if model is None or PurePosixPath(engine(template).get("workingDir", ""), model).is_relative_to(folder):
        return ()
    return (
        f"each pod unpacks a model to {folder}, and the engine's is {model!r}, which it would load from "
        f"elsewhere; write engine.model: {folder}",
    )


def _image_remarks(request: Request) -> tuple[str, ...]:
    """Return what explain says of image volumes. Raises PluginError for a cluster that may not have them."""
    name, version = request.cluster.name, request.cluster.version
    since = f"image volumes, which are on by default from Kubernetes {_IMAGES_SINCE[0]}.{_IMAGES_SINCE[1]}"
    if version is None:
        return (f"cluster {name} must have {since}",)
    if tuple(int(number) for number in version.split(".")[:2]) < _IMAGES_SINCE:
        raise PluginError(
            f"cluster {name} is known to have Kubernetes {version} or later, which may be without {since}; "
            "raise minVersion of the cluster, or take pvc or gcsFuse"
        )
    return ()


def _source(config: Config) -> dict[str, Any]:
    if config.pvc:
        claim: dict[str, Any] = {"claimName": config.pvc.claim_name}
        return {"persistentVolumeClaim": claim | ({"readOnly": True} if config.pvc.read_only else {})}
    if config.image:
        return {"image": {"reference": config.image.reference, "pullPolicy": config.image.pull_policy}}
    if config.gcs_fuse:
        attributes = {"bucketName": config.gcs_fuse.bucket}
        if config.gcs_fuse.mount_options:
            attributes["mountOptions"] = ",".join(config.gcs_fuse.mount_options)
        return {
            "csi": {
                "driver": GCS_DRIVER,
                "readOnly": config.gcs_fuse.read_only,
                "volumeAttributes": attributes,
            }
        }
    of_node = config.empty_dir or config.oci
    return {"emptyDir": {"sizeLimit": of_node.size_limit if of_node else None}}


def _variables(config: Config) -> list[dict[str, Any]]:
    home = "NIM_CACHE_PATH" if config.layout == "NIM" else "HF_HOME"
    values = {} if config.oci else {home: config.path}
    if config.offline:
        values |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        if config.layout == "NIM":
            values["NIM_DISABLE_MODEL_DOWNLOAD"] = "1"
    if config.compile_cache:
        values["VLLM_CACHE_ROOT"] = f"{config.path}/vllm"
    variables: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in values.items()]
    if config.read_only and config.layout == "HuggingFace" and not config.oci:
        variables.append(_MODULES.copy())
    for name, secret in (("HF_TOKEN", config.hf_token), ("NGC_API_KEY", config.ngc_api_key)):
        if secret:
            reference = {"name": secret.name, "key": secret.key}
            variables.append({"name": name, "valueFrom": {"secretKeyRef": reference}})
    return variables


def _with_bucket(template: PodTemplate, request: Request, bucket: Bucket) -> Edited:
    for key, value in bucket.sidecar.annotations.items():
        put_field(template, "metadata", "annotations", key, value=value)
    account = template["spec"].get("serviceAccountName", "default")
    remark = f"ServiceAccount {request.namespace}/{account} needs access to the bucket {bucket.bucket}"
    return Edited(template, remarks=(remark,))


def _unpack(template: PodTemplate, request: Request, source: Oci, mount: dict[str, Any]) -> None:
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


PLUGIN = Plugin("model-cache", Config, edit, version="1.2.0")
