"""Builders of a small stack and of what is desired for it: each test names only the fact it is about."""

from collections.abc import Mapping
from typing import Any

from inferfleet.desired import desired
from inferfleet.desired.values import Component, Desired, KubeObject
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.load import with_cached_models
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.fleet.spot import Spot

Document = InferenceCluster | ModelDeployment | ModelService | ModelCache
COMMIT = "0123456789abcdef0123456789abcdef01234567"

L4 = InferenceClass.model_validate(
    {
        "metadata": {"name": "l4"},
        "spec": {
            "node": {"cpu": "40", "memory": "160Gi"},
            "resources": {"gpu": {"count": 4, "memory": "24Gi"}},
        },
    }
)
NOTHING = Lock(stack="test")


def cluster(name: str, *, pools: tuple[str, ...] = ("l4",), state: str = "active", **spec: Any) -> Document:
    """Every pool has two nodes of four GPUs."""
    return InferenceCluster.model_validate(
        {
            "metadata": {"name": name},
            "spec": {
                "state": state,
                "cluster": {"source": "Existing", "existing": {"kubeconfig": {"configKey": name}}},
                "nodePools": [{"name": pool, "className": "l4", "nodeCount": 2} for pool in pools],
                "serving": {"gateway": {"className": "any"}},
                **spec,
            },
        }
    )


def deployment(
    name: str,
    replicas: int = 1,
    *,
    gpus: int = 1,
    engine: dict[str, Any] | None = None,
    declared: dict[str, Any] | None = None,
    pod: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
    namespace: str = "ml",
    **spec: Any,
) -> Document:
    """`engine` are fields of the engine's container, `declared` those of `spec.engine`, `pod` of the pod."""
    container = {"name": "engine", "image": "engine:1", **(engine or {})}
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
            "spec": {
                "replicas": replicas,
                "engine": {"servedNames": ["shared"], **(declared or {})},
                "workers": {
                    "topology": {"tensor": gpus},
                    "template": {"spec": {"containers": [container], **(pod or {})}},
                },
                **spec,
            },
        }
    )


def service(name: str, **labels: str) -> Document:
    """Selects by these labels; by none, everything in its namespace."""
    return ModelService.model_validate(
        {
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"endpoints": [{"selector": {"matchLabels": labels}}]},
        }
    )


def cache(
    name: str,
    repository: str = "Qwen/Qwen3-8B",
    revision: str = COMMIT,
    *,
    to: dict[str, Any] | None = None,
    source: dict[str, Any] | None = None,
    **spec: Any,
) -> Document:
    """`source` are further fields of the source on the hub."""
    hub = {"repository": repository, "revision": revision, **(source or {})}
    made_here = to is None
    return ModelCache.model_validate(
        {
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {
                "source": {"huggingFace": hub},
                **({"size": "20Gi"} if made_here else {}),
                "to": to or {"claim": {"storageClassName": "rwx"}},
                **spec,
            },
        }
    )


def stack(*documents: Document, **settings: Any) -> Documents:
    caches = {one.metadata.key: one for one in documents if isinstance(one, ModelCache)}
    return Documents(
        settings=Settings.model_validate({"stack": "test", **settings}),
        classes={"l4": L4},
        clusters={one.metadata.name: one for one in documents if isinstance(one, InferenceCluster)},
        deployments={
            one.metadata.key: with_cached_models(one, caches)
            for one in documents
            if isinstance(one, ModelDeployment)
        },
        caches=caches,
        services={one.metadata.key: one for one in documents if isinstance(one, ModelService)},
    )


def spot(text: str) -> Spot:
    """`a east/l4` is deployment ml/a on pool l4 of cluster east."""
    name, _, place = text.partition(" ")
    where, _, pool = place.partition("/")
    return Spot(f"ml/{name}", where, (("decode", pool),))


def lock(
    placements: dict[str, int],
    services: dict[str, tuple[str, ...]] | None = None,
    uids: Mapping[str, str | None] | None = None,
    nodes: Mapping[str, int] | None = None,
) -> Lock:
    return Lock(
        nodes=nodes or {},
        stack="test",
        clusters={name: LockedCluster("Existing", uid) for name, uid in (uids or {}).items()},
        placements={spot(text): replicas for text, replicas in placements.items()},
        services={f"ml/{name}": clusters for name, clusters in (services or {}).items()},
    )


def made(*documents: Document, lock: Lock = NOTHING, **settings: Any) -> Desired:
    return desired(stack(*documents, **settings), lock)


def components(found: Desired, cluster: str) -> list[tuple[str, str]]:
    """Kind and name of everything on a cluster."""
    return [(one.kind, one.name) for one in _components(found, cluster)]


def find(found: Desired, kind: str, name: str) -> KubeObject:
    """The only object of this Kubernetes kind and Pulumi name."""
    (one,) = (one for part in found.clusters for one in part.objects if (one.kind, one.name) == (kind, name))
    return one


def after(found: Desired, kind: str, name: str) -> set[str]:
    """What must stand before an object, in the words `Kind name`."""
    return {_short(key) for key in find(found, kind, name).after}


def _short(key: str) -> str:
    token, _, name = key.partition(" ")
    return f"{token.rpartition(':')[2]} {name}"


def _components(found: Desired, cluster: str) -> tuple[Component, ...]:
    return next(one.components for one in found.clusters if one.connection.cluster == cluster)
