"""Checks of what replicas are scaled by that need the pods as plugins leave them."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.problems import Problem
from inferfleet.fleet.engines.ready import unmeasured
from inferfleet.fleet.roles import DECODE
from inferfleet.manifests.pod.stand import Stand
from inferfleet.manifests.scaling.metrics import OF_PICKERS
from inferfleet.profiles.engines import engine
from inferfleet.profiles.metrics.table import metrics_of


def unscaled(template: Mapping[str, Any], stand: Stand) -> Iterator[Problem]:
    """Yield metrics by which replicas are scaled, and which their engine, as plugins leave it, serves to
    nobody. What pickers average is of the same metrics.
    """
    scaling, kind = stand.deployment.spec.scaling, stand.engine.type
    known = metrics_of(kind)
    if scaling is None or known is None or stand.role != DECODE or stand.position != "Entry":
        return
    unseen = unmeasured(template["spec"], engine(kind), engine=kind)
    for number, metric in enumerate(scaling.metrics if unseen else ()):
        if unseen and (metric.name in OF_PICKERS or metric.name.startswith(known.prefix)):
            of = "is an average of metrics of" if metric.name in OF_PICKERS else "is a metric of"
            yield Problem(
                f"{metric.name} {of} the engine, and {unseen.what}: no replica is ever added",
                unseen.next_step,
                f"spec.scaling.metrics[{number}].name",
                kind="ModelDeployment",
                key=stand.deployment.metadata.key,
            )
