"""Named reservations: who asks for one, and what of Google's answer does not fit."""

from typing import Any

import pytest
from small_clouds import clouds, cluster, made, pool

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.reservations import ReservationUse, reservation_problems, reservation_uses
from inferfleet.documents.problems import Problem

PATH = "spec.nodePools[0].capacity.reservation"
STEP = "Look with `gcloud compute reservations list --project acme`; name another one, or fix it"


def on_mega(**reservation: str) -> dict[str, Any]:
    capacity = {"model": "Reservation", "reservation": {"name": "big", **reservation}}
    return pool("mega", "mega", nodeCount=2, zones=["us-east5-a"], capacity=capacity)


# What two nodes of pool east/mega need of a reservation.
NEED = ReservationUse(described_clusters(clouds(cluster("east", on_mega())))["east"].pools[0], "acme", "big")


def answer(count: str = "4", *, machine: str = "a3-megagpu-8g", ssds: int = 0, used: str = "0") -> Any:
    properties = {"machineType": machine, "localSsds": [{}] * ssds}
    specific = {"count": count, "inUseCount": used, "instanceProperties": properties}
    return {"status": "READY", "specificReservation": specific}


def told(**properties: Any) -> Any:
    """A reservation that fits but for these properties of its machines."""
    there = answer()
    there["specificReservation"]["instanceProperties"] |= properties
    return there


def whats(**answers: Any) -> list[str]:
    found = {zone.replace("_", "-"): one for zone, one in answers.items()}
    return [one.what for one in reservation_problems(NEED, found)]


def test_a_pool_that_does_not_stand_yet_asks_for_its_reservation() -> None:
    documents = clouds(cluster("east", on_mega()), classes=())
    cloud = made(documents)
    (need,) = reservation_uses(documents, (cloud,), {})
    pool = need.pool
    assert (pool.key, pool.zones, need.project, need.name) == ("east/mega", ("us-east5-a",), "acme-ml", "big")
    assert (pool.gke_class.machine.type, need.ssds, pool.document.size) == ("a3-megagpu-8g", 16, 2)
    assert reservation_uses(documents, (cloud,), {"east": [cloud.pools["mega"].name]}) == ()


def test_a_pool_that_grows_asks_for_what_it_lacks() -> None:
    documents = clouds(cluster("east", on_mega()))
    cloud = made(documents)
    there = {"east": [cloud.pools["mega"].name]}
    (need,) = reservation_uses(documents, (cloud,), there, {"east/mega": 1})
    assert (need.machines, reservation_uses(documents, (cloud,), there, {"east/mega": 2})) == (1, ())
    assert list(reservation_problems(need, {"us-east5-a": answer("4", used="3")})) == []
    assert [one.what for one in reservation_problems(need, {"us-east5-a": answer("4", used="4")})] == [
        "reservation 'big' of project acme-ml has 0 of the 1 machines left that pool east/mega may need"
    ]


def test_a_shared_reservation_is_in_its_own_project() -> None:
    documents = clouds(cluster("east", on_mega(project="acme-core")))
    assert [one.project for one in reservation_uses(documents, (made(documents),), {})] == ["acme-core"]


def test_pools_without_a_named_reservation_ask_for_none() -> None:
    documents = clouds(cluster("east", pool(nodeCount=1, capacity={"model": "Reservation"}), on_mega()))
    assert [one.pool.key for one in reservation_uses(documents, (made(documents),), {})] == ["east/mega"]


@pytest.mark.parametrize(
    "there",
    [answer(), answer("2"), answer("6", used="4"), answer(ssds=16), {"status": "READY"}],
    ids=["plenty", "just", "some in use", "built-in SSDs told", "nothing told"],
)
def test_a_reservation_that_fits_is_not_spoken_of(there: Any) -> None:
    assert whats(us_east5_a=there) == []


def test_a_reservation_that_is_not_there_is_told_with_the_way_to_look() -> None:
    assert list(reservation_problems(NEED, {"us-east5-a": None})) == [
        Problem(
            "there is no reservation 'big' of project acme in us-east5-a, and pool east/mega needs it",
            STEP,
            PATH,
            kind="InferenceCluster",
            key="east",
            severity="warning",
        ),
    ]


@pytest.mark.parametrize(
    ("there", "what"),
    [
        (
            answer(machine="a3-highgpu-8g"),
            "reservation 'big' of project acme in us-east5-a does not fit: its machines are "
            "a3-highgpu-8g, those of pool east/mega are a3-megagpu-8g",
        ),
        (
            answer(ssds=4),
            "reservation 'big' of project acme in us-east5-a does not fit: its machines have 4 local SSDs, "
            "nodes of pool east/mega 16",
        ),
        (
            told(guestAccelerators=[{"acceleratorType": "nvidia-h100-80gb", "acceleratorCount": 8}]),
            "reservation 'big' of project acme in us-east5-a does not fit: its machines have 8 "
            "nvidia-h100-80gb, nodes of pool east/mega 8 nvidia-h100-mega-80gb",
        ),
        (
            answer() | {"specificReservationRequired": False},
            "reservation 'big' of project acme in us-east5-a does not fit: machines that name none may "
            "use it (specificReservationRequired is false), and a pool that names it needs one that is its "
            "own",
        ),
        (
            answer() | {"status": "CREATING"},
            "reservation 'big' of project acme in us-east5-a is not ready: its status is CREATING",
        ),
        (
            answer("4", used="3"),
            "reservation 'big' of project acme has 1 of the 2 machines left that pool east/mega may need",
        ),
    ],
)
def test_a_reservation_of_other_machines_or_too_few_does_not_fit(there: Any, what: str) -> None:
    assert whats(us_east5_a=there) == [what]


def test_one_of_several_zones_is_enough() -> None:
    assert whats(us_east5_a=None, us_east5_b=answer()) == []
    assert whats(us_east5_a=answer("1"), us_east5_b=answer("1")) == []


@pytest.mark.parametrize(
    ("asked", "held", "fits"),
    [
        (None, "PERIODIC", True),
        ("Periodic", "PERIODIC", True),
        ("AsNeeded", "PERIODIC", False),
        ("AsNeeded", None, True),
    ],
)
def test_the_maintenance_of_hosts_has_to_be_that_of_the_reservation(
    asked: str | None, held: str | None, fits: bool
) -> None:
    capacity = {"model": "Reservation", "reservation": {"name": "big"}, "hostMaintenance": asked}
    documents = clouds(
        cluster("east", pool("mega", "mega", nodeCount=2, zones=["us-east5-a"], capacity=capacity))
    )
    need = ReservationUse(described_clusters(documents)["east"].pools[0], "acme", "big")
    there = told(**({"maintenanceInterval": held} if held else {}))
    found = [problem.what for problem in reservation_problems(need, {"us-east5-a": there})]
    assert found == (
        []
        if fits
        else [
            "reservation 'big' of project acme in us-east5-a does not fit: its hosts are maintained "
            "PERIODIC, pool east/mega has hostMaintenance: AsNeeded"
        ]
    )
