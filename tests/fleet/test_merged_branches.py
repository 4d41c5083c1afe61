"""Plans after a merge of two branches: what ran before it stays, whatever the branches added."""

from random import Random

import pytest
from small_fleet import Document, class_, cluster, deployment, fleet, placed, quota, service, spot

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import plan
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock, parse, text
from inferfleet.fleet.lock.merging import merge
from inferfleet.fleet.spot import Spot

NODE = class_("node", 8)
# Next to each other in the file, and the beginning of one another.
NAMES = [f"m{number}{end}" for number in range(6) for end in ("", "-a", "-b", "0")]
_Documents = dict[tuple[str, str], Document]
_Edits = dict[tuple[str, str], Document | None]


def _merged(base: Lock, ours: Lock, theirs: Lock) -> Lock:
    merged = merge(text(base), text(ours), text(theirs), file="placement.lock")
    assert merged.problems == ()
    return parse(merged.text, file="placement.lock", stack="test")


def _branches(*, common: list[Document], ours: list[Document], theirs: list[Document], base: Lock) -> Plan:
    """Plan both branches, merge their locks, and plan with all their documents."""
    locks = [plan(fleet(NODE, *common, *branch), base).lock for branch in (ours, theirs)]
    return plan(fleet(NODE, *common, *ours, *theirs), _merged(base, *locks))


def _at(places: dict[str, int]) -> Lock:
    return Lock(stack="test", placements={spot(place): number for place, number in places.items()})


ONE, TWO = cluster("east", {"p": ("node", 1)}), cluster("east", {"p": ("node", 2)})


def test_both_branches_take_the_last_node_and_one_of_them_stays_without_a_place() -> None:
    """By name and size alone `run` would leave."""
    run = deployment("run", 1, gpus=8)
    base = _at({"run east/p": 1})
    planned = _branches(
        common=[TWO, run],
        ours=[deployment("a", 1, gpus=8)],
        theirs=[deployment("z", 1, gpus=8)],
        base=base,
    )
    assert placed(planned) == {"a east/p": 1, "run east/p": 1}
    assert [(missing.deployment, missing.replicas, missing.running) for missing in planned.unplaced] == [
        ("ml/z", 1, 0)
    ]
    assert planned.left == {spot("z east/p"): "pool east/p is too small for its pods"}
    assert planned.problems == ()
    assert plan(fleet(NODE, TWO, run), planned.lock).placements == planned.placements[1:]


def test_of_two_that_were_added_the_more_important_one_stays() -> None:
    planned = _branches(
        common=[ONE],
        ours=[deployment("a", 1, gpus=8, priority=1)],
        theirs=[deployment("z", 1, gpus=8, priority=2)],
        base=_at({}),
    )
    assert placed(planned) == {"z east/p": 1}


def test_an_added_replica_goes_elsewhere_if_there_is_room() -> None:
    planned = _branches(
        common=[ONE, cluster("west", {"p": ("node", 1)})],
        ours=[deployment("a", 1, gpus=8, selector={})],
        theirs=[deployment("z", 1, gpus=8)],
        base=_at({}),
    )
    assert placed(planned) == {"a east/p": 1, "z west/p": 1}


def test_what_ran_does_not_move_where_the_added_one_has_no_other_place() -> None:
    """`run` could go to the west, and `a` only to the east."""
    east, west = (
        cluster("east", {"p": ("node", 1)}, labels={"at": "east"}),
        cluster("west", {"p": ("node", 1)}),
    )
    only_east = {"at": "east"}
    run = deployment("run", 1, gpus=4)
    planned = _branches(
        common=[east, west, run],
        ours=[deployment("a", 1, gpus=4, selector=only_east)],
        theirs=[deployment("b", 1, gpus=4, selector=only_east)],
        base=_at({"run east/p": 1}),
    )
    assert placed(planned) == {"a east/p": 1, "run east/p": 1}
    assert [missing.deployment for missing in planned.unplaced] == ["ml/b"]


def test_replicas_that_a_branch_drained_keep_their_place_against_those_that_the_other_added() -> None:
    run = deployment("run", 2, gpus=8)
    base = _at({"run east/p": 1, "run west/p": 1})
    drained = [cluster("east", {"p": ("node", 2)}, state="drained"), cluster("west", {"p": ("node", 2)})]
    added = deployment("a", 1, gpus=8)
    ours = plan(fleet(NODE, *drained, run), base).lock
    theirs = Lock(stack="test", placements=base.placements | {spot("a west/p"): 1})
    planned = plan(fleet(NODE, *drained, run, added), _merged(base, ours, theirs))
    assert placed(planned) == {"run west/p": 2}
    assert [(missing.deployment, missing.running) for missing in planned.unplaced] == [("ml/a", 0)]


