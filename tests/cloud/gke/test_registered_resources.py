"""How cloud resources are registered: what waits for what, what protects, ends, ignores."""

from small_clouds import H200, clouds, cluster, made, node_pool, pool, recipe, resources

from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL

FILLED_IN = ("nodeConfig.ephemeralStorageLocalSsdConfig", "nodeConfig.localNvmeSsdBlockConfig")


def test_pools_wait_for_the_system_pool_that_for_the_cluster_and_that_for_networks_and_rights() -> None:
    found = resources(made(clouds(cluster("east", pool("mega", "mega", zones=["us-east5-a"])))))
    after = {key: one.after for key, one in found.items() if "container/" in key}
    assert after == {
        f"{CLUSTER} east": (
            "gcp:compute/subnetwork:Subnetwork east/nodes",
            "gcp:compute/subnetwork:Subnetwork east/proxies",
            "gcp:compute/routerNat:RouterNat east/nat",
            *(
                f"gcp:compute/{kind} east/tcpxo-{number}"
                for number in range(8)
                for kind in ("subnetwork:Subnetwork", "firewall:Firewall")
            ),
            "gcp:projects/iAMMember:IAMMember east/nodes/artifactregistry.reader",
            "gcp:projects/iAMMember:IAMMember east/nodes/container.defaultNodeServiceAccount",
        ),
        f"{NODE_POOL} east/system": (f"{CLUSTER} east",),
        f"{NODE_POOL} east/mega": (f"{NODE_POOL} east/system",),
    }


def test_whatever_a_resource_waits_for_is_registered_before_it() -> None:
    pools = [pool(f"p{place}") for place in range(9)]
    found = list(
        resources(made(clouds(cluster("east", *pools, pool("rack", "gb200", zones=["us-east5-a"]))))).items()
    )
    before = [set(dict(found[:place])) for place in range(len(found))]
    assert [key for (key, one), known in zip(found, before, strict=True) if not set(one.after) <= known] == []


def test_of_many_pools_each_waits_for_the_fourth_before_it() -> None:
    documents = clouds(cluster("east", *(pool(f"p{place}") for place in reversed(range(6)))))
    system = f"{NODE_POOL} east/system"
    after = {name: node_pool(name, documents).after for name in ("p0", "p3", "p4", "p5")}
    assert after == {
        "p0": (system,),
        "p3": (system,),
        "p4": (system, f"{NODE_POOL} east/p0"),
        "p5": (system, f"{NODE_POOL} east/p1"),
    }


def test_protection_stands_on_the_cluster_alone_and_follows_the_document() -> None:
    found = resources(made(clouds(cluster("east"))))
    assert [key for key, one in found.items() if one.protect] == [f"{CLUSTER} east"]
    free = resources(made(clouds(cluster("east", deletionProtection=False))))[f"{CLUSTER} east"]
    assert (free.protect, free.inputs["deletionProtection"]) == (False, False)


def test_pools_end_with_their_cluster_and_nothing_else_does() -> None:
    found = resources(made(clouds(cluster("east"))))
    assert {key: one.deleted_with for key, one in found.items() if one.deleted_with} == {
        f"{NODE_POOL} east/system": f"{CLUSTER} east",
        f"{NODE_POOL} east/l4": f"{CLUSTER} east",
    }


def test_the_order_of_replacement_is_the_documents() -> None:
    last = clouds(cluster("east", replace={"order": "DeleteFirst"}))
    assert (node_pool("l4", clouds(cluster("east"))).delete_first, node_pool("l4", last).delete_first) == (
        False,
        True,
    )


def test_local_ssds_are_ignored_only_where_google_adds_what_no_recipe_names() -> None:
    told = recipe("told", "a3-ultragpu-8g", "nvidia-h200-141gb", 8, localSsd={"count": 32})
    documents = clouds(
        cluster("east", pool("l4"), pool("left", "h200"), pool("told", "told"), pool("new", "b9")),
        classes=(H200, told),
    )
    ignored = {name: node_pool(name, documents).ignore for name in ("l4", "left", "told", "new")}
    assert ignored == {"l4": (), "left": FILLED_IN, "told": (), "new": FILLED_IN}


def test_how_pools_began_is_ignored_where_it_is_told() -> None:
    found = resources(made(clouds(cluster("east"))))
    ignored = {key: one.ignore for key, one in found.items() if one.ignore}
    assert ignored == {
        f"{CLUSTER} east": (
            "initialNodeCount",
            "nodeConfig",
            "defaultMaxPodsPerNode",
            "enableMultiNetworking",
        ),
        f"{NODE_POOL} east/system": ("initialNodeCount",),
    }


def test_extra_interfaces_stay_possible_after_the_last_pool_that_needs_them() -> None:
    wired = resources(made(clouds(cluster("east", pool("mega", "mega")))))[f"{CLUSTER} east"]
    plain = resources(made(clouds(cluster("east"))))[f"{CLUSTER} east"]
    assert ("enableMultiNetworking" in wired.inputs, "enableMultiNetworking" in wired.ignore) == (True, False)
    assert ("enableMultiNetworking" in plain.inputs, "enableMultiNetworking" in plain.ignore) == (False, True)
