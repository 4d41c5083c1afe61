"""What the stack `disaggregated` renders: workloads of both roles, and how engines of their pods start."""

from collections.abc import Iterator
from functools import cache

from rendered_frontier import ROOT, WORKLOADS, Manifest, engine, templates

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.names import DEPLOYMENT, ROLE
from inferfleet.tables.engines import engine as engine_defaults
from sandbox.engine.protocol import Start

FOLDER = ROOT / "stacks" / "disaggregated"


@cache
def documents() -> Documents:
    return load_stack(ROOT, "disaggregated", base=ROOT)[0]


@cache
def disaggregated() -> Desired:
    return desired(documents(), Lock(stack="disaggregated"))


def objects(kind: str) -> Iterator[Manifest]:
    """Manifests of every object of a kind."""
    for cluster in disaggregated().clusters:
        yield from (made.manifest for made in cluster.objects if made.kind == kind)


def workload(deployment: str, role: str) -> Manifest:
    """The only workload of a role."""
    wanted = {DEPLOYMENT: deployment, ROLE: role}
    [found] = [
        manifest
        for kind in WORKLOADS
        for manifest in objects(kind)
        if wanted.items() <= manifest["metadata"]["labels"].items()
    ]
    return found


def pods(deployment: str, role: str) -> tuple[int, int, int]:
    """Workers of a role, the pods of each, and the GPUs of a pod."""
    manifest = workload(deployment, role)
    group = manifest["spec"].get("leaderWorkerTemplate", {"size": 1})
    [gpus] = {_gpus(template) for template in templates(manifest)}
    return manifest["spec"]["replicas"], group["size"], gpus


def part_of(deployment: str, role: str, index: int) -> Start:
    """How the engine starts in the pod of this index of a worker, with what its LeaderWorkerSet adds."""
    _, size, gpus = pods(deployment, role)
    parts = templates(workload(deployment, role))
    template = parts[0] if index == 0 else parts[-1]
    container = engine(template)
    label = engine_defaults(documents().deployments[f"split/{deployment}"].spec.engine.type).label
    address = "127.1.0.2"
    env = {one["name"]: one.get("value", address) for one in container.get("env", [])}
    group = {"LWS_LEADER_ADDRESS": "leader", "LWS_GROUP_SIZE": str(size), "LWS_WORKER_INDEX": str(index)}
    return Start(
        id=f"uid-{role}-{index}",
        name=f"split/{deployment}-{role}-{index}",
        address=address,
        port=engine(parts[0])["ports"][0]["containerPort"],
        engine=label,
        args=(*container.get("command", []), *container.get("args", [])),
        env=env | (group if size > 1 else {}),
        gpus=gpus,
        image=container["image"],
    )


def _gpus(template: Manifest) -> int:
    return int(engine(template)["resources"]["limits"]["nvidia.com/gpu"])
