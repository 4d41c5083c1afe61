"""What must stand before what."""

from typing import Any

from small_stack import after, cluster, deployment, find, lock, made, service, spot

from inferfleet.desired.values import Desired
from inferfleet.fleet.spot import Spot


def _ways(found: Desired, name: str, *spots: Spot) -> dict[str, set[str]]:
    """The workloads of a deployment that each of its workloads waits for, by cluster."""
    return {
        one.cluster: {
            other.partition("/")[0]
            for key in find(found, "Deployment", f"{one.cluster}/ml/{name}-decode-l4").after
            if key.startswith("kubernetes:apps/v1:Deployment ")
            for other in [key.partition(" ")[2]]
        }
        for one in spots
    }


def test_a_picker_starts_after_all_around_it_and_routes_wait_for_picker_and_gateway() -> None:
    found = made(cluster("east"), deployment("a"), service("s"))
    space, name = {"Namespace east/ml"}, "east/ml/a-epp"
    stands = {"InferencePool east/ml/a", f"Deployment {name}"}
    assert {
        f"{one.kind} {one.name}": after(found, one.kind, one.name)
        for component in found.clusters[0].components
        for one in component.objects
    } == {
        "Namespace east/inferfleet-system": set(),
        "Namespace east/ml": set(),
        "Gateway east/inferfleet-system/inferfleet": {"Namespace east/inferfleet-system"},
        f"ServiceAccount {name}": space,
        f"Role {name}": space,
        f"RoleBinding {name}": space,
        "ClusterRole east/inferfleet:ml:a:epp": space,
        "ClusterRoleBinding east/inferfleet:ml:a:epp": space,
        f"Service {name}": space,
        "InferencePool east/ml/a": space,
        f"Deployment {name}": {
            *space,
            f"ServiceAccount {name}",
            f"Role {name}",
            f"RoleBinding {name}",
            "ClusterRole east/inferfleet:ml:a:epp",
            "ClusterRoleBinding east/inferfleet:ml:a:epp",
            f"Service {name}",
            "InferencePool east/ml/a",
        },
        "HTTPRoute east/ml/a": {*space, *stands, "Gateway east/inferfleet-system/inferfleet"},
        "Deployment east/ml/a-decode-l4": {*space, "InferencePool east/ml/a"},
        "HTTPRoute east/ml/s-svc": {*space, *stands, "Gateway east/inferfleet-system/inferfleet"},
    }


def test_routes_at_somebody_elses_gateway_wait_for_no_gateway() -> None:
    ref = {"gateway": {"ref": {"name": "shared", "namespace": "infra"}}}
    found = made(cluster("east", serving=ref), deployment("a"))
    assert after(found, "HTTPRoute", "east/ml/a") == {
        "Namespace east/ml",
        "InferencePool east/ml/a",
        "Deployment east/ml/a-epp",
    }
    assert found.clusters[0].gateway_ref == ("infra", "shared")


def test_a_picker_ends_as_late_as_the_engines_that_it_chooses_for() -> None:
    found = made(
        cluster("east"), deployment("a", pod={"terminationGracePeriodSeconds": 300}), deployment("b")
    )
    graces = [
        find(found, "Deployment", f"east/ml/{name}-epp").manifest["spec"]["template"]["spec"][
            "terminationGracePeriodSeconds"
        ]
        for name in ("a", "b")
    ]
    assert graces == [300, 130]


def test_routes_lead_to_another_edition_of_a_picker_once_it_is_ready() -> None:
    def names(**picker: Any) -> set[str]:
        documents = (
            cluster("east"),
            deployment("a", endpointPicker=picker),
            deployment("b"),
            service("s"),
        )
        found = made(*documents)
        edited = {
            f"{one.kind} {one.name}"
            for one in found.clusters[0].objects
            if not one.name.startswith(("east/ml/b", "east/inferfleet:ml:b:"))
        }
        [pool] = [one for one in edited if one.startswith("InferencePool ")]
        [picks] = [one for one in edited if one.startswith("Deployment ") and one.endswith("-epp")]
        for route in ("east/ml/a", "east/ml/s-svc"):
            assert {pool, picks} < after(found, "HTTPRoute", route)
            rules = find(found, "HTTPRoute", route).manifest["spec"]["rules"]
            leads = {backend["name"] for rule in rules for backend in rule["backendRefs"]} - {"b"}
            assert leads == {pool.rpartition("/")[2]}
        assert find(found, "InferencePool", pool.partition(" ")[2]).manifest["spec"]["selector"] == {
            "matchLabels": {"inferfleet.dev/deployment": "a", "inferfleet.dev/serves": "true"}
        }
        return edited

    one, two, other = names(), names(replicas=2), names(replicas=2, flags={"v": 2})
    same = {
        "Namespace east/inferfleet-system",
        "Namespace east/ml",
        "Gateway east/inferfleet-system/inferfleet",
        "Deployment east/ml/a-decode-l4",
        "HTTPRoute east/ml/a",
        "HTTPRoute east/ml/s-svc",
    }
    assert (one & two, two & other, one & other) == (same, same, same)
    assert names(replicas=3) == two


