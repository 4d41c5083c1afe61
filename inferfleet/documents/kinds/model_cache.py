"""ModelCache: the weights of a model, fetched once per cluster, so that no pod downloads them."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from inferfleet.documents.kinds.base import (
    API_VERSION,
    IMAGE,
    LabelSelector,
    NamespacedMetadata,
    Quantity,
    RefusedField,
    StrictModel,
)
from inferfleet.documents.kinds.hugging_face import Commit, Repository
from inferfleet.documents.kinds.model_deployment import ModelToken, no_token
from inferfleet.documents.pods.texts import SUBDOMAIN, TextRule
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing

# What engines load: weights without pickles, which may hold programs, and what tokenizers and processors
# read. Without a slash they are files of the repository itself, so `original/` is not among them.
FILES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.tiktoken", "*.txt")
_PATTERN = TextRule(
    r"(?!/)(?!(.*/)?\.\.(/|$))[!-~]+", "a path in the repository, in which * and ? stand for anything", 255
)


_Folder = Annotated[
    str, TextRule(r"(?!(.*/)?\.\.(/|$))[^/:][^:]*", "a path inside the volume, without ..", 1024)
]


class HuggingFaceSource(StrictModel):
    """A repository of the Hugging Face Hub, or of a mirror of it, at one commit."""

    repository: Repository
    """Owner and name of the repository, such as `Qwen/Qwen3-32B-AWQ`."""
    revision: Commit
    """The commit, 40 hexadecimal digits. Another one is fetched beside the old one."""
    files: Annotated[tuple[Annotated[str, _PATTERN], ...], Field(min_length=1, max_length=64)] = FILES
    """Which files are fetched: paths in which `*` and `?` stand for anything; one without a slash is for
    files of the repository itself, not of its folders. Default: safetensors, JSON, templates and tokenizers
    (`*.safetensors`, `*.json`, `*.jinja`, `*.model`, `*.tiktoken`, `*.txt`).
    """
    token: Annotated[ModelToken | None, BeforeValidator(no_token)] = None
    """Token for repositories that ask for one. Default: none."""
    endpoint: Annotated[str, TextRule(r"https?://[!-~]+", "a URL such as https://hub.example.com", 255)] = (
        "https://huggingface.co"
    )
    """Address of the hub, for a mirror of one's own. Default: `https://huggingface.co`."""


class CacheSource(StrictModel):
    """Where the weights come from."""

    refused_fields = {
        source: RefusedField("Write huggingFace", why="weights are fetched from the Hugging Face Hub alone")
        for source in ("s3", "gcs", "oci", "http")
    }

    hugging_face: HuggingFaceSource
    """A repository of the Hugging Face Hub at one commit."""


class CacheClaim(StrictModel):
    """Weights on a PersistentVolumeClaim that all pods of a cluster mount: one that inferfleet makes and
    fills, or one of somebody's.
    """

    storage_class_name: Annotated[str, SUBDOMAIN] | None = None
    """StorageClass of claims that are made, one for each commit, in which any number of nodes can mount them
    at once (ReadWriteMany). On GKE that is one of Filestore whose parameter `network` is the cluster's own
    network; disks (`standard-rwo`, `premium-rwo`) cannot.
    """
    name: Annotated[str, SUBDOMAIN] | None = None
    """A claim in the namespace of the cache, on all of its clusters, that holds the files already: nothing is
    fetched, and nobody looks whether they are those of `source`.
    """
    folder: _Folder | None = None
    """Folder of the files in a claim of somebody's (`name`). Default: its root."""

    @model_validator(mode="after")
    def _check_one_of_two(self) -> "CacheClaim":
        if (self.storage_class_name is None) == (self.name is None):
            has = "both" if self.name else "neither"
            what = (
                "a claim has storageClassName, with which it is made, or the name of one that is there, and "
                f"this one has {has}"
            )
            raise mistaken(what, "Write one of the two")
        if self.folder and self.name is None:
            what = "folder is for a claim that somebody filled, and this one is filled by inferfleet"
            raise Mistaken(Mistake(what, "Remove folder", ("folder",)))
        return self


class CacheBucket(StrictModel):
    """Weights in a bucket of Google Cloud Storage, which all clusters of the cache mount by Cloud Storage
    FUSE. It is filled once, by a Job on the first of them.
    """

    name: Annotated[str, TextRule(r"[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]", "the name of a bucket")] | None = (
        None
    )
    """Name of a bucket that is there, in which the ServiceAccount `<cache>-filler` of the first cluster may
    write (`roles/storage.objectUser`), and those of pods may read (`roles/storage.objectViewer`). Default:
    one that the stack creates for the namespace in each region where it creates clusters of the cache.
    """


class CacheImage(StrictModel):
    """Weights that are the content of an OCI image or artifact, which kubelets pull like those of containers
    (image volumes, of Kubernetes 1.36 and later). For small models: each node pulls it whole.
    """

    reference: Annotated[
        str,
        TextRule(r"[!-~]+@sha256:[0-9a-f]{64}", "an image by its digest: REGISTRY/NAME@sha256:...", 4096),
    ]
    """The image by its digest, which is the same content everywhere and for ever. Nothing is fetched, and
    nobody looks whether its files are those of `source`.
    """
    folder: _Folder | None = None
    """Folder of the files in the image. Default: its root."""


