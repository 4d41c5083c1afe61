"""Builders of small documents: each test names only the fact it is about."""

from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.kinds.policy import Quota
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.spot import Spot

Document = InferenceClass | InferenceCluster | ModelDeployment | ModelService | Quota | Settings


def class_(name: str, gpus: int, *, memory: str = "80Gi", cpu: str = "200", **spec: Any) -> InferenceClass:
    node = {"cpu": cpu, "memory": "1000Gi"}
    resources = {} if "devices" in spec else {"resources": {"gpu": {"count": gpus, "memory": memory}}}
    return InferenceClass.model_validate(
        {"metadata": {"name": name}, "spec": {"node": node, **resources, **spec}}
    )


def gke(
    name: str,
    pools: dict[str, tuple[str, int]],
    *,
    region: str = "us-east5",
    models: dict[str, str] | None = None,
    zones: dict[str, list[str]] | None = None,
    labels: dict[str, str] | None = None,
) -> InferenceCluster:
    """A cluster of the stack's own; `models` and `zones` are those of its pools, by their names."""
    models, zones = models or {}, zones or {}
    return InferenceCluster.model_validate(
        {
            "metadata": {"name": name, "labels": labels or {}},
            "spec": {
                "cluster": {"source": "GKE", "gke": {"project": "acme-prod", "region": region}},
                "nodePools": [
                    {
                        "name": pool,
                        "className": class_name,
                        "nodeCount": nodes,
                        "capacity": {"model": models.get(pool, "OnDemand")},
                        "zones": zones.get(pool, []),
                    }
                    for pool, (class_name, nodes) in pools.items()
                ],
            },
        }
    )


L4 = class_("l4", 4, memory="24Gi")
H100 = class_("h100", 8, memory="80Gi")


def cluster(
    name: str,
    pools: dict[str, tuple[str, int]],
    *,
    state: str = "active",
    labels: dict[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    models: dict[str, str] | None = None,
) -> InferenceCluster:
    """`pools`: name to (class, number of nodes); `models` are their capacity models."""
    bought = {pool: {"capacity": {"model": model}} for pool, model in (models or {}).items()}
    return InferenceCluster.model_validate(
        {
            "metadata": {"name": name, "labels": labels or {}},
            "spec": {
                "state": state,
                "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": "kubeconfig"}}},
                "nodePools": [
                    {"name": pool, "className": class_name, "nodeCount": nodes, **bought.get(pool, {})}
                    for pool, (class_name, nodes) in pools.items()
                ],
                "taints": taints or [],
                "serving": {"gateway": {"className": "any"}},
            },
        }
    )


def deployment(
    name: str,
    replicas: int,
    *,
    gpus: int = 1,
    workers: int = 1,
    topology: dict[str, int] | None = None,
    cel: str | None = None,
    selector: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    resources: dict[str, Any] | None = None,
    follower: str | None = None,
    pod: dict[str, Any] | None = None,
    **spec: Any,
) -> ModelDeployment:
    """`follower` are the cores that followers ask for, where they have a template of their own; `pod` are
    further fields of the spec of pods.
    """
    engine = {"name": "engine", "image": "engine:1", **({"resources": resources} if resources else {})}
    template = {"spec": {"containers": [engine], **(pod or {})}}
    templates: dict[str, Any] = {"template": template}
    if follower:
        other = {"name": "engine", "image": "engine:1", "resources": {"requests": {"cpu": follower}}}
        followers = {"spec": {"containers": [other]}}
        templates = {"entry": {"template": template}, "follower": {"template": followers}}
    if spec.get("prefill", "") is None:
        del spec["prefill"]  # a document does not say null
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": name, "namespace": "ml", "labels": labels or {}},
            "spec": {
                "replicas": replicas,
                "clusterSelector": {"matchLabels": selector or {}},
                **({"nodeSelector": {"cel": cel}} if cel else {}),
                "workers": {
                    "count": workers,
                    "topology": topology or {"tensor": gpus},
                    **templates,
                },
                "engine": {"servedNames": ["shared"], **spec.pop("engine", {})},
                **spec,
            },
        }
    )


def service(name: str, *entries: tuple[int, dict[str, str]], namespace: str = "ml") -> ModelService:
    """`entries`: weight and the labels it selects."""
    endpoints = [{"weight": weight, "selector": {"matchLabels": labels}} for weight, labels in entries]
    return ModelService.model_validate(
        {"metadata": {"name": name, "namespace": namespace}, "spec": {"endpoints": endpoints}}
    )


def quota(name: str = "q", namespace: str = "ml", **spec: Any) -> Quota:
    return Quota.model_validate({"metadata": {"name": name, "namespace": namespace}, "spec": spec})


def fleet(*documents: Document) -> Documents:
    """The documents of a stack, and its settings if there are any; classes L4 and H100 are always known."""
    every = (L4, H100, *documents)
    return Documents(
        settings=next((item for item in documents if isinstance(item, Settings)), Settings(stack="test")),
        classes={item.metadata.name: item for item in every if isinstance(item, InferenceClass)},
        clusters={item.metadata.name: item for item in documents if isinstance(item, InferenceCluster)},
        deployments={item.metadata.key: item for item in documents if isinstance(item, ModelDeployment)},
        services={item.metadata.key: item for item in documents if isinstance(item, ModelService)},
        quotas={item.metadata.key: item for item in documents if isinstance(item, Quota)},
    )


def spot(text: str) -> Spot:
    """`a east/h100` is deployment ml/a on pool h100 of cluster east."""
    name, _, place = text.partition(" ")
    where, _, pool = place.partition("/")
    return Spot(f"ml/{name}", where, (("decode", pool),))


def lock(
    placements: dict[str, int],
    services: dict[str, tuple[str, ...]] | None = None,
    nodes: dict[str, int] | None = None,
) -> Lock:
    """`nodes`: those that pools had, by cluster/pool."""
    return Lock(
        nodes=nodes or {},
        stack="test",
        placements={spot(text): number for text, number in placements.items()},
        services={f"ml/{name}": clusters for name, clusters in (services or {}).items()},
    )


def placed(plan: Plan) -> dict[str, int]:
    """The placements in the words of `spot`."""
    return {
        f"{placement.spot.name} {placement.spot.cluster}/{placement.spot.pools[0][1]}": placement.replicas
        for placement in plan.placements
    }


def role(
    gpus: int = 1,
    *,
    workers: int = 1,
    cel: str | None = None,
    pod: dict[str, Any] | None = None,
    **topology: int,
) -> dict[str, Any]:
    """A further role of a deployment."""
    template = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}], **(pod or {})}}
    made = {"count": workers, "topology": {"tensor": gpus, **topology}, "template": template}
    return {"workers": made, **({"nodeSelector": {"cel": cel}} if cel else {})}


def standing(plan: Plan) -> dict[str, int]:
    """The placements in the words of the lock."""
    return {str(placement.spot): placement.replicas for placement in plan.placements}
