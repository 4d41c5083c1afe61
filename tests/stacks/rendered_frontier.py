"""What the stack `frontier` renders: the workload of each deployment, and the pods of one worker of it."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.names import DEPLOYMENT
from inferfleet.tables.engines import engine as engine_defaults
from sandbox.agent.environment import expanded
from sandbox.engine.protocol import Start

ROOT = Path(__file__).parent.parent.parent
WORKLOADS = ("Deployment", "LeaderWorkerSet")

Manifest = dict[str, Any]


class Shape(NamedTuple):
    """The pods of one worker, the GPUs of each, and where they stand, as `<cluster>/<pool>`."""

    pods: int
    gpus: int
    place: str


# By deployment, as the guide docs/guides/frontier-models.md has them.
SHAPES = {
    "kimi-k2": Shape(2, 8, "hopper/h200"),
    "deepseek-r1": Shape(2, 8, "hopper/h200"),
    "deepseek-r1-gb200": Shape(2, 4, "blackwell/gb200"),
    "deepseek-v3": Shape(2, 8, "hopper/h100"),
    "llama-405b": Shape(2, 8, "hopper/h100"),
    "qwen3-235b": Shape(1, 8, "hopper/h200"),
    "gpt-oss-120b": Shape(1, 1, "blackwell/b200"),
}


@cache
def documents() -> Documents:
    return load_stack(ROOT, "frontier", base=ROOT)[0]


@cache
def frontier() -> Desired:
    return desired(documents(), Lock(stack="frontier"))


def objects(kind: str) -> Iterator[tuple[str, Manifest]]:
    """Cluster and manifest of every object of a kind."""
    for cluster in frontier().clusters:
        for made in cluster.objects:
            if made.kind == kind:
                yield cluster.connection.cluster, made.manifest


def workload(deployment: str) -> tuple[str, Manifest]:
    """Cluster and manifest of the only engine workload of a deployment."""
    [found] = [
        (cluster, manifest)
        for kind in WORKLOADS
        for cluster, manifest in objects(kind)
        if templates(manifest)[0]["metadata"]["labels"].get(DEPLOYMENT) == deployment
        and any(container["name"] == "engine" for container in templates(manifest)[0]["spec"]["containers"])
    ]
    return found


def templates(manifest: Manifest) -> tuple[Manifest, ...]:
    """The pod templates of a workload: the leader's first, if it has one of its own."""
    if manifest["kind"] == "Deployment":
        return (manifest["spec"]["template"],)
    group = manifest["spec"]["leaderWorkerTemplate"]
    return tuple(group[key] for key in ("leaderTemplate", "workerTemplate") if key in group)


def engine(template: Manifest) -> Manifest:
    """The engine's container of a pod template."""
    [container] = [one for one in template["spec"]["containers"] if one["name"] == "engine"]
    return dict(container)


def at(template: Manifest, path: str) -> Any:
    """The value at a path of a pod. `[x]` is the entry of a map, or of a list by name or mountPath."""
    here: Any = {**template, "engine": engine(template)}
    for step in _steps(path):
        if isinstance(here, list):
            here = next((one for one in here if step in (one.get("mountPath"), one.get("name"))), None)
        else:
            here = here.get(step)
        if here is None:
            return None
    return here


def _steps(path: str) -> list[str]:
    steps: list[str] = []
    for part in path.split("["):
        inside, bracket, rest = part.partition("]")
        if bracket:
            steps.append(inside)
            part = rest
        steps += [step for step in part.split(".") if step]
    return steps


def shape(deployment: str) -> Shape:
    """The shape of a deployment's only worker. Its pods ask for GPUs alike."""
    cluster, manifest = workload(deployment)
    group = manifest["spec"].get("leaderWorkerTemplate", {"size": 1})
    [gpus] = {_gpus(cluster, template) for template in templates(manifest)}
    spots = [placement.spot for placement in frontier().plan.placements]
    [spot] = [spot for spot in spots if spot.deployment == f"frontier/{deployment}"]
    [(_, pool)] = spot.pools
    return Shape(group["size"], gpus, f"{cluster}/{pool}")


def part_of(deployment: str, index: int) -> Start:
    """How the engine starts in the pod of this index of a worker, with what its LeaderWorkerSet adds."""
    parts = templates(workload(deployment)[1])
    container = engine(parts[0] if index == 0 else parts[-1])
    pods, gpus, _ = SHAPES[deployment]
    group = {"LWS_LEADER_ADDRESS": "leader", "LWS_GROUP_SIZE": str(pods), "LWS_WORKER_INDEX": str(index)}
    variables = [one for one in container.get("env", []) if "value" in one]
    env = {one["name"]: expanded([one["value"]], group)[0] for one in variables}
    return Start(
        id=f"uid-{index}",
        name=f"frontier/{deployment}-{index}",
        address="127.1.0.2",
        port=engine(parts[0])["ports"][0]["containerPort"],
        engine=engine_defaults(documents().deployments[f"frontier/{deployment}"].spec.engine.type).label,
        args=tuple(expanded([*container.get("command", []), *container.get("args", [])], env | group)),
        env=env | group,
        gpus=gpus,
        image=container["image"],
    )


def _gpus(cluster: str, template: Manifest) -> int:
    """The GPUs of a pod, by the device plugin's resource or by claims on the cluster, and never by both."""
    plugin = int(engine(template).get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0))
    claimed = {
        manifest["metadata"]["name"]: sum(
            request["exactly"].get("count", 1)
            for request in manifest["spec"]["spec"]["devices"]["requests"]
            if request["exactly"]["deviceClassName"] == "gpu.nvidia.com"
        )
        for owner, manifest in objects("ResourceClaimTemplate")
        if owner == cluster
    }
    claims = sum(
        claimed.get(claim["resourceClaimTemplateName"], 0)
        for claim in template["spec"].get("resourceClaims", [])
    )
    assert not (plugin and claims)
    return plugin + claims
