"""Checks of what replicas are scaled by: whether somebody has the metric, and whether its target is reached.

A scaler asks for as many replicas as the sum over them has targets, and does nothing while the average is
within a tenth of the target, the default of `--horizontal-pod-autoscaler-tolerance`
(https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/, 2026-11-24).
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.kinds.serving.scaling import ReplicaRange, ScalingMetric
from inferfleet.api.problems import Problem, Severity
from inferfleet.api.wording import listing
from inferfleet.fleet.engines.absent import absence, parts
from inferfleet.fleet.engines.balance import balance
from inferfleet.fleet.roles import DECODE, picker_of, running_image, workers_of
from inferfleet.profiles import table
from inferfleet.profiles.images import Version
from inferfleet.profiles.kv_transfer import version_of
from inferfleet.profiles.metrics.table import metrics_of
from inferfleet.profiles.metrics.values import EngineMetrics

OF_PICKERS = frozenset(name for row in table.names() for name in table.profile(row).pool_metrics)

_FLOWS = "has a series for each flow and model, and its InferencePool in the label inference_pool"
_OF_ONE = "has its InferencePool in the label inference_pool"
_OF_MODEL = "has series of each model, and no label with its InferencePool"
_PODS = "counts pods of the InferencePool, which follow the replicas and not the load"
# Gauges of pickers that are no averages over the InferencePool in the label `name`, by which scalers here
# select: pkg/epp/metrics of GIE v1.4.0 and v1.5.0, and of llm-d-router v0.9.0 and v0.10.0 (both names).
_OTHERS_OF_PICKERS = {
    "inference_extension_flow_control_queue_size": _FLOWS,
    "inference_extension_flow_control_queue_bytes": _FLOWS,
    "inference_extension_flow_control_pool_saturation": _OF_ONE,
    "llm_d_epp_flow_control_queue_size": _FLOWS,
    "llm_d_epp_flow_control_queue_bytes": _FLOWS,
    "llm_d_epp_flow_control_pool_saturation": _OF_ONE,
    "inference_objective_running_requests": _OF_MODEL,
    "llm_d_epp_request_running": _OF_MODEL,
    "inference_pool_per_pod_queue_size": "has a series for each pod, and a picker serves it of all pods",
    "inference_pool_ready_pods": _PODS,
    "llm_d_epp_ready_endpoints": _PODS,
}

_TOLERANCE = Decimal("1.1")
# What pickers average is what engines call a share of their cache: refreshPrometheusMetrics in
# pkg/epp/datalayer/logger/logger.go of GIE v1.5.0 and llm-d-router v0.10.0.
_SHARE = "_average_kv_cache_utilization"
# What, next step, and which part of the metric.
_Said = tuple[str, str, Severity, str]


def metric_problems(
    metric: ScalingMetric, path: str, deployment: ModelDeployment, clusters: Iterable[InferenceCluster]
) -> Iterator[Problem]:
    """Yield what is wrong with a metric at this path of a deployment that these clusters run."""
    said = dict.fromkeys(_said(metric, deployment, list(clusters)))
    for what, next_step, severity, field in said:
        key = deployment.metadata.key
        at = f"{path}.{field}"
        yield Problem(what, next_step, at, kind="ModelDeployment", key=key, severity=severity)


def _said(
    metric: ScalingMetric, deployment: ModelDeployment, clusters: list[InferenceCluster]
) -> Iterator[_Said]:
    name, kind = metric.name, deployment.spec.engine.type
    if name in OF_PICKERS:
        yield from _of_picker(name, deployment, clusters)
        most = Decimal(1) if name.endswith(_SHARE) else None
        yield from _target(metric, deployment, most=most, copies=1)
        return
    if name in _OTHERS_OF_PICKERS:
        yield _unusable(name, deployment, clusters)
        return
    known = metrics_of(kind)
    if known is None:
        return
    if name.startswith(known.prefix):
        images = [running_image(deployment, DECODE, cluster.spec.serving.images) for cluster in clusters]
        for image in images or [workers_of(deployment, DECODE).entry_template.engine.get("image")]:
            yield from _of_engine(name, kind, known, version_of(image))
        bound = known.gauges.get(name)
        copies, each = _copies(deployment, known)
        yield from _target(
            metric,
            deployment,
            most=None if bound is None else Decimal(bound),
            copies=copies,
            each=each,
            counted=name in known.gauges,
        )
    elif known.prefixed:
        of = f"{kind}, whose names begin with {known.prefix}"
        what = f"{name} is neither a metric of {of}, nor an average of an endpoint picker over its pods"
        step = f"Write one such as {known.example} or inference_pool_average_queue_size"
        yield what, step, "error", "name"


def _of_picker(
    name: str, deployment: ModelDeployment, clusters: Iterable[InferenceCluster]
) -> Iterator[_Said]:
    for cluster in clusters:
        row = picker_of(deployment, cluster.spec.serving)
        if name not in row.pool_metrics:
            what = f"pickers of profile {row.name} have no metric {name} (cluster {cluster.metadata.name!r})"
            step = f"They have {listing(row.pool_metrics)}; or write a metric of the engine"
            yield what, step, "error", "name"


def _unusable(name: str, deployment: ModelDeployment, clusters: Iterable[InferenceCluster]) -> _Said:
    """Return why a scaler cannot go by a metric that pickers do have."""
    what = f"{name} of endpoint pickers {_OTHERS_OF_PICKERS[name]}"
    if _OTHERS_OF_PICKERS[name] != _PODS:
        what += ", and a scaler here asks for averages over the one in the label name"
    rows = [picker_of(deployment, cluster.spec.serving) for cluster in clusters]
    averages = rows[0].pool_metrics if rows else sorted(OF_PICKERS)
    step = (
        f"Write one of {listing(averages)}, or a metric of the engine, or by: External for a scaler of yours"
    )
    return what, step, "error", "name"


def _of_engine(name: str, kind: str, known: EngineMetrics, version: Version | None) -> Iterator[_Said]:
    """Yield why an engine of this version, None for an unknown one, serves no gauge of this name."""
    gauge = f"Write a gauge such as {known.example}"
    if name in known.counters:
        what = f"{name} is a counter of {kind}, which only grows, and a scaler needs what goes up and down"
        yield what, gauge, "error", "name"
    elif name in known.histograms:
        yield f"{name} is a histogram of {kind}, {parts(name)}", gauge, "error", "name"
    elif name in known.bare_summaries:
        what = f"{name} is a summary of {kind}, of which only {name}_sum and {name}_count are served"
        yield what, gauge, "error", "name"
    elif name in known.summaries:
        what = f"{name} is a summary of {kind} with a series for each quantile, and a scaler adds them up"
        yield what, gauge, "warning", "name"
    elif name in known.fixed:
        yield f"the value of {name} does not follow the load of {kind}", gauge, "warning", "name"
    elif name in known.mixed:
        what = f"{name} has a series for each {known.mixed[name]}, and a scaler adds them up"
        yield what, gauge, "warning", "name"
    elif absent := absence(name, kind, known, version):
        what, step, certain = absent
        yield what, step, "error" if certain else "warning", "name"


def _copies(deployment: ModelDeployment, known: EngineMetrics) -> tuple[int, bool]:
    """Return of how many series a scaler adds up a gauge in one replica at most, and whether it is that many.

    Of a worker whose pods have API servers of their own, the scaler may see those of one pod.
    """
    topology = deployment.spec.workers.topology
    if not known.per_copy:
        return topology.data * topology.tensor, topology.data * topology.tensor == 1
    return topology.data, balance(deployment, DECODE) == "internal"


def _target(
    metric: ScalingMetric,
    deployment: ModelDeployment,
    *,
    most: Decimal | None,
    copies: int,
    each: bool = True,
    counted: bool = True,
) -> Iterator[_Said]:
    """Yield a target that is never reached, or always passed, or meant for one of several copies.

    `most` is what one of the `copies` in a replica can have, None where nothing bounds it; unless `each`, a
    scaler may see fewer of them.
    """
    target, replicas = parse_quantity(metric.target), deployment.spec.replicas
    if most is None:
        highest = replicas.max if isinstance(replicas, ReplicaRange) else 1
        if counted and highest > 1 and target * highest < 1:
            what = (
                f"target {metric.target} of {metric.name} is passed whenever one replica has 1: as many as "
            )
            step = "Write how much one replica should have, such as 5"
            yield f"{what}{highest} replicas run then, which is max", step, "warning", "target"
        return
    limit = most * copies
    of = f"{metric.name} is from 0 to {limit:f}" + (
        f", 0 to {most:f} for each of {copies} in a replica" if copies > 1 else ""
    )
    share = most * Decimal("0.8") * (copies if each else 1)
    such = f"Write a share such as {share:f}".rstrip("0").rstrip(".")
    if not each:
        such += ", times the series of a replica"
    if target > limit:
        yield (
            f"{of}, so target {metric.target} is never reached, and no replica added",
            such,
            "error",
            "target",
        )
    elif target * _TOLERANCE >= limit:
        what = f"{of}, and a scaler adds no replica before the average is a tenth over target {metric.target}"
        yield what, such, "warning", "target"
    elif target * 100 < (limit if each else most):
        what = f"{of}, so target {metric.target} is passed by next to nothing, and max replicas run always"
        yield what, such, "warning", "target"
    elif each and copies > 1 and target <= most:
        what = f"{of}, so target {metric.target} is a share of {float(target / copies):.3g} of each"
        yield what, such, "warning", "target"
