"""What stands on clusters that are not simply active."""

from small_stack import NOTHING, cluster, components, deployment, lock, made, service

from inferfleet.fleet.spot import Spot

BOTH = lock({"a east/l4": 1, "a west/l4": 1}, {"s": ("east", "west")})
A_AND_S = [
    ("ServingStack", "west"),
    ("ModelEndpoint", "west/ml/a"),
    ("ModelReplicas", "west/ml/a-l4"),
    ("ModelService", "west/ml/s"),
]


def _spots(placements: dict[Spot, int]) -> dict[str, int]:
    return {f"{one.name} {one.cluster}": replicas for one, replicas in placements.items()}


def test_a_lost_cluster_keeps_exactly_what_the_lock_has_there() -> None:
    found = made(
        cluster("east"),
        cluster("west", state="lost"),
        deployment("a", 6, labels={"app": "a"}),
        deployment("b", labels={"app": "b"}),
        service("s", app="a"),
        service("t"),
        lock=BOTH,
    )
    assert components(found, "west") == A_AND_S
    assert _spots(dict(found.plan.lock.placements)) == {"a east": 5, "a west": 1, "b east": 1}


def test_fewer_replicas_take_none_from_a_lost_cluster() -> None:
    found = made(cluster("east"), cluster("west", state="lost"), deployment("a", 0), service("s"), lock=BOTH)
    assert components(found, "west") == A_AND_S
    assert _spots(dict(found.plan.lock.placements)) == {"a west": 1}


def test_on_a_lost_cluster_that_the_lock_does_not_know_nothing_is_made() -> None:
    found = made(cluster("east"), cluster("west", state="lost"), deployment("a", 2), service("s"))
    assert components(found, "west") == []


def test_an_abandoned_cluster_keeps_its_connection_and_nothing_else() -> None:
    found = made(
        cluster("east"), cluster("west", state="abandoned"), deployment("a", 2), service("s"), lock=BOTH
    )
    assert components(found, "west") == []
    assert found.clusters[1].connection.state == "abandoned"
    assert found.clusters[1].objects_needed == ()
    assert _spots(dict(found.plan.lock.placements)) == {"a east": 2}


def test_an_abandoned_cluster_is_forgotten_by_the_lock() -> None:
    found = made(cluster("east"), cluster("west", state="abandoned"), lock=lock({}, uids={"west": "uid"}))
    assert sorted(found.plan.lock.clusters) == ["east"]


def test_a_cordoned_cluster_keeps_what_it_has_and_takes_nothing_new() -> None:
    found = made(
        cluster("east"), cluster("west", state="cordoned"), deployment("a", 4), service("s"), lock=BOTH
    )
    assert components(found, "west") == A_AND_S
    assert _spots(dict(found.plan.lock.placements)) == {"a east": 3, "a west": 1}


def test_a_drained_cluster_gives_its_replicas_away() -> None:
    found = made(
        cluster("east"), cluster("west", state="drained"), deployment("a", 2), service("s"), lock=BOTH
    )
    assert components(found, "west") == [("ServingStack", "west")]
    assert _spots(dict(found.plan.lock.placements)) == {"a east": 2}


def test_a_drained_cluster_keeps_and_names_what_finds_no_other_place() -> None:
    found = made(cluster("west", state="drained"), deployment("a", 1), lock=lock({"a west/l4": 1}))
    assert components(found, "west")[2:] == [("ModelReplicas", "west/ml/a-l4")]
    assert len(found.warnings) == 1


def test_every_cluster_is_there_even_with_nothing_placed() -> None:
    found = made(cluster("east"), cluster("west"), lock=NOTHING)
    assert [one.connection.cluster for one in found.clusters] == ["east", "west"]
    assert [components(found, name) for name in ("east", "west")] == [
        [("ServingStack", "east")],
        [("ServingStack", "west")],
    ]
