"""Plugin engine-args for one position of a worker: its pods are told the whole of it, or the run is "
"refused."""

from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, stack

from inferfleet.api.problems import InvalidDocuments
from inferfleet.desired import desired

JOINED = (
    "-tp=4",
    "-pp=2",
    "--nnodes=$(LWS_GROUP_SIZE)",
    "--node-rank=$(LWS_WORKER_INDEX)",
    "--master-addr=$(LWS_LEADER_ADDRESS)",
)


def _engine(*args: str) -> dict[str, Any]:
    container = {"name": "engine", "image": "engine:1", "args": list(args)}
    return {"template": {"spec": {"containers": [container]}}}


def _said(entry: tuple[str, ...], follower: tuple[str, ...], **plugin: Any) -> list[tuple[str, str, str]]:
    workers = {
        "topology": {"tensor": 4, "pipeline": 2},
        "entry": _engine(*entry),
        "follower": _engine(*follower),
    }
    document = deployment("a", workers=workers, plugins=[{"name": "engine-args", **plugin}])
    try:
        desired(stack(cluster("east"), document), NOTHING)
    except InvalidDocuments as raised:
        return [(problem.path, problem.what, problem.next_step) for problem in raised.problems]
    return []


@pytest.mark.parametrize(
    ("target", "here", "there", "position", "flags"),
    [
        ("Entry", "followers", "entry", "follower", " --headless"),
        ("Worker", "entry", "followers", "entry", ""),
    ],
)
def test_flags_for_one_position_alone_are_half_of_a_worker(
    target: str, here: str, there: str, position: str, flags: str
) -> None:
    assert _said((), (), scope={"target": target}) == [
        (
            f"spec.workers.{position}.template.spec",
            f"plugin engine-args joins the {there} of a worker to its {here}, and nothing in the command "
            "line "
            f"of the {here} joins them to the {there}",
            "Remove target from the scope of engine-args, or add --nnodes=$(LWS_GROUP_SIZE) "
            f"--node-rank=$(LWS_WORKER_INDEX) --master-addr=$(LWS_LEADER_ADDRESS){flags}",
        )
    ]


def test_flags_for_one_position_are_right_where_the_other_has_them() -> None:
    assert _said((), (*JOINED, "--headless"), scope={"target": "Entry"}) == []
    assert _said(JOINED, (), scope={"target": "Worker"}) == []
    assert _said((), ()) == []


def test_what_plugins_made_of_both_positions_is_compared() -> None:
    said = _said(
        JOINED,
        (*JOINED, "--headless"),
        scope={"target": "Entry"},
        config={"expertParallel": True},
    )
    assert [what for _, what, _ in said] == [
        "the entry of a worker has --enable-expert-parallel and its followers have no "
        "--enable-expert-parallel, "
        "but the pods of a worker are one engine"
    ]