def test_replicas_that_two_branches_moved_to_one_place_leave_before_one_that_stayed_there() -> None:
    """Named so that by names alone `a` would leave."""
    fleet_ = fleet(
        NODE,
        *(cluster(name, {"p": ("node", 2)}) for name in ("east", "north", "west")),
        deployment("a", 1, gpus=8),
        deployment("y", 1, gpus=8),
        deployment("z", 1, gpus=8),
    )
    base = {"a west/p": 1, "y east/p": 1, "z north/p": 1}
    ours = {"a west/p": 1, "y west/p": 1, "z north/p": 1}
    theirs = {"a west/p": 1, "y east/p": 1, "z west/p": 1}
    planned = plan(fleet_, _merged(_at(base), _at(ours), _at(theirs)))
    assert planned.lock.placements[spot("a west/p")] == 1
    assert sum(planned.lock.placements.values()) == 3


def test_surplus_replicas_after_a_merge_are_those_that_were_added() -> None:
    """Both branches scale to 2, each to another cluster, and the documents of both say 2."""
    fleet_ = fleet(
        NODE, *(cluster(name, {"p": ("node", 1)}) for name in ("east", "north", "west")), deployment("a", 2)
    )
    base = {"a west/p": 1}
    planned = plan(fleet_, _merged(_at(base), _at(base | {"a east/p": 1}), _at(base | {"a north/p": 1})))
    assert placed(planned) == {"a east/p": 1, "a west/p": 1}


def test_added_replicas_of_two_branches_keep_to_the_quota_of_both() -> None:
    planned = _branches(
        common=[TWO, quota(gpus=8)],
        ours=[deployment("a", 1, gpus=8)],
        theirs=[deployment("z", 1, gpus=8)],
        base=_at({}),
    )
    assert placed(planned) == {"a east/p": 1}
    assert planned.left == {spot("z east/p"): "a Quota of namespace ml has no room for it"}
    assert [missing.running for missing in planned.unplaced] == [0]


@pytest.mark.parametrize("seed", range(100))
def test_random_branches_merge_and_move_nothing_that_ran(seed: int) -> None:
    base, branches, planned = _random_merge(seed)
    assert _moved(base, branches, planned) == {}
    assert [missing for missing in planned.unplaced if missing.running] == []
    assert [problem for problem in planned.problems if problem.severity == "error"] == []


def test_in_such_merges_often_not_all_have_room() -> None:
    """Otherwise nobody would have to leave in any case."""
    merges = [_random_merge(seed) for seed in range(30)]
    assert sum(any(planned.left.values()) for _, _, planned in merges) > 10


def _random_merge(seed: int) -> tuple[Lock, list[Lock], Plan]:
    """Return base, branches, and the plan of their merge: each branch scales, removes and adds deployments,
    up to the last node of the fleet and beyond.
    """
    random = Random(seed)
    documents: _Documents = {}
    _put(documents, service("all", (1, {})))
    for name in ("east", "north", "west"):
        pools = {"p": ("node", random.randint(1, 3)), "q": ("node", 1)}
        tier = "prod" if name == "east" else random.choice(("dev", "prod"))
        _put(documents, cluster(name, pools, labels={"tier": tier}))
    names = random.sample(NAMES, 16)
    for name in names[:8]:
        _put(documents, _deployment(name, random))
    base = plan(fleet(NODE, *documents.values()), Lock(stack="test")).lock
    edits = (
        _edits(documents, names[:4], names[8:12], random),
        _edits(documents, names[4:8], names[12:], random),
    )
    branches = [plan(fleet(NODE, *_after(documents, edit).values()), base).lock for edit in edits]
    both = fleet(NODE, *_after(documents, edits[0] | edits[1]).values())
    planned = plan(both, _merged(base, *branches))
    assert plan(both, planned.lock).changes == ()
    return base, branches, planned


def _moved(base: Lock, branches: list[Lock], planned: Plan) -> dict[Spot, int]:
    """Return how many replicas of the base that both branches kept a spot lacks."""
    kept = {
        known: min(number, *(lock.placements.get(known, 0) for lock in branches))
        for known, number in base.placements.items()
    }
    now = planned.lock.placements
    return {known: number for known, number in kept.items() if number > now.get(known, 0)}


def _put(documents: _Documents, document: Document) -> None:
    documents[document.kind, document.metadata.name] = document


def _after(documents: _Documents, edits: _Edits) -> _Documents:
    return {key: document for key, document in (documents | edits).items() if document is not None}


def _deployment(name: str, random: Random) -> ModelDeployment:
    selector = random.choice(({}, {}, {"tier": "prod"}))
    size = random.choice((1, 2, 4, 4, 8))
    return deployment(name, random.randint(1, 3), gpus=size, selector=selector, priority=random.randint(0, 2))


def _edits(documents: _Documents, own: list[str], new: list[str], random: Random) -> _Edits:
    """Scale or remove deployments of the base, and add new ones."""
    edits: _Edits = {}
    for name in random.sample(own, random.randint(1, 3)):
        before = documents["ModelDeployment", name]
        assert isinstance(before, ModelDeployment)
        spec = before.spec.model_copy(update={"replicas": random.randint(0, 5)})
        gone = random.random() < 0.3
        edits["ModelDeployment", name] = None if gone else before.model_copy(update={"spec": spec})
    for name in new:
        edits["ModelDeployment", name] = _deployment(name, random)
    return edits