class CacheTarget(StrictModel):
    """Where the weights are kept: one of the three."""

    refused_fields = {
        "node": RefusedField("Write claim", why="nodes that come later would never be filled"),
        "bootDisk": RefusedField("Write claim", why="each commit would replace all nodes of a pool"),
    }

    claim: CacheClaim | None = None
    """A volume that all pods of a cluster mount, on each cluster one."""
    bucket: CacheBucket | None = None
    """A bucket that clusters of one region share: one of somebody's, by its name, or with `{}` the stack's
    own.
    """

    image: CacheImage | None = None
    """An image with the weights, which each node pulls."""

    @model_validator(mode="after")
    def _check_one_of_three(self) -> "CacheTarget":
        written = [name for name in ("claim", "bucket", "image") if getattr(self, name)]
        if len(written) != 1:
            has = listing(written) if written else "none"
            what = f"weights are kept in a claim, a bucket or an image, and to has {has}"
            raise mistaken(what, "Write one of the three")
        return self


class ModelCacheSpec(StrictModel):
    """Which weights, how large, on which clusters, and where."""

    source: CacheSource
    """Where the weights come from."""
    size: Quantity | None = None
    """Size of the volume for one commit, such as `70Gi`: all files fit into it. Required where weights are
    fetched.
    """
    cluster_selector: LabelSelector = LabelSelector()
    """Clusters that have the cache, by the labels of their documents: deployments that name it run on no
    others. Default: all clusters.
    """
    to: CacheTarget
    """Where the weights are kept."""
    when_removed: Literal["Retain", "Delete"] = "Retain"
    """What becomes of a claim that no document has any more, be it of a former commit or of the whole cache:
    it stays on its cluster, or it is deleted with its files once no pods of deployments have it. Default:
    `Retain`.
    """
    image: Annotated[str, IMAGE] | None = None
    """Image of the Job that fetches, with `python3` and Hugging Face's client (`huggingface_hub`). Default:
    `serving.images.engine` of the cluster for vLLM, or else that of vLLM.
    """

    @model_validator(mode="after")
    def _check_when_removed(self) -> "ModelCacheSpec":
        made = self.to.claim is not None and self.to.claim.storage_class_name is not None
        if self.when_removed == "Delete" and not made:
            what = "whenRemoved: Delete is for claims that are made, and these weights are kept elsewhere"
            raise Mistaken(Mistake(what, "Remove whenRemoved", ("whenRemoved",)))
        return self

    @property
    def filled_here(self) -> bool:
        """Whether inferfleet fetches the weights."""
        return self.to.image is None and (self.to.claim is None or self.to.claim.name is None)

    @model_validator(mode="after")
    def _check_size(self) -> "ModelCacheSpec":
        if self.filled_here and self.size is None:
            raise Mistaken(Mistake("size is missing: all files have to fit into it", "Add size", ("size",)))
        if self.size is None:
            return self
        if not self.filled_here:
            what = "size is for weights that are fetched, and these are there already"
            raise Mistaken(Mistake(what, "Remove size", ("size",)))
        if parse_quantity(self.size) <= 0:
            what = f"size {self.size} must be more than 0"
            raise Mistaken(Mistake(what, "Write how much the files take", ("size",)))
        return self

    @property
    def size_in_bytes(self) -> int:
        """How much all files may take; 0 where nothing is fetched."""
        return int(parse_quantity(self.size)) if self.size else 0


class ModelCache(StrictModel):
    """The weights of a model, fetched once per cluster and checked, before pods of a deployment load them
    (`engine.model: {cache: NAME}`).
    """

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["ModelCache"] = "ModelCache"
    """Kind of the document."""
    metadata: NamespacedMetadata
    """Name, namespace and labels of the cache. Deployments of its namespace may name it."""
    spec: ModelCacheSpec
    """Which weights, how large, on which clusters, and where."""

    @property
    def folder(self) -> str:
        """Where pods have the files: some engines name a model after its folder."""
        return f"/weights/{self.spec.source.hugging_face.repository.rpartition('/')[2]}"

    @property
    def content(self) -> dict[str, Any]:
        """What decides which files the cache holds: another content is fetched beside the old one."""
        source = self.spec.source.hugging_face
        return {"repository": source.repository, "revision": source.revision, "files": list(source.files)}

    @property
    def in_own_bucket(self) -> bool:
        """Whether it holds them in a bucket that the stack creates."""
        return self.spec.to.bucket is not None and self.spec.to.bucket.name is None

    def in_bucket(self, name: str) -> "ModelCache":
        """Return the cache as it is where the stack's own bucket has this name."""
        to = self.spec.to.model_copy(update={"bucket": CacheBucket(name=name)})
        return self.model_copy(update={"spec": self.spec.model_copy(update={"to": to})})

    @property
    def place(self) -> dict[str, Any]:
        """What decides in which volume it holds them."""
        if self.spec.to.bucket:
            return {"bucket": self.spec.to.bucket.name}
        return {"class": self.spec.to.claim.storage_class_name if self.spec.to.claim else None}
