"""What scales the workload of a placement: a HorizontalPodAutoscaler, or a ScaledObject of KEDA.

A scaler sets `spec.replicas` by the subresource `scale`, which Deployments and LeaderWorkerSets both have:
pods of the one, whole groups of the other, whose metrics are those of its leaders (`hpaPodSelector`,
api/leaderworkerset/v1 of kubernetes-sigs/lws v0.9.0). Each placement has its own, because none knows clusters
beside its own.

Metrics of engines are of pods, and their average over the pods of the placement is compared with the target.
Those of a picker are averages over its InferencePool already. Both come to a HorizontalPodAutoscaler by an
adapter: with prometheus-adapter under their own names, with Google's as its names are on
https://cloud.google.com/kubernetes-engine/docs/how-to/machine-learning/inference/autoscaling.
KEDA asks Prometheus itself (https://keda.sh/docs/latest/scalers/prometheus/).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment, ReplicaRange, ScalingMetric
from inferfleet.documents.problems import Problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.roles import DECODE, picker_of
from inferfleet.serving.metadata import metadata
from inferfleet.serving.monitors import GOOGLES
from inferfleet.serving.workload import WORKER_SET
from inferfleet.tables import pickers

# Averages over all pods of a picker; other metrics are gauges of engines.
OF_PICKERS = frozenset(name for row in pickers.names() for name in pickers.profile(row).pool_metrics)
# The field that a scaler owns, as Pulumi names it.
OWNED = ("spec.replicas",)
HPA = ("autoscaling/v2", "HorizontalPodAutoscaler")
KEDA = ("keda.sh/v1alpha1", "ScaledObject")
# What serves metrics of pods, and metrics of anything, to HorizontalPodAutoscalers.
OF_PODS, OF_OTHERS = "custom.metrics.k8s.io", "external.metrics.k8s.io"


def scaler(
    *,
    deployment: ModelDeployment,
    placement: Placement,
    workload: dict[str, Any],
    serving: Serving,
    pool: str,
    in_cloud: tuple[str, str] | None,
    stack: str,
) -> dict[str, Any] | None:
    """Return what scales the workload of a placement whose pods are in the InferencePool `pool`.

    None where replicas are not scaled, or by somebody else. `in_cloud` are name and location of its cluster
    in the cloud, if the stack creates it.
    """
    scaling, least = deployment.spec.scaling, placement.least
    if scaling is None or least is None or scaling.by == "External":
        return None
    target = {
        "apiVersion": workload["apiVersion"],
        "kind": workload["kind"],
        "name": workload["metadata"]["name"],
    }
    meta = metadata(
        names.scaler(placement.spot, DECODE),
        stack=stack,
        namespace=placement.spot.namespace,
        deployment=placement.spot.deployment,
    )
    if scaling.by == "HPA":
        spec = {
            "scaleTargetRef": target,
            "minReplicas": least,
            "maxReplicas": placement.replicas,
            "metrics": [
                _metric(metric, serving, pool, in_cloud, namespace=placement.spot.namespace)
                for metric in scaling.metrics
            ],
        }
        return {"apiVersion": HPA[0], "kind": HPA[1], "metadata": meta, "spec": spec}
    spec = {
        "scaleTargetRef": target,
        "minReplicaCount": least,
        "maxReplicaCount": placement.replicas,
        "triggers": [_trigger(metric, serving, pool, workload) for metric in scaling.metrics],
    }
    return {"apiVersion": KEDA[0], "kind": KEDA[1], "metadata": meta, "spec": spec}


def target_of(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return kind and name of what a scaler scales, None for every other object, of whatever form it is."""
    spec = manifest.get("spec")
    target = spec.get("scaleTargetRef") if isinstance(spec, Mapping) else None
    if (manifest["apiVersion"], manifest["kind"]) not in (HPA, KEDA) or not isinstance(target, Mapping):
        return None
    return str(target.get("kind", "Deployment")), str(target.get("name"))


def problems(documents: Documents, placements: Iterable[Placement]) -> Iterator[Problem]:
    """Yield what deployments that are scaled and clusters that run them contradict."""
    placed: dict[str, list[Placement]] = {}
    for placement in placements:
        placed.setdefault(placement.spot.deployment, []).append(placement)
    for key, deployment in sorted(documents.deployments.items()):
        replicas, scaling = deployment.spec.replicas, deployment.spec.scaling
        if scaling is None or not isinstance(replicas, ReplicaRange):
            continue
        clusters = [
            documents.clusters[name] for name in sorted({at.spot.cluster for at in placed.get(key, ())})
        ]
        for index, metric in enumerate(scaling.metrics):
            path = f"spec.scaling.metrics[{index}]"
            yield from _unknown_metric_problems(metric, path, deployment, clusters)
            if scaling.by == "HPA" and len(clusters) > 1 and (shared := _added_up(metric, clusters)):
                yield Problem(
                    f"{metric.name} of cluster {shared!r} comes from Google Cloud, which adds up the "
                    f"InferencePools of all clusters of a project that run {key}, because the name of this "
                    "cluster there is not known",
                    f"Write a metric of the engine, or scale by KEDA, where clusters that run {key} share a "
                    "project",
                    f"{path}.name",
                    kind="ModelDeployment",
                    key=key,
                    severity="warning",
                )
        if scaling.by == "KEDA":
            for cluster in clusters:
                if _server(cluster.spec.serving) is None:
                    name = cluster.metadata.name
                    yield Problem(
                        f"replicas of {key} on cluster {name!r} are scaled by KEDA, and no Prometheus is "
                        "named there that it could ask",
                        f"Write serving.monitoring.server of cluster {name!r}, such as "
                        "http://prometheus.monitoring:9090, or scale by HPA",
                        "spec.scaling.by",
                        kind="ModelDeployment",
                        key=key,
                    )
        least = sum(at.least for at in placed.get(key, ()) if at.least is not None)
        if least > replicas.min:
            yield Problem(
                f"{key} has {len(placed[key])} placements, and each keeps a replica: at least {least} run, "
                f"and min is {replicas.min}",
                "Raise min, or have fewer clusters and pools take replicas (clusterSelector, poolSelector)",
                "spec.replicas.min",
                kind="ModelDeployment",
                key=key,
                severity="notice",
            )


