"""Which kind a document is; and what to write instead of those that other systems have."""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from inferfleet.api.kinds.base import API_VERSION
from inferfleet.api.loading.files import Source
from inferfleet.api.problems import Problem
from inferfleet.api.wording import named, nearest, one_of, shown
from inferfleet.api.yaml.text import Flaw

_DEPLOYMENT = (
    "Write a ModelDeployment, with the pod template under spec.workers.template: "
    "inferfleet makes the workload from it"
)
_WORKER_SET = (
    "Write a ModelDeployment: its leaderTemplate is spec.workers.entry.template, its workerTemplate "
    "spec.workers.follower.template, and its size follows from spec.workers.topology"
)
_SERVICE = "Write a ModelService: inferfleet makes Services and routes from it"
_SECRET = (
    "Remove it, and set the values: "
    """pulumi config set --secret --path 'inferfleet:secrets["NAMESPACE/NAME"].KEY'"""
)
_GATEWAY = "Set spec.serving.gateway of the InferenceCluster instead"
_POOL = "Write the nodes under spec.nodePools of an InferenceCluster"
_MADE = "Remove it: inferfleet makes it where it is needed"
_ELSEWHERE = "Keep it out of this folder, and apply it with kubectl or your GitOps tool"
_SCALING = "Remove it, and write spec.scaling of the ModelDeployment"

# Kinds of Kubernetes itself and of the Gateway API, by their names.
_KUBERNETES = (
    dict.fromkeys(
        ["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Pod", "Job", "PodTemplate"], _DEPLOYMENT
    )
    | dict.fromkeys(["Service", "Ingress", "HTTPRoute", "GRPCRoute", "EndpointSlice", "Endpoints"], _SERVICE)
    | dict.fromkeys(("Gateway", "GatewayClass"), _GATEWAY)
    | dict.fromkeys(("Namespace", "InferencePool", "InferenceModel", "InferenceObjective"), _MADE)
    | {"Secret": _SECRET, "Node": _POOL, "HorizontalPodAutoscaler": _SCALING}
)
_KUBERNETES_GROUPS = re.compile(
    r"v[0-9][a-z0-9]*|(apps|batch|autoscaling|policy|extensions|[a-z.-]*\.k8s\.io|"
    r"[a-z.-]*\.x-k8s\.io)/.*"
)
# Other systems by the end of their API group, with what some of their kinds are called here.
_WORKLOADS = "ModelServing ModelDeployment InferenceService LLMInferenceService ModelBooster Workspace"
_ENTRIES = "ModelService ModelRoute ModelServer ModelEndpoint InferenceGateway"
_KINDS = (
    dict.fromkeys(_WORKLOADS.split(), _DEPLOYMENT)
    | dict.fromkeys(["RayService", "RayCluster", "DynamoGraphDeployment"], _DEPLOYMENT)
    | {"LeaderWorkerSet": _WORKER_SET}
    | dict.fromkeys(["ServingRuntime", "ClusterServingRuntime", "PodAutoscaler"], _DEPLOYMENT)
    | dict.fromkeys(_ENTRIES.split(), _SERVICE)
    | dict.fromkeys(["NodePool", "NodeClaim", "EC2NodeClass"], _POOL)
    | {
        "InferenceCluster": "Write an InferenceCluster of inferfleet; its fields differ",
        "InferenceClass": "Write an InferenceClass of inferfleet; its fields differ",
        "ScaledObject": _SCALING,
    }
)
_SYSTEMS = {
    "modelplane.ai": "Modelplane",
    "volcano.sh": "Kthena or Volcano",
    "kserve.io": "KServe",
    "leaderworkerset.x-k8s.io": "LeaderWorkerSet",
    "kaito.sh": "KAITO",
    "ray.io": "Ray",
    "nvidia.com": "NVIDIA",
    "aibrix.ai": "AIBrix",
    "llm-d.ai": "llm-d",
    "knative.dev": "Knative",
    "keda.sh": "KEDA",
    "karpenter.sh": "Karpenter",
    "karpenter.k8s.aws": "Karpenter",
    "argoproj.io": "Argo",
    "toolkit.fluxcd.io": "Flux",
    "kustomize.config.k8s.io": "Kustomize",
    "crossplane.io": "Crossplane",
    "cert-manager.io": "cert-manager",
    "external-secrets.io": "External Secrets",
    "istio.io": "Istio",
    "cnrm.cloud.google.com": "Config Connector",
    "monitoring.coreos.com": "Prometheus",
}


