"""Whether quotas and reservations hold what an update adds, asked of Google before it begins."""

from pathlib import Path

import pytest
from fake_google import FakeGoogle, error
from small_gke import COMPUTE, PROJECT, REGION, RESERVATION, at, decided, limits, path_of, written

from inferfleet.clusters.preflight.quotas import cloud_problems
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.lock import Lock

FITS = (200, {"specificReservation": {"count": "1"}})
PLENTY = limits(GPUS_ALL_REGIONS=(99, 0), CPUS_ALL_REGIONS=(99, 0))


def warned(google: FakeGoogle, folder: Path, *, seconds: float = 300) -> list[str]:
    return [f"{one.path}: {one.what}" for one in problems(google, folder, seconds=seconds)]


def problems(google: FakeGoogle, folder: Path, *, seconds: float = 300) -> tuple[Problem, ...]:
    documents = written(folder)
    found = cloud_problems(decided(documents)[0], documents, Lock(), google=at(google), seconds=seconds)
    assert {one.severity for one in found} <= {"warning"}
    return documents.located(found)


def test_what_fits_is_not_spoken_of(google: FakeGoogle, tmp_path: Path) -> None:
    google.clusters |= {REGION: limits(NVIDIA_L4_GPUS=(2, 0), CPUS=(48, 0)), PROJECT: PLENTY}
    google.clusters[RESERVATION] = FITS
    assert warned(google, tmp_path) == []


def test_what_does_not_fit_is_told_at_the_line_of_its_pool(google: FakeGoogle, tmp_path: Path) -> None:
    google.clusters |= {REGION: limits(NVIDIA_L4_GPUS=(4, 3), CPUS=(24, 0)), PROJECT: PLENTY}
    assert warned(google, tmp_path) == [
        "spec.cluster.gke.systemPool: quota CPUS of project acme-ml in us-east5 is 24, with 0 in use; pool "
        "east/system takes 48 more",
        "spec.nodePools[0]: quota NVIDIA_L4_GPUS of project acme-ml in us-east5 is 4, with 3 in use; pool "
        "east/l4 takes 2 more",
        "spec.nodePools[1].capacity.reservation: there is no reservation 'big' of project acme-core in "
        "us-east5-a, and pool east/h100 needs it",
    ]
    lines = [one.where.line if one.where else None for one in problems(google, tmp_path)]
    assert lines == [23, 25, 30]


def test_pools_that_stand_add_nothing_and_nothing_is_asked_about_them(
    google: FakeGoogle, tmp_path: Path
) -> None:
    cloud = decided(written(tmp_path))[1]
    pools = [{"name": name, "status": "RUNNING"} for name in cloud.pool_names.values()]
    google.clusters[path_of(cloud)] = 200, {"status": "RUNNING", "nodePools": pools}
    assert warned(google, tmp_path) == []
    assert [path for path, _ in google.asked] == [path_of(cloud)]


def test_a_pool_that_failed_counts_as_not_there(google: FakeGoogle, tmp_path: Path) -> None:
    cloud = decided(written(tmp_path))[1]
    pools = [
        {"name": cloud.pool_names["l4"], "status": "ERROR"},
        {"name": cloud.pool_names["h100"], "status": "RUNNING"},
    ]
    google.clusters[path_of(cloud)] = 200, {"status": "RUNNING", "nodePools": pools}
    google.clusters |= {REGION: limits(NVIDIA_L4_GPUS=(1, 0)), PROJECT: PLENTY}
    (one,) = warned(google, tmp_path)
    assert "NVIDIA_L4_GPUS" in one


def test_of_newer_gpus_the_limit_of_their_family_is_asked(google: FakeGoogle, tmp_path: Path) -> None:
    documents = written(tmp_path, h100="model: OnDemand")
    family = {
        "dimensions": {"gpu_family": "NVIDIA_H100_MEGA"},
        "details": {"value": "0"},
        "applicableLocations": ["us-east5"],
    }
    path = "/v1/projects/acme-ml/locations/global/services/compute.googleapis.com/quotaInfos/"
    google.clusters |= {REGION: limits(), PROJECT: PLENTY}
    google.clusters[f"{path}GPUS-PER-GPU-FAMILY-per-project-region"] = 200, {"dimensionsInfos": [family]}
    found = cloud_problems(decided(documents)[0], documents, Lock(), google=at(google), seconds=300)
    assert [one.what for one in found] == [
        "quota GPUS_PER_GPU_FAMILY of NVIDIA_H100_MEGA of project acme-ml in us-east5 is 0; pool east/h100 "
        "takes 8 more"
    ]


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (403, "Give whoever runs this the role roles/compute.viewer in project acme-ml"),
        (404, "Look at project and region in its document"),
    ],
)
def test_what_may_not_be_read_is_one_notice_for_a_project(
    google: FakeGoogle, tmp_path: Path, status: int, step: str
) -> None:
    google.clusters |= {path: (status, error(status, "X", "no.")) for path in (REGION, PROJECT)}
    google.clusters[RESERVATION] = FITS
    (one,) = problems(google, tmp_path)
    assert one.what.startswith(
        "quotas, reservations and subnetworks of project acme-ml are not all known: the Compute API at"
    )
    assert (one.next_step, one.path) == (step, "")