def _unknown_metric_problems(
    metric: ScalingMetric, path: str, deployment: ModelDeployment, clusters: Iterable[InferenceCluster]
) -> Iterator[Problem]:
    """Yield that pickers of the deployment on these clusters do not have the average that it declares there.

    A scaler then sees nothing, and adds no replica.
    """
    for cluster in clusters if metric.name in OF_PICKERS else ():
        row = picker_of(deployment, cluster.spec.serving)
        if metric.name not in row.pool_metrics:
            yield Problem(
                f"pickers of profile {row.name} have no metric {metric.name} "
                f"(cluster {cluster.metadata.name!r})",
                f"They have {listing(row.pool_metrics)}; or write a metric of the engine",
                f"{path}.name",
                kind="ModelDeployment",
                key=deployment.metadata.key,
            )


def _added_up(metric: ScalingMetric, clusters: Iterable[InferenceCluster]) -> str | None:
    """Return a cluster whose metric of a picker Google Cloud cannot tell from those of others."""
    for cluster in clusters:
        spec = cluster.spec
        if metric.name in OF_PICKERS and spec.cluster.gke is None and _by_google(metric, spec.serving):
            return cluster.metadata.name
    return None


def _by_google(metric: ScalingMetric, serving: Serving) -> bool:
    """Return whether a metric is asked of Google Cloud, which has those of all clusters of a project."""
    monitoring = serving.monitoring
    kind = monitoring and (monitoring.pickers if metric.name in OF_PICKERS else monitoring.engines)
    return kind == GOOGLES[1]


def _metric(
    metric: ScalingMetric, serving: Serving, pool: str, in_cloud: tuple[str, str] | None, *, namespace: str
) -> dict[str, Any]:
    google = _by_google(metric, serving)
    name = f"prometheus.googleapis.com|{metric.name}|gauge" if google else metric.name
    if metric.name not in OF_PICKERS:
        target = {"type": "AverageValue", "averageValue": _as_kept(metric.target)}
        return {"type": "Pods", "pods": {"metric": {"name": name}, "target": target}}
    labels = {"name": pool}
    if google:
        # The values of all InferencePools that are found are added up, and other clusters of the project may
        # have one of this name (https://cloud.google.com/monitoring/api/resources, prometheus_target).
        labels = {"metric.labels.name": pool, "resource.labels.namespace": namespace}
        if in_cloud:
            name_there, location = in_cloud
            labels |= {"resource.labels.cluster": name_there, "resource.labels.location": location}
    # The value is an average already: desired replicas are those of now times value / target.
    target = {"type": "Value", "value": _as_kept(metric.target)}
    return {
        "type": "External",
        "external": {"metric": {"name": name, "selector": {"matchLabels": labels}}, "target": target},
    }


def _as_kept(target: str) -> str:
    """Return an amount as the API server keeps it, 800m for 0.8: each refresh would find another form."""
    amount = parse_quantity(target)
    for suffix, exponent in _SUFFIXES:
        if amount.scaleb(-exponent) % 1 == 0:
            return f"{amount.scaleb(-exponent):f}".partition(".")[0] + suffix
    return target


# From large to small: the first that leaves a whole number (CanonicalizeBytes in
# apimachinery/pkg/api/resource).
_SUFFIXES = (
    ("E", 18),
    ("P", 15),
    ("T", 12),
    ("G", 9),
    ("M", 6),
    ("k", 3),
    ("", 0),
    ("m", -3),
    ("u", -6),
    ("n", -9),
)


def _trigger(metric: ScalingMetric, serving: Serving, pool: str, workload: dict[str, Any]) -> dict[str, Any]:
    space = workload["metadata"]["namespace"]
    if metric.name in OF_PICKERS:
        # Pickers that stand by know of no pods.
        query, kind = f'max({metric.name}{{namespace="{space}",name="{pool}"}})', "Value"
    else:
        pods = f'namespace="{space}",pod=~"{_pods(workload)}"'
        query, kind = f"sum({metric.name}{{{pods}}})", "AverageValue"
    return {
        "type": "prometheus",
        "metricType": kind,
        "metadata": {
            "serverAddress": _server(serving) or "",
            "query": query,
            "threshold": f"{parse_quantity(metric.target).normalize():f}",
            # By default no answer counts as 0, which ends replicas when Prometheus or a scrape fails.
            "ignoreNullValues": "false",
        },
    }


def _pods(workload: dict[str, Any]) -> str:
    """Return a pattern of the names of its pods that answer requests, and of no other workload's.

    Names of pods of a Deployment end with five characters; pods of groups with numbers.
    """
    name = workload["metadata"]["name"]
    return f"{name}-[0-9]+" if workload["kind"] == WORKER_SET else f"{name}-[a-z0-9]+-[a-z0-9]{{5}}"


def _server(serving: Serving) -> str | None:
    return serving.monitoring.server if serving.monitoring else None
