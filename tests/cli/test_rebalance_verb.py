"""`inferfleet plan --rebalance`: moves are proposed, and made by the lock alone."""

from fleet_of_one import CLASS, DEPLOYMENT
from small_project import LOCK, Project


def test_moves_that_save_are_proposed_and_written_when_asked_for(project: Project) -> None:
    price = "  price: {onDemand: '%s', currency: USD, asOf: '2026-01-01', source: a list}\n"
    project.write("classes/dear.yaml", CLASS.replace("name: l4", "name: dear") + price % 80)
    project.write("classes/l4.yaml", CLASS + price % 4)
    pools = "nodePools: [{name: dear, className: dear, nodeCount: 1}, "
    project.edit("stacks/prod/clusters.yaml", "nodePools: [", pools)
    cheap = LOCK.replace("  east/l4: {nodes: 1}", "  east/dear: {nodes: 1}\n  east/l4: {nodes: 1}")
    dear = cheap.replace("decode=l4", "decode=dear")
    project.write("stacks/prod/placement.lock", dear)
    assert (project.run("plan", "--write").code, project.lock) == (0, dear)
    ran = project.run("plan", "--rebalance")
    assert (ran.code, project.lock) == (0, dear)
    assert (
        "moves that save\n"
        "deployment  one replica from  to       saves an hour  GPUs of nodes emptied\n"
        "ml/qwen     east/dear         east/l4  38.00 USD      0\n"
    ) in ran.out
    written = project.run("plan", "--rebalance", "--write", "--json")
    spot = {"deployment": "ml/qwen", "cluster": "east"}
    assert (written.code, written.json["rebalance"]) == (
        0,
        [
            {
                "from": spot | {"pools": {"decode": "dear"}},
                "to": spot | {"pools": {"decode": "l4"}},
                "savesPerHour": "38.00",
                "currency": "USD",
                "gpusOfNodesEmptied": 0,
                "makesRoomFor": None,
            }
        ],
    )
    assert project.lock == cheap
    assert "no move of a replica makes room or saves anything\n" in project.run("plan", "--rebalance").out


def test_a_move_that_makes_room_is_proposed_and_places_the_other_when_written(project: Project) -> None:
    """A small replica is on the only large node."""
    project.write(
        "classes/large.yaml", CLASS.replace("name: l4", "name: large").replace("count: 2", "count: 8")
    )
    pools = "nodePools: [{name: large, className: large, nodeCount: 1}, "
    project.edit("stacks/prod/clusters.yaml", "nodePools: [", pools)
    project.write("stacks/prod/placement.lock", LOCK.replace("decode=l4", "decode=large"))
    large = DEPLOYMENT.replace("qwen", "zlarge").replace("tensor: 1", "tensor: 8")
    project.write("stacks/prod/large.yaml", large)
    first = project.run("plan", "--json").json["unplaced"][0]
    small, place = {"deployment": "ml/qwen", "cluster": "east"}, {"pools": {"decode": "large"}}
    assert (first["moves"], first["placedByMoves"], first["nextStep"]) == (
        [{"replicas": 1, "from": small | place, "to": small | {"pools": {"decode": "l4"}}}],
        1,
        "Run inferfleet plan --rebalance --write, which moves ml/qwen from east/large to east/l4, places "
        "1 replica and needs no node, or add 1 node to pool east/large (its class has no price)",
    )
    ran = project.run("plan", "--rebalance", "--write")
    assert (
        "moves that make room or save\n"
        "deployment  one replica from  to       saves an hour  GPUs of nodes emptied  makes room for\n"
        "ml/qwen     east/large        east/l4                 6                      ml/zlarge\n"
    ) in ran.out
    assert "  ml/qwen east decode=l4: 1\n  ml/zlarge east decode=large: 1\n" in project.lock
    assert project.run("plan", "--json").json["unplaced"] == []