def test_without_credentials_somebody_else_says_so(
    google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    assert problems(google, tmp_path) == ()


def test_google_is_not_waited_for_longer_than_said(google: FakeGoogle, tmp_path: Path) -> None:
    google.hang = True
    assert problems(google, tmp_path, seconds=0.5) == ()


NETWORK = (
    "network: {existing: {name: shared, subnetwork: nodes, podsRange: pods, servicesRange: services, "
    "project: acme-net}}"
)
PROXIES = "/compute/v1/projects/acme-net/regions/us-east5/subnetworks?filter=purpose%3DREGIONAL_MANAGED_PROXY"
SHARED = "https://www.googleapis.com/compute/v1/projects/acme-net/global/networks/shared"
NODES = "/compute/v1/projects/acme-net/regions/us-east5/subnetworks/nodes"
SECONDARY = [
    {"rangeName": "pods", "ipCidrRange": "10.8.0.0/14"},
    {"rangeName": "services", "ipCidrRange": "10.4.0.0/20"},
]
SUBNETWORK = (
    200,
    {"ipCidrRange": "10.0.0.0/20", "privateIpGoogleAccess": True, "secondaryIpRanges": SECONDARY},
)
OF_PROXIES = {"purpose": "REGIONAL_MANAGED_PROXY", "role": "ACTIVE", "network": SHARED}


@pytest.mark.parametrize(
    ("subnetworks", "lacking"),
    [
        ([OF_PROXIES], False),
        ([OF_PROXIES | {"role": "BACKUP"}], True),
        ([OF_PROXIES | {"network": f"{SHARED}-too"}], True),
        ([], True),
    ],
)
def test_an_existing_network_without_a_subnetwork_for_proxies_is_told(
    google: FakeGoogle, tmp_path: Path, subnetworks: list[dict[str, str]], lacking: bool
) -> None:
    documents = written(tmp_path, gke=NETWORK)
    google.clusters |= {REGION: limits(), PROJECT: PLENTY, RESERVATION: FITS}
    google.clusters |= {PROXIES: (200, {"items": subnetworks}), NODES: SUBNETWORK}
    found = cloud_problems(decided(documents)[0], documents, Lock(), google=at(google), seconds=300)
    told = [(one.severity, one.path, one.what, one.next_step) for one in found]
    assert told == (
        [
            (
                "warning",
                "spec.cluster.gke.network.existing",
                "network shared of project acme-net has no active proxy-only subnetwork in us-east5, without "
                "which the gateway of cluster east is never programmed (Google, proxy-only subnets, "
                "2026-11-23: https://docs.cloud.google.com/load-balancing/docs/proxy-only-subnets)",
                "Create one: gcloud compute networks subnets create proxies --project=acme-net "
                "--region=us-east5 --network=shared --purpose=REGIONAL_MANAGED_PROXY --role=ACTIVE "
                "--range=<a free /26 or larger>",
            )
        ]
        if lacking
        else []
    )


def test_disks_that_do_not_fit_in_a_new_project_are_told(google: FakeGoogle, tmp_path: Path) -> None:
    """Three system nodes, two of the pool and one reserved: 100 GB each, of 250."""
    google.clusters |= {REGION: limits(SSD_TOTAL_GB=(250, 0)), PROJECT: PLENTY, RESERVATION: FITS}
    (one,) = problems(google, tmp_path)
    assert (one.what, one.next_step) == (
        "quota SSD_TOTAL_GB of project acme-ml in us-east5 is 250, with 0 in use; pools east/h100, east/l4, "
        "east/system take 600 more",
        "Ask for more at https://console.cloud.google.com/iam-admin/quotas?project=acme-ml, or nodes will be "
        "missing",
    )


def test_networks_that_do_not_fit_are_told_of_the_cluster(google: FakeGoogle, tmp_path: Path) -> None:
    few = limits(GPUS_ALL_REGIONS=(99, 0), NETWORKS=(5, 5))
    google.clusters |= {REGION: limits(), PROJECT: few, RESERVATION: FITS}
    assert [(one.what, one.next_step, one.path) for one in problems(google, tmp_path)] == [
        (
            "quota NETWORKS of project acme-ml is 5, with 5 in use; cluster east takes 1 more",
            "Ask for more at https://console.cloud.google.com/iam-admin/quotas?project=acme-ml, or networks "
            "will be missing",
            "spec.cluster.gke",
        )
    ]


GROUP = f"{COMPUTE}/acme-ml/zones/us-east5-a/instanceGroupManagers/gke-h100"


@pytest.mark.parametrize(("nodes", "told"), [(1, []), (0, ["has 0 of the 1 machines left"])])
def test_a_reserved_pool_that_lacks_nodes_is_compared_with_its_reservation(
    google: FakeGoogle, tmp_path: Path, nodes: int, told: list[str]
) -> None:
    cloud = decided(written(tmp_path))[1]
    groups = {"h100": [f"https://www.googleapis.com{GROUP}"]}
    pools = [
        {"name": name, "status": "RUNNING", "instanceGroupUrls": groups.get(pool, [])}
        for pool, name in cloud.pool_names.items()
    ]
    google.clusters[path_of(cloud)] = 200, {"status": "RUNNING", "nodePools": pools}
    google.clusters[GROUP] = 200, {"targetSize": nodes}
    google.clusters[RESERVATION] = 200, {"specificReservation": {"count": "1", "inUseCount": "1"}}
    found = [one.what for one in problems(google, tmp_path)]
    assert [words in what for words, what in zip(told, found, strict=True)] == [True] * len(told)
    assert (RESERVATION in [path for path, _ in google.asked]) == bool(told)
