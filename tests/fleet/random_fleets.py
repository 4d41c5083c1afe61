"""Random small fleets, with every field that placement depends on, and locks for them."""

from datetime import date

from hypothesis import strategies as st
from small_fleet import (
    Document,
    class_,
    cluster,
    deployment,
    gke,
    quota,
    role,
    service,
    spot,
)

from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.capacity import Observation
from inferfleet.fleet.lock.lock import Lock

LARGE = "capacity['gpu.nvidia.com/memory'].isGreaterThan(quantity('40Gi'))"
STATES = ["active", "active", "active", "cordoned", "drained", "paused", "lost", "abandoned"]
NODE_GPUS = {"l4": 4, "h100": 8, "tiny": 2}
_PRICE = {"onDemand": "6", "spot": "2", "currency": "USD", "asOf": "2026-01-01", "source": "test"}
CLASSES = [
    class_("tiny", 2, memory="48Gi", cpu="16", price=_PRICE),
    class_("l4", 4, memory="24Gi", price=_PRICE | {"onDemand": "8", "spot": None}),
]
# What a GPU costs in an hour by class, on demand and as Spot capacity.
NODE_PRICES = {"tiny": (3, 1), "l4": (2, 2), "h100": (0, 0)}
TOPOLOGIES = [
    None,
    None,
    {"tensor": 4, "pipeline": 2},
    {"tensor": 1, "pipeline": 3},
    {"tensor": 8, "pipeline": 2},
    {"tensor": 1, "data": 4, "dataLocal": 2},
]

# On pools that exist the first is known, and on those of GKE it is not; of the second nobody knows.
ON_Q, FAST = {"nodeSelector": {"inferfleet.dev/pool": "q"}}, {"nodeSelector": {"disk": "fast"}}

REGION = "topology.kubernetes.io/region"
MODELS = ["OnDemand", "Spot", "Reservation"]

_existing = st.builds(
    cluster,
    st.just("x"),
    st.dictionaries(
        st.sampled_from(["p", "q", "r"]),
        st.tuples(st.sampled_from(sorted(NODE_GPUS)), st.integers(0, 4)),
        min_size=1,
    ),
    state=st.sampled_from(STATES),
    labels=st.sampled_from([{}, {"tier": "prod"}, {"tier": "prod", REGION: "us-east5"}]),
    taints=st.sampled_from(
        [[], [], [{"key": "k", "effect": "NoSchedule"}], [{"key": "k", "effect": "NoExecute"}]]
    ),
)
_of_gke = st.builds(
    gke,
    st.just("x"),
    st.dictionaries(
        st.sampled_from(["p", "q", "r"]),
        st.tuples(st.sampled_from(sorted(NODE_GPUS)), st.integers(0, 4)),
        min_size=1,
    ),
    region=st.sampled_from(["us-east5", "europe-west4"]),
    models=st.dictionaries(st.sampled_from(["p", "q", "r"]), st.sampled_from(MODELS)),
    labels=st.sampled_from([{}, {"tier": "prod"}]),
)
_clusters = st.one_of(_existing, _of_gke)
_spreads = st.builds(
    lambda over, mode, skew: {"over": over, "mode": mode, "maxSkew": skew},
    st.sampled_from(["cluster", "region", "tier"]),
    st.sampled_from(["Require", "Prefer"]),
    st.integers(1, 2),
)
_quotas = st.one_of(
    st.builds(quota, gpus=st.integers(0, 20)),
    st.builds(quota, cost=st.builds(lambda most: {"perHour": most}, st.integers(0, 20))),
    st.builds(
        quota, gpusByClass=st.dictionaries(st.sampled_from(sorted(NODE_GPUS)), st.integers(0, 9), min_size=1)
    ),
)
_objectives = st.sampled_from(
    [Settings(stack="test", objective=name) for name in ("balance", "cost", "pack")]
)
random_deployments = st.builds(
    deployment,
    st.just("x"),
    st.integers(0, 5),
    gpus=st.sampled_from([1, 1, 2, 4, 8]),
    workers=st.integers(1, 2),
    cel=st.sampled_from([None, None, LARGE, "capcity"]),
    selector=st.sampled_from([{}, {}, {"tier": "prod"}]),
    labels=st.sampled_from([{}, {"size": "small"}]),
    resources=st.sampled_from([None, None, {"requests": {"cpu": "9"}}]),
    follower=st.sampled_from([None, None, "3", "15"]),
    pod=st.sampled_from([None, None, None, ON_Q, FAST]),
    rollout=st.sampled_from(["DeleteFirst", "Surge"]),
    topology=st.sampled_from(TOPOLOGIES),
    roles=st.sampled_from(
        [
            {},
            {},
            {},
            {"encode": role(1)},
            {"encode": role(2, pipeline=2, pod=ON_Q), "rank": role(1, cel=LARGE)},
        ]
    ),
    prefill=st.sampled_from([None, None, None, role(1), role(2, workers=2), role(1, cel=LARGE)]),
    spread=st.one_of(st.none(), st.none(), _spreads),
    prefer=st.sampled_from(
        [
            [],
            [],
            [{"pools": ["q"]}, {"capacityModels": ["Spot"]}],
            [{"clusterSelector": {"matchLabels": {"tier": "prod"}}}],
        ]
    ),
    capacityModels=st.sampled_from([["OnDemand", "Reservation"], MODELS]),
    onDemandReplicas=st.sampled_from([0, 0, 2]),
)


def named(name: str, document: Document) -> Document:
    return document.model_copy(update={"metadata": document.metadata.model_copy(update={"name": name})})


random_fleets = st.tuples(
    st.lists(_clusters, min_size=1, max_size=3).map(
        lambda many: [named(f"c{i}", o) for i, o in enumerate(many)]
    ),
    st.lists(random_deployments, max_size=4).map(
        lambda many: [named(f"d{i}", o) for i, o in enumerate(many)]
    ),
    st.lists(_quotas, max_size=1),
    _objectives,
).map(
    lambda both: [
        *both[0],
        *both[1],
        *both[2],
        both[3],
        *CLASSES,
        service("all", (1, {})),
        service("some", (3, {"size": "small"})),
    ]
)


@st.composite
def random_locks(draw: st.DrawFn) -> Lock:
    spots = st.builds(
        lambda d, c, p: spot(f"d{d} c{c}/{p}"), st.integers(0, 4), st.integers(0, 2), st.sampled_from("pqr")
    )
    placements = draw(st.dictionaries(spots, st.integers(1, 3), max_size=5))
    pools = st.builds("c{}/{}".format, st.integers(0, 2), st.sampled_from("pqr"))
    return Lock(
        stack="test",
        placements=placements,
        services=draw(st.sampled_from([{}, {"ml/all": ("c0",)}])),
        nodes=draw(st.dictionaries(pools, st.integers(0, 6), max_size=5)),
    )


# What was seen of some pools, by cluster and pool.
random_seen = st.dictionaries(
    st.tuples(st.sampled_from(["c0", "c1", "c2"]), st.sampled_from("pqr")),
    st.builds(
        Observation,
        st.just(date(2026, 11, 23)),
        st.integers(0, 4),
        st.lists(st.integers(0, 8), max_size=2).map(tuple),
        gpus=st.sampled_from([None, 1, 3, 8]),
        cpu=st.sampled_from([None, 15_000, 190_000]),
        foreign=st.lists(st.integers(1, 8), max_size=2).map(tuple),
        most=st.sampled_from([None, 0, 1, 3]),
        missing=st.integers(0, 2),
    ),
    max_size=4,
)
