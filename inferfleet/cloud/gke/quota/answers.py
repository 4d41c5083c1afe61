"""Whether Google's quotas are large enough for what an update takes of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.gke.quota.metrics import FAMILY
from inferfleet.cloud.gke.quota.networks import METRIC as NETWORKS
from inferfleet.cloud.values import QuotaUse
from inferfleet.documents.problems import Problem

# The path of the quotas per GPU family, whose usage Google does not say there.
FAMILIES = (
    "locations/global/services/compute.googleapis.com/quotaInfos/GPUS-PER-GPU-FAMILY-per-project-region"
)


@dataclass(frozen=True)
class Quota:
    """The limit of a quota and how much of it is in use; None where Google does not say how much."""

    limit: int
    used: int | None


def quotas(answer: Mapping[str, Any]) -> dict[str, Quota]:
    """Return the quotas of an answer of regions.get or projects.get, by metric."""
    return {
        str(quota["metric"]): Quota(int(quota["limit"]), int(quota.get("usage", 0)))
        for quota in answer.get("quotas") or ()
        if "metric" in quota and "limit" in quota
    }


def family_quotas(answer: Mapping[str, Any], region: str) -> dict[str, Quota]:
    """Return the quotas of the Cloud Quotas API's answer for FAMILIES, by metric as `QuotaUse` has it.

    Of several values that apply, the one with more dimensions counts. Unlimited ones are left out.
    """
    exact: dict[str, tuple[int, Quota]] = {}
    for info in answer.get("dimensionsInfos") or ():
        dimensions = info.get("dimensions") or {}
        family, value = dimensions.get("gpu_family"), (info.get("details") or {}).get("value")
        applies = dimensions.get("region", region) == region and region in info.get("applicableLocations", ())
        if not family or value is None or not applies or int(value) < 0:
            continue
        metric = f"{FAMILY}{family}"
        if metric not in exact or exact[metric][0] < len(dimensions):
            exact[metric] = len(dimensions), Quota(int(value), None)
    return {metric: quota for metric, (_, quota) in exact.items()}


def short(need: QuotaUse, quota: Quota) -> Problem | None:
    """Return a warning at the first pool, when the quota is too small for the need; None when it is not."""
    others = max((quota.used or 0) - need.in_use, 0)
    if others + need.amount <= quota.limit:
        return None
    name, _, family = need.metric.partition(":")
    named = f"quota {name}{f' of {family}' if family else ''}"
    where = f" in {need.region}" if need.region else ""
    used = "" if quota.used is None else f", with {quota.used} in use"
    kind, missing = ("cluster", "networks") if need.metric == NETWORKS else ("pool", "nodes")
    takers, takes = (kind, "takes") if len(need.pools) == 1 else (f"{kind}s", "take")
    what = (
        f"{named} of project {need.project}{where} is {quota.limit}{used}; {takers} {', '.join(need.pools)} "
        f"{takes} {need.added} more"
    )
    step = f"Ask for more at https://console.cloud.google.com/iam-admin/quotas?project={need.project}"
    return Problem(
        what,
        f"{step}, or {missing} will be missing",
        need.path,
        kind="InferenceCluster",
        key=need.pools[0].partition("/")[0],
        severity="warning",
    )


def shortages(needs: Mapping[QuotaUse, Quota | None]) -> Iterator[Problem]:
    """Yield a warning for each quota that is too small for its need; none for quotas that are not known."""
    for need, quota in sorted(needs.items()):
        if quota and (problem := short(need, quota)):
            yield problem