def kind_of(data: Any, kinds: Collection[str]) -> tuple[str | None, list[Problem]]:
    """Return the kind of a document by its apiVersion and kind together, or None and why it is not known."""
    if not isinstance(data, dict):
        what = f"a document must be a map with apiVersion and kind, not {named(data)}"
        return None, [Problem(what, "Write apiVersion, kind, metadata and spec")]
    version, kind = data.get("apiVersion"), data.get("kind")
    if (foreign := _foreign(version, kind, kinds)) is not None:
        return None, [foreign]
    if version is None and kind is None and (other := _no_document(data)) is not None:
        return None, [other]
    problems = []
    if version != API_VERSION:
        wrong = f"apiVersion {named(version)} is not supported"
        what = _missing("apiVersion", data) if version is None else wrong
        problems.append(Problem(what, f"Write apiVersion: {API_VERSION}", "apiVersion"))
    if not isinstance(kind, str) or kind not in kinds:
        what = _missing("kind", data) if kind is None else f"kind {named(kind)} is not known"
        next_step = one_of(kind if isinstance(kind, str) else "", kinds, "Known kinds")
        problems.append(Problem(what, next_step, "kind"))
    return (None if problems else str(kind)), problems


def _missing(name: str, data: dict[str, Any]) -> str:
    close = nearest(name, islice(data, 20))
    return f"field {name} is missing" + (f", and {shown(close)} is not the same" if close else "")


def _foreign(version: Any, kind: Any, kinds: Collection[str]) -> Problem | None:
    """Return the problem of a document of another system, None for what may be meant as one of ours."""
    if not isinstance(version, str) or not isinstance(kind, str) or not kind or version == API_VERSION:
        return None
    group = version.partition("/")[0]
    system = next((name for end, name in _SYSTEMS.items() if group == end or group.endswith(f".{end}")), None)
    if system is not None:
        what = f"{shown(kind)} is a kind of {system}, which inferfleet does not read"
        return Problem(what, _KINDS.get(kind, _ELSEWHERE), "kind")
    if kind in kinds:
        return None
    if _KUBERNETES_GROUPS.fullmatch(version):
        what = f"{shown(kind)} is a kind of Kubernetes, which inferfleet does not read"
        return Problem(what, _KUBERNETES.get(kind, _ELSEWHERE), "kind")
    if "/" in version and nearest(kind, kinds) is None and nearest(version, [API_VERSION]) is None:
        what = f"{shown(kind)} is a kind of {shown(version)}, which inferfleet does not read"
        return Problem(what, _KINDS.get(kind, _ELSEWHERE), "kind")
    return None


def _no_document(data: dict[str, Any]) -> Problem | None:
    """Return the problem of a map that is a file of another tool, as far as its fields tell."""
    step = "Keep it out of this folder, which is for documents of inferfleet"
    if "config" in data and any(":" in str(key) for key in _keys(data["config"])):
        what = "these are settings of a stack, which are not among its documents"
        return Problem(what, "Move them to stacks/Pulumi.<stack>.yaml", "config")
    if {"services"} & data.keys() and _keys(data["services"]):
        return Problem("this looks like a file of Docker Compose, not like a document", step, "services")
    if "resources" in data and isinstance(data["resources"], list):
        return Problem("this looks like a kustomization, not like a document", step, "resources")
    if any(nearest(key, ("apiVersion", "kind")) for key in islice(data, 10)):
        return None
    if not data.keys() & {"metadata", "spec"} and len(data) > 1:
        what = f"this is no document: it has {named_keys(data)}, and neither apiVersion nor kind"
        return Problem(
            what, f"Begin it with apiVersion: {API_VERSION} and kind, or keep it out of this folder"
        )
    return None


def _keys(value: Any) -> Iterable[Any]:
    return value if isinstance(value, dict) else ()


def named_keys(data: dict[str, Any]) -> str:
    """Return the first keys of a map, for a message."""
    first = [shown(str(key), 30) for key in list(data)[:3]]
    return ", ".join(first) + (", ..." if len(data) > len(first) else "")


def flaws_of(source: Source) -> Iterator[Problem]:
    """Yield what in the text could not be read. Where fields of a whole document are repeated, that is one
    problem: the line `---` between two documents is missing.
    """
    joined = _joined(source.text.flaws)
    for flaw in joined:
        what = f"a second document begins here ({shown(flaw.path)}), without a line --- before it"
        yield Problem(what, "Put a line with --- alone before this one", flaw.path, source.at(flaw.line))
    for problem, flaw in zip(source.flaws(), source.text.flaws, strict=True):
        if not (joined and _begins(flaw)):
            yield problem


def _joined(flaws: Iterable[Flaw]) -> list[Flaw]:
    """Return the first repeated field of each document that follows another one without `---`."""
    repeated = [flaw for flaw in flaws if _begins(flaw)]
    if len({flaw.path for flaw in repeated}) < 2:
        return []  # a single field twice is a field twice
    starts: list[Flaw] = []
    seen: set[str] = set()
    for flaw in sorted(repeated, key=lambda flaw: flaw.line):
        if flaw.path in seen or not starts:
            starts.append(flaw)
            seen = set()
        seen.add(flaw.path)
    return starts


def _begins(flaw: Flaw) -> bool:
    return flaw.repeats and flaw.path in ("apiVersion", "kind", "metadata", "spec")
