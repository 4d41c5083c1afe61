"""What the documents of a fleet say of places and pods, worked out from plain data, beside the planner."""

from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from fleet_documents import CLASSES, REGION, SELECTORS, Fleet, Raw
from packings import Size, Worker

from inferfleet.fleet.shapes import PoolKey

_STEADY = ("OnDemand", "Reservation")
_UNASKED = ("OnDemand", "FlexStart", "Queued", "Reservation")


class Questions(NamedTuple):
    """What a role of a replica asks of a pool: its workers, and those that the plan keeps room for.

    `spare` come once for each placement, and `sets` is how often everything is counted.
    """

    worker: Worker
    workers: int
    spare: int
    sets: int

    def on(self, replicas: int) -> list[Worker]:
        """Return all workers that so many replicas have room for."""
        return [self.worker] * (replicas * self.workers * self.sets + (self.spare if replicas else 0))

    @property
    def gpus(self) -> int:
        """Return the GPUs of the role in a replica."""
        return self.workers * sum(pod.gpus for pod in self.worker)


class Rules:
    """The rules of one fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self.clusters: dict[str, Raw] = {raw["metadata"]["name"]: raw for raw in fleet.of("InferenceCluster")}
        self.deployments: dict[str, Raw] = {
            f"ml/{raw['metadata']['name']}": raw for raw in fleet.of("ModelDeployment")
        }
        self.pools: dict[PoolKey, Raw] = {
            (name, pool["name"]): pool
            for name, raw in self.clusters.items()
            for pool in raw["spec"]["nodePools"]
        }

    def state(self, cluster: str) -> str:
        """Return the state of a cluster, "" for one without a document."""
        raw = self.clusters.get(cluster)
        return str(raw["spec"].get("state", "active")) if raw else ""

    def size(self, pool: PoolKey) -> int:
        """Return the most nodes of a pool."""
        raw = self.pools[pool]
        return int(raw.get("nodeCount", raw.get("maxNodeCount", 0)))

    def node(self, pool: PoolKey) -> Size:
        """Return an empty node."""
        spec = CLASSES[self.pools[pool]["className"]]["node"]
        return Size(self.gpus(pool), int(spec["cpu"]) * 1000, _bytes(spec["memory"]))

    def gpus(self, pool: PoolKey) -> int:
        """Return the GPUs of a node."""
        devices = CLASSES[self.pools[pool]["className"]].get("devices")
        return int(devices[0]["count"]) if devices else 0

    def roles(self, deployment: str) -> list[str]:
        """Return the roles of a deployment."""
        spec = self.deployments[deployment]["spec"]
        return ["decode", *(["prefill"] if "prefill" in spec else []), *spec.get("roles", {})]

    def _of_role(self, deployment: str, role: str) -> Raw:
        spec: Raw = self.deployments[deployment]["spec"]
        if role == "decode":
            return spec
        return spec["prefill"] if role == "prefill" else spec["roles"][role]

    def asked(self, deployment: str, role: str, pool: PoolKey) -> Questions:
        """Return what a role asks of a pool."""
        spec = self.deployments[deployment]["spec"]
        workers = self._of_role(deployment, role)["workers"]
        tensor, pipeline, data, local = _topology(workers)
        node_gpus, wants_gpus = self.gpus(pool), "accelerator" not in spec
        if (
            wants_gpus
            and tensor > node_gpus > 0
            and tensor % node_gpus == 0
            and local == 1
            and self.fabric(pool)
        ):
            pods, gpus = tensor * pipeline * data // node_gpus, node_gpus
        else:
            pods, gpus = pipeline * data // local, tensor * local if wants_gpus else 0
        entry = workers.get("template") or workers["entry"]["template"]
        follower = workers.get("template") or workers["follower"]["template"]
        surge, apart = spec.get("rollout") == "Surge", "prefill" in spec
        return Questions(
            (_size(entry, gpus), *[_size(follower, gpus)] * (pods - 1)),
            workers.get("count", 1),
            1 if surge and not apart else 0,
            2 if surge and apart else 1,
        )

    def fabric(self, pool: PoolKey) -> bool:
        """Return whether a network joins the nodes."""
        devices = CLASSES[self.pools[pool]["className"]].get("devices", ())
        return any(device["driver"] == "dra.net" for device in devices)

    def suits(self, deployment: str, role: str, pool: PoolKey) -> str:
        """Return why new replicas must not have a role on a pool, "" where they may."""
        spec, raw = self.deployments[deployment]["spec"], self.pools[pool]
        part = self._of_role(deployment, role)
        node, wants_gpus = self.node(pool), "accelerator" not in spec
        if bool(node.gpus) != wants_gpus:
            return "one of pool and deployment has accelerators"
        selector = part.get("nodeSelector") or spec.get("nodeSelector")
        if selector and raw["className"] not in (SELECTORS[selector["cel"]] or ()):
            return "its selector is not true there"
        if self.model(pool) not in spec.get("capacityModels", _UNASKED):
            return f"capacity model {self.model(pool)}"
        labels = raw.get("labels") or raw.get("nodeSelector") or {}
        if not _matches(spec.get("poolSelector", {}), labels):
            return "its pool selector does not match"
        asked = self.asked(deployment, role, pool)
        if not all(node.holds(pod) for pod in asked.worker):
            return "a pod is larger than a node"
        return ""

    def takes(self, deployment: str, cluster: str) -> str:
        """Return why a cluster takes no new replicas of a deployment, "" where it does."""
        spec, raw = self.deployments[deployment]["spec"], self.clusters[cluster]
        if self.state(cluster) != "active":
            return self.state(cluster)
        if not _matches(spec.get("clusterSelector", {}), raw["metadata"].get("labels", {})):
            return "its cluster selector does not match"
        for taint in raw["spec"].get("taints", ()):
            if not any(
                toleration.get("effect") in (None, taint["effect"])
                for toleration in spec.get("tolerations", ())
            ):
                return "a taint is not tolerated"
        return ""

    def model(self, pool: PoolKey) -> str:
        """Return the capacity model of a pool."""
        return str(self.pools[pool].get("capacity", {}).get("model", "OnDemand"))

    def is_steady(self, pool: PoolKey) -> bool:
        """Return whether the nodes of a pool stay until somebody takes them away."""
        return self.model(pool) in _STEADY

    def price(self, pool: PoolKey) -> Fraction:
        """Return what a GPU of a pool costs in an hour, or a core where it has none; 0 without a price."""
        spec = CLASSES[self.pools[pool]["className"]]
        price = spec.get("price", {})
        stated = price.get("spot") if self.model(pool) == "Spot" else None
        units = self.gpus(pool) or int(spec["node"]["cpu"])
        return Fraction(stated or price.get("onDemand", 0)) / units

    def domain(self, pool: PoolKey, over: str) -> str | None:
        """Return the domain of a pool, None where it is in none."""
        raw = self.clusters[pool[0]]
        gke, labels = raw["spec"]["cluster"].get("gke"), raw["metadata"].get("labels", {})
        if over == "cluster":
            return pool[0]
        if over == "region":
            found = gke["region"] if gke else labels.get(REGION)
        else:
            found = None if over == "zone" else labels.get(over)
        return str(found) if found is not None else None

    def first_role(self, deployment: str) -> str:
        """Return the role by whose pools replicas are spread: the one with the most GPUs."""
        asked = {}
        for role in self.roles(deployment):
            workers = self._of_role(deployment, role)["workers"]
            tensor, pipeline, data, _ = _topology(workers)
            accelerated = self.deployments[deployment]["spec"].get("accelerator") != "None"
            asked[role] = tensor * pipeline * data * workers.get("count", 1) if accelerated else 0
        return min(asked, key=lambda role: (-asked[role], role))


def _topology(workers: Raw) -> tuple[int, int, int, int]:
    topology = workers["topology"]
    fields = ("tensor", "pipeline", "data", "dataLocal")
    tensor, pipeline, data, local = (topology.get(name, 1) for name in fields)
    return tensor, pipeline, data, local


def _size(template: Raw, gpus: int) -> Size:
    requests: Any = template["spec"]["containers"][0].get("resources", {}).get("requests", {})
    return Size(gpus, ceil(Fraction(requests.get("cpu", "0")) * 1000), _bytes(requests.get("memory", "0Gi")))


def _bytes(text: str) -> int:
    return int(text.removesuffix("Gi")) * 2**30


def _matches(selector: Raw, labels: dict[str, str]) -> bool:
    for expression in selector.get("matchExpressions", ()):
        if labels.get(expression["key"]) in expression["values"]:  # NotIn
            return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