def test_a_workload_waits_for_the_secrets_it_reads_and_for_no_other() -> None:
    reads = {"envFrom": [{"secretRef": {"name": "hf"}}]}
    found = made(
        cluster("east"),
        deployment("a", engine=reads),
        deployment("b", engine={"envFrom": [{"secretRef": {"name": "other"}}]}),
        secrets={"ml/hf": ["token"], "ml/other": ["key"]},
    )
    assert after(found, "Deployment", "east/ml/a-decode-l4") == {
        "Namespace east/ml",
        "Secret east/ml/hf",
        "InferencePool east/ml/a",
    }
    assert after(found, "Secret", "east/ml/hf") == {"Namespace east/ml"}


def test_placements_that_the_lock_has_roll_one_after_the_other() -> None:
    here = [spot("a east/l4"), spot("a mid/l4"), spot("a west/l4")]
    found = made(
        *map(cluster, ("east", "mid", "west")),
        deployment("a", 3),
        deployment("b", 1),
        lock=lock({"a east/l4": 1, "a mid/l4": 1, "a west/l4": 1, "b west/l4": 1}),
    )
    assert _ways(found, "a", *here) == {"east": set(), "mid": {"east"}, "west": {"mid"}}
    assert _ways(found, "b", spot("b west/l4")) == {"west": set()}


def test_two_pools_of_one_cluster_roll_one_after_the_other_too() -> None:
    found = made(
        cluster("east", pools=("p", "q")), deployment("a", 2), lock=lock({"a east/p": 1, "a east/q": 1})
    )
    assert after(found, "Deployment", "east/ml/a-decode-q") == {
        "Namespace east/ml",
        "InferencePool east/ml/a",
        "Deployment east/ml/a-decode-p",
    }


def test_new_placements_wait_for_no_other_and_no_other_waits_for_them() -> None:
    here = [spot("a east/l4"), spot("a mid/l4"), spot("a west/l4")]
    found = made(
        *map(cluster, ("east", "mid", "west")),
        deployment("a", 3),
        lock=lock({"a east/l4": 1, "a west/l4": 1}),
    )
    assert _ways(found, "a", *here) == {"east": set(), "mid": set(), "west": {"east"}}


def test_a_role_that_comes_leaves_the_workloads_that_run_and_their_order_as_they_are() -> None:
    engine = {"name": "engine", "image": "encoder:1"}
    encode = {"workers": {"topology": {"tensor": 1}, "template": {"spec": {"containers": [engine]}}}}
    clusters = [cluster("east"), cluster("west")]
    old = lock({"a east/l4": 1, "a west/l4": 1})
    before = made(*clusters, deployment("a", 2), lock=old)
    more = made(*clusters, deployment("a", 2, roles={"encode": encode}), lock=old)
    for name in ("east/ml/a-decode-l4", "west/ml/a-decode-l4"):
        assert find(more, "Deployment", name).manifest == find(before, "Deployment", name).manifest
    assert _ways(more, "a", spot("a west/l4")) == {"west": {"east"}}


def test_at_first_nothing_waits_for_another_placement() -> None:
    found = made(cluster("east"), cluster("west"), deployment("a", 2))
    assert _ways(found, "a", spot("a east/l4"), spot("a west/l4")) == {"east": set(), "west": set()}


def test_a_lost_cluster_stands_outside_the_chain() -> None:
    here = [spot("a east/l4"), spot("a mid/l4"), spot("a west/l4")]
    found = made(
        cluster("east"),
        cluster("mid", state="lost"),
        cluster("west"),
        deployment("a", 3),
        lock=lock({"a east/l4": 1, "a mid/l4": 1, "a west/l4": 1}),
    )
    assert _ways(found, "a", *here) == {"east": set(), "mid": set(), "west": {"east"}}
