"""Pools whose nodes start for ProvisioningRequests: new ones, and those of earlier releases."""

from typing import Any

from small_clouds import clouds, cluster, made, pool

from inferfleet.fleet.lock.lock import Lock, LockedPool


def test_queued_pools_are_flex_start_ones_with_a_label_and_those_of_earlier_releases_stay() -> None:
    documents = clouds(cluster("east", pool(capacity={"model": "Queued"})))
    was = Lock(pools={"east/l4": LockedPool("l4-000000", {"queuedProvisioning.enabled": True})})

    def had(lock: Lock) -> tuple[Any, Any]:
        nodes = next(iter(made(documents, lock).gpu_pools.values())).resource.inputs["nodeConfig"]
        return nodes.get("flexStart"), nodes["labels"].get("cloud.google.com/gke-queued")

    assert (had(Lock()), had(was)) == ((True, "true"), (None, None))
