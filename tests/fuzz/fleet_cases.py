"""Random fleets for the planner, as plain documents.

A fleet is small, so that `packings.py` can pack its pools exactly, and has every field that placement
depends on. It may be absurd but is never invalid: what a file may say, a plan has to cope with.
"""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from fleet_documents import REGION, SELECTORS, Fleet, Raw

POOLS, _MODELS = "pqr", ("OnDemand", "Spot", "Reservation")
STATES = ("active",) * 12 + ("cordoned", "drained", "paused", "lost", "abandoned")
# The classes of pools, those that suit many deployments more often.
_CLASSES = ("l4", "l4", "tiny", "h100", "h100", "claimed", "claimed", "cores")


def made(random: Random) -> Fleet:
    """Return a random fleet without a lock."""
    fleet = Fleet({}, random.choice(("balance", "balance", "cost", "pack")))
    for number in range(random.choice((1, 2, 3, 3, 4))):
        fleet.put("InferenceCluster", random_cluster(f"c{number}", random))
    for number in range(random.randint(1, 6)):
        fleet.put("ModelDeployment", random_deployment(f"d{number}", random))
    if random.random() < 0.3:
        fleet.put("Quota", random_quota(random))
    services = ({"all": {}}, {"some": {"size": "small"}})
    for service in services[: random.randint(0, 2)]:
        for name, labels in service.items():
            endpoints = [{"weight": 1, "selector": {"matchLabels": labels}}]
            metadata = {"name": name, "namespace": "ml"}
            fleet.put("ModelService", {"metadata": metadata, "spec": {"endpoints": endpoints}})
    return fleet


def random_cluster(name: str, random: Random) -> Raw:
    created = random.random() < 0.4
    source: Raw = (
        {"source": "GKE", "gke": {"project": "acme-prod", "region": random.choice(("us-east5", "us-west1"))}}
        if created
        else {"source": "Existing", "existing": {"kubeconfig": {"path": "kubeconfig"}}}
    )
    pools = [_pool(pool, random, created=created) for pool in random.sample(POOLS, random.randint(1, 3))]
    labels = random.choice(({}, {"tier": "prod"}, {"tier": "prod"}, {"tier": "dev"}))
    if not created and random.random() < 0.5:
        labels = {**labels, REGION: random.choice(("us-east5", "us-west1"))}
    spec: Raw = {"cluster": source, "nodePools": pools, "taints": random_taints(random)}
    spec["state"] = random.choice(STATES)
    if not created:
        spec["serving"] = {"gateway": {"className": "any"}}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def _pool(name: str, random: Random, *, created: bool) -> Raw:
    pool: Raw = {
        "name": name,
        "className": random.choice(_CLASSES),
        "nodeCount": random.choice((0, 1, 2, 2, 3, 4)),
    }
    if created:
        pool["capacity"] = {"model": random.choice(("OnDemand", "OnDemand", *_MODELS))}
        if random.random() < 0.2:
            pool["maxNodeCount"] = pool.pop("nodeCount")
        pool["labels"] = random.choice(({}, {}, {"disk": "fast"}))
    elif random.random() < 0.2:
        pool["nodeSelector"] = {"disk": "fast", "pool": name}
    return pool


def random_taints(random: Random) -> list[Raw]:
    effect = random.choice((*[None] * 8, "NoSchedule", "NoExecute"))
    return [{"key": "k", "effect": effect}] if effect else []


def random_quota(random: Random) -> Raw:
    limits: tuple[Raw, ...] = (
        {"gpus": random.randint(0, 60)},
        {"cost": {"perHour": str(random.randint(0, 160))}},
        {"gpusByClass": {random.choice(("l4", "tiny", "h100", "claimed")): random.randint(0, 24)}},
    )
    return {"metadata": {"name": "q", "namespace": "ml"}, "spec": random.choice(limits)}


def _template(random: Random) -> Raw:
    engine: Raw = {"name": "engine", "image": "engine:1"}
    if random.random() < 0.5:
        amounts = {
            "cpu": str(random.choice((1, 3, 3, 7, 7, 20))),
            "memory": f"{random.choice((4, 10, 30, 60))}Gi",
        }
        engine["resources"] = {"requests": amounts}
    return {"spec": {"containers": [engine]}}


