"""How nodes are had: queued ones, new and of earlier releases, and those of a part of a reservation."""

from small_clouds import clouds, cluster, node_pool, pool


def test_queued_pools_are_flex_start_ones_with_a_label() -> None:
    documents = clouds(cluster("east", pool(capacity={"model": "Queued"})))
    nodes = node_pool("l4", documents).inputs["nodeConfig"]
    assert (nodes["flexStart"], nodes["labels"]["cloud.google.com/gke-queued"]) == (True, "true")


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
