"""How nodes are had: queued ones, new and of earlier releases, and those of a part of a reservation."""

from typing import Any

from small_clouds import clouds, cluster, made, node_pool, pool

from inferfleet.fleet.lock.lock import Lock, LockedPool


def test_queued_pools_are_flex_start_ones_with_a_label_and_those_of_earlier_releases_stay() -> None:
    documents = clouds(cluster("east", pool(capacity={"model": "Queued"})))
    was = Lock(pools={"east/l4": LockedPool("l4-000000", {"queuedProvisioning.enabled": True})})

    def had(lock: Lock) -> tuple[Any, Any]:
        nodes = next(iter(made(documents, lock).gpu_pools.values())).resource.inputs["nodeConfig"]
        return nodes.get("flexStart"), nodes["labels"].get("cloud.google.com/gke-queued")

    assert (had(Lock()), had(was)) == ((True, "true"), (None, None))


def test_a_sub_block_of_a_shared_reservation_and_the_maintenance_of_its_hosts() -> None:
    part = {"name": "ml", "project": "acme-core", "block": "b1", "subBlock": "s2"}
    capacity = {"model": "Reservation", "hostMaintenance": "AsNeeded", "reservation": part}
    nodes = node_pool("l4", clouds(cluster("east", pool(capacity=capacity)))).inputs["nodeConfig"]
    assert (nodes["hostMaintenancePolicy"], nodes["reservationAffinity"]) == (
        {"maintenanceInterval": "AS_NEEDED"},
        {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": ["projects/acme-core/reservations/ml/reservationBlocks/b1/reservationSubBlocks/s2"],
        },
    )
