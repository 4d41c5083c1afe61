"""Whether what an update made is still there and not at zero. Whether pods are ready is another matter.

An update that changes nothing waits for nothing: Pulumi compares with its state, and that knows of nothing
that somebody deleted or scaled since.
"""

from collections.abc import Mapping
from typing import Any

from inferfleet.clusters.status.routing import ABSENT, Verdict
from inferfleet.clusters.status.values import Phase
from inferfleet.desired.values import KubeObject
from inferfleet.serving.metadata import SKIP_AWAIT
from inferfleet.serving.workload import bounds


def stands(actual: Mapping[str, Any] | None, wanted: KubeObject) -> Verdict:
    """Return Ready for an object that is there; a workload with another number than 0 where more is desired.

    The number of a workload is its scaler's where it has one. One that no update waits for may have none.
    """
    if actual is None:
        return Phase.MISSING, ABSENT
    number = _number(wanted.manifest)
    annotations = wanted.manifest["metadata"].get("annotations") or {}
    if not number or SKIP_AWAIT in annotations or bounds(wanted.manifest):
        return Phase.READY, ""
    if _number(actual) == 0:
        return Phase.FAILED, f"was scaled to spec.replicas 0, where {number} is desired"
    return Phase.READY, ""


def picks(actual: Mapping[str, Any] | None, wanted: KubeObject) -> Verdict:
    """Return Ready for the Deployment of an endpoint picker with an available replica.

    Of several replicas only the elected leader is ready, so one is enough.
    """
    verdict = stands(actual, wanted)
    if actual is None or verdict[0] != Phase.READY:
        return verdict
    if not (actual.get("status") or {}).get("availableReplicas"):
        return Phase.FAILED, "is an endpoint picker without an available replica"
    return verdict


def _number(workload: Mapping[str, Any]) -> int | None:
    """Return `spec.replicas`, which the API server sets to 1 where it is not written; None without a spec of
    that kind.
    """
    if workload["kind"] not in ("Deployment", "LeaderWorkerSet"):
        return None
    return int((workload.get("spec") or {}).get("replicas", 1))
