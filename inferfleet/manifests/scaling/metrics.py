"""What replicas are scaled by: averages of endpoint pickers, or gauges of the engine."""

from collections.abc import Iterable, Iterator

from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.serving.scaling import ScalingMetric
from inferfleet.api.problems import Problem
from inferfleet.api.wording import listing
from inferfleet.fleet.roles import picker_of
from inferfleet.profiles import table

OF_PICKERS = frozenset(name for row in table.names() for name in table.profile(row).pool_metrics)


def metric_problems(
    metric: ScalingMetric, path: str, deployment: ModelDeployment, clusters: Iterable[InferenceCluster]
) -> Iterator[Problem]:
    """Yield that pickers of another profile have the average at this path of a deployment on these clusters.

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
