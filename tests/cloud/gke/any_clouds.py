"""Any legal GKE clusters, for property tests."""

from typing import Any

from hypothesis import strategies as st
from small_clouds import BARE, CLASSES, clouds, cluster, recipe

from inferfleet.documents.documents import Documents

REGION = "us-east5"
HOST = {"name": "shared", "subnetwork": "nodes", "podsRange": "pods", "servicesRange": "services"}
MANY = recipe(
    "many",
    "a2-ultragpu-1g",
    "nvidia-a100-80gb",
    1,
    accelerator={
        "type": "nvidia-a100-80gb",
        "count": 1,
        "partitionSize": "1g.10gb",
        "sharing": {"strategy": "MPS", "maxClientsPerGpu": 4},
    },
    allocation="DRA",
    diskType="pd-ssd",
    driver="INSTALLATION_DISABLED",
    imageStreaming=True,
    secondaryBootDisks=[{"diskImage": "global/images/vllm"}],
    localSsd={"count": 1},
    compactPlacement=True,
)
_BLOCKS = ("10.0.0.0/10", "10.64.0.0/14", "10.68.0.0/16", "172.16.0.0/12", "172.24.0.0/14", "192.168.0.0/16")
_NAME = st.from_regex(r"[a-z]([-a-z0-9]{0,18}[a-z0-9])?", fullmatch=True).filter(
    lambda name: name != "system"
)
_CAPACITY: tuple[dict[str, Any], ...] = (
    {"model": "OnDemand"},
    {"model": "Spot"},
    {"model": "FlexStart", "maxRunDuration": "24h"},
    {"model": "Queued"},
    {"model": "Reservation"},
    {"model": "Reservation", "reservation": {"name": "ml", "project": "acme-core", "block": "b1"}},
)
_SIZES: tuple[dict[str, int], ...] = (
    {"maxNodeCount": 4, "minNodeCount": 1},
    {"maxNodeCount": 0},
    {"nodeCount": 6},
)
_UPGRADES: tuple[dict[str, Any] | None, ...] = (
    None,
    {"maxSurge": 2},
    {"strategy": "BLUE_GREEN"},
    {"strategy": "BLUE_GREEN", "blueGreenSettings": {"standardRolloutPolicy": {"batchPercentage": 0.5}}},
    {"strategy": "BLUE_GREEN", "blueGreenSettings": {"autoscaledRolloutPolicy": {}}},
)
_EXCLUSION = {"name": "kept", "scope": "NO_MINOR_UPGRADES", "startTime": "2026-12-01T00:00:00Z"}
_MAINTENANCE: tuple[dict[str, Any], ...] = (
    {"dailyMaintenanceWindow": {"startTime": "09:00"}},
    {
        "recurringWindow": {
            "startTime": "2026-12-05T01:00:00Z",
            "endTime": "2026-12-05T07:00:00Z",
            "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
        },
        "maintenanceExclusions": [
            {**_EXCLUSION, "endTimeBehavior": "UNTIL_END_OF_SUPPORT"},
            {**_EXCLUSION, "name": "launch", "endTime": "2027-01-01T00:00:00Z"},
        ],
    },
)
_ZONES = st.lists(st.sampled_from([f"{REGION}-{letter}" for letter in "abcf"]), max_size=3, unique=True)


def _pools() -> st.SearchStrategy[list[dict[str, Any]]]:
    one = st.fixed_dictionaries(
        {
            "name": _NAME,
            "className": st.sampled_from([one.metadata.name for one in (*CLASSES, MANY, BARE)]),
            "zones": _ZONES,
            "capacity": st.sampled_from(_CAPACITY),
            "upgradeSettings": st.sampled_from(_UPGRADES),
            "labels": st.dictionaries(
                st.sampled_from(["tier", "acme.com/team"]), st.sampled_from(["a", "b"])
            ),
            "taints": st.lists(
                st.sampled_from(
                    [{"key": "team", "value": "ml", "effect": one} for one in ("NoSchedule", "NoExecute")]
                ),
                max_size=1,
            ),
        }
    )
    sized = st.tuples(one, st.sampled_from(_SIZES)).map(lambda both: both[0] | both[1])
    return st.lists(sized, min_size=1, max_size=6, unique_by=lambda pool: str(pool["name"]))


def _networks() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.just({}),
        st.sampled_from([{"block": block} for block in _BLOCKS]),
        st.sampled_from([{"existing": HOST}, {"existing": {**HOST, "project": "acme-host"}}]),
    )


def _endpoints() -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(
        [
            {},
            {"controlPlaneEndpoint": "IP"},
            {"controlPlaneEndpoint": "IP", "authorizedNetworks": ["10.1.0.0/16", "10.0.0.0/16"]},
        ]
    )


def _clusters() -> st.SearchStrategy[Any]:
    return st.builds(
        lambda name, pools, project, endpoint, gke: cluster(name, *pools, project=project, **endpoint, **gke),
        st.from_regex(r"[a-z]([-a-z0-9]{0,22}[a-z0-9])?", fullmatch=True),
        _pools(),
        st.sampled_from(["acme-ml", "acme.com:ml-prod", "a" * 30]),
        _endpoints(),
        st.fixed_dictionaries(
            {
                "network": _networks(),
                "zones": _ZONES,
                "releaseChannel": st.sampled_from(["RAPID", "REGULAR", "STABLE", "EXTENDED"]),
                "privateNodes": st.booleans(),
                "deletionProtection": st.booleans(),
                "labels": st.dictionaries(st.just("cost"), st.just("ml")),
            },
            optional={
                "minVersion": st.just("1.34.1-gke.1829001"),
                "systemPool": st.just({"machineType": "n2-standard-8"}),
                "maintenancePolicy": st.sampled_from(_MAINTENANCE),
            },
        ),
    )


def any_clouds() -> st.SearchStrategy[Documents]:
    """One to four clusters of up to six pools each; written blocks may overlap."""
    found = st.lists(_clusters(), min_size=1, max_size=4, unique_by=lambda one: str(one.metadata.name))
    stack = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?", fullmatch=True)
    return st.builds(lambda stack, clusters: clouds(*clusters, stack=stack, classes=(MANY,)), stack, found)