def _workers(random: Random) -> Raw:
    topology = random.choice(
        (
            *[{"tensor": 1}] * 6,
            *[{"tensor": 2}] * 4,
            *[{"tensor": 4}] * 3,
            {"tensor": 3},
            {"tensor": 8},
            {"tensor": 16},
            {"tensor": 1, "pipeline": 3},
            {"tensor": 2, "pipeline": 2},
            {"tensor": 4, "pipeline": 2},
            {"tensor": 8, "pipeline": 2},
            {"tensor": 1, "data": 4, "dataLocal": 2},
        )
    )
    workers: Raw = {"topology": topology, "count": random.choice((1, 1, 1, 2))}
    if random.random() < 0.2:
        workers["entry"], workers["follower"] = (
            {"template": _template(random)},
            {"template": _template(random)},
        )
    else:
        workers["template"] = _template(random)
    return workers


def _beside(random: Random) -> Raw:
    """Further workers of a replica: those of a role, or of prefill."""
    condition = (
        {"nodeSelector": {"cel": random.choice(sorted(SELECTORS)[:3])}} if random.random() < 0.2 else {}
    )
    return {"workers": _workers(random), **condition}


def random_deployment(name: str, random: Random) -> Raw:
    spec: Raw = {"replicas": random.randint(0, 5), "workers": _workers(random)}
    spec["engine"] = {"servedNames": ["shared"]}
    for edit in random.sample(FIELDS, random.choice((0, 0, 1, 1, 2, 3, 5))):
        edit(spec, random)
    labels = random.choice(({}, {"size": "small"}))
    return {"metadata": {"name": name, "namespace": "ml", "labels": labels}, "spec": spec}


def _set(name: str, *values: Any) -> Callable[[Raw, Random], None]:
    """Return an edit of a spec that gives a field one of these values; None removes it."""

    def edit(spec: Raw, random: Random) -> None:
        if (value := random.choice(values)) is None:
            spec.pop(name, None)
        else:
            spec[name] = copy.deepcopy(value)

    return edit


def _apart(spec: Raw, random: Random) -> None:
    if spec.pop("prefill", None) is None:
        spec["prefill"] = _beside(random)


def _roles(spec: Raw, random: Random) -> None:
    spec["roles"] = {
        role: _beside(random) for role in random.sample(("encode", "rank"), random.randint(0, 2))
    }


def _spread(spec: Raw, random: Random) -> None:
    spec["spread"] = {
        "over": random.choice((*["cluster", "region", "tier"] * 3, "zone")),
        "mode": random.choice(("Require", "Require", "Prefer")),
        "maxSkew": random.choice((1, 1, 2)),
    }


def _steady(spec: Raw, random: Random) -> None:
    models = random.choice((*[[*_MODELS]] * 5, ["OnDemand"], ["Spot"], ["Spot", "Reservation"]))
    spec["capacityModels"] = models
    spec["onDemandReplicas"] = 0 if models == ["Spot"] else random.choice((0, 0, 1, 2))


def _new_workers(spec: Raw, random: Random) -> None:
    spec["workers"] = _workers(random)


FIELDS: tuple[Callable[[Raw, Random], None], ...] = (
    _apart,
    _roles,
    _spread,
    _steady,
    _new_workers,
    _set("priority", -1, 0, 1, 7),
    _set("rollout", "DeleteFirst", "Surge"),
    _set("nodeSelector", None, None, *({"cel": cel} for cel in [*SELECTORS, *SELECTORS][:-1])),
    _set(
        "clusterSelector",
        None,
        {"matchLabels": {"tier": "prod"}},
        {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["dev"]}]},
    ),
    _set("poolSelector", None, None, {"matchLabels": {"disk": "fast"}}),
    _set("tolerations", None, [{"key": "k", "operator": "Exists"}], [{"key": "k", "effect": "NoSchedule"}]),
    _set("accelerator", *[None] * 4, "None"),
    _set("unplaced", None, "Warn", "Refuse"),
    _set(
        "prefer",
        None,
        [{"pools": ["q"]}, {"capacityModels": ["Spot"]}],
        [{"clusterSelector": {"matchLabels": {"tier": "prod"}}}],
    ),
)
