"""Changes of prefill and decode apart while clients have long streams: what was announced is what happens."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from asking import until
from documents import Document, cluster
from killing import update
from prefilled import apart
from project import Project, Run
from rolling import Pod, Seen, clients, converged, leads_to, of, revisions, tell
from sandboxes import running

STACK, CLUSTER = "apart", "east"
H100 = "NVIDIA H100 80GB HBM3"
# Streams of 20 seconds: tokens, and how many of them a pod makes in a second.
TOKENS, SPEED = 200, 10
MIRROR = "mirror.example.com/llm-d/llm-d-routing-sidecar:v0.7.1"
BESIDE = "gets a new set of pods beside the old one"
AFTER = "there is no room for it beside the old one"

BEFORE: dict[str, dict[str, Any]] = {
    "toggled": {"prefill": None, "decode": 2},
    "image": {},
    # Its pods are replaced one after the other, each once its streams have ended: these are half as long.
    "proxy": {"decode": 2, "speed": 2 * SPEED},
    "tight": {"tensor": 4, "gpu": H100},
}
LOADING = {"startup": "8s"}
# Longer than an update goes on once the pods before them have ended.
LOADING_ALONE = {"startup": "25s"}
EDITS: dict[str, dict[str, Any]] = {
    "toggled": {},
    "image": {"image": "v0.33.0"},
    "proxy": {**BEFORE["proxy"], "proxy": MIRROR},
    "tight": {**BEFORE["tight"], "image": "v0.33.0", "annotations": LOADING_ALONE},
}
ANOTHER_SET = {"toggled", "image"}


def models(documents: Mapping[str, Mapping[str, Any]]) -> list[Document]:
    return [apart(name, **{"speed": SPEED, **fields}) for name, fields in documents.items()]


@dataclass
class Course:
    """What happened to the fleet in one update with all edits, and in the one after it."""

    seen: Seen
    preview: Run
    rolls: dict[str, bool]
    before: dict[str, Pod]
    first: Run
    between: dict[str, Pod] = field(default_factory=dict)
    second: Run | None = None
    after: dict[str, Pod] = field(default_factory=dict)


@dataclass
class Mended:
    """What happened in an update that failed and in the one after it; `meanwhile` are the pods between."""

    seen: Seen
    before: dict[str, Pod]
    failed: Run
    meanwhile: dict[str, Pod]
    last: Run
    after: dict[str, Pod]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Pods of four deployments, of which `tight` fills its pool."""
    pools = {"l4": ("nvidia-l4-4x", 6), "h100": ("nvidia-h100-80gb-8x", 1)}
    nodes = cluster(CLUSTER, stack=STACK, pools=pools)
    with running(tmp_path_factory.mktemp(STACK), STACK, nodes, *models(BEFORE)) as project:
        project.begin(clusters=[nodes], models=models(BEFORE))
        done = project.up()
        assert done.code == 0, done.output
        yield project


@pytest.fixture(scope="module")
def course(fleet: Project) -> Course:
    """One update with all edits while clients ask, and the next one."""
    with clients(fleet, CLUSTER, BEFORE, tokens=TOKENS) as seen:
        before = seen.look()
        fleet.write("models", *models(EDITS))
        preview = fleet.preview()
        told = json.loads(fleet.cli("plan", "--stack", STACK, "--json").stdout)
        rolls = {roll["deployment"].removeprefix("ml/"): roll["beside"] for roll in told["rolls"]}
        made = Course(seen, preview, rolls, before, fleet.up())
        made.between = seen.look()
        made.second = fleet.up()
        made.after = seen.look()
    tell(seen)
    return made


def test_the_plan_says_which_sets_of_pods_come_beside_the_old(course: Course) -> None:
    assert course.rolls == dict.fromkeys(ANOTHER_SET, True) | {"tight": False}


@pytest.mark.parametrize("name", EDITS)
def test_a_preview_announces_a_new_set_and_a_gap_and_nothing_else(course: Course, name: str) -> None:
    assert course.preview.code == 0, course.preview.output
    for run in (course.preview, course.first):
        told = [line for line in run.output.splitlines() if f"ml/{name} on " in line]
        assert (any(BESIDE in line for line in told), any(AFTER in line for line in told)) == (
            name in ANOTHER_SET,
            name == "tight",
        ), told


@pytest.mark.parametrize("name", sorted(BEFORE.keys() - {"tight"}))
def test_no_request_fails_where_no_gap_is_announced(course: Course, name: str) -> None:
    assert course.first.code == 0, course.first.output
    assert course.seen.failed(name) == []
    assert len(course.seen.streams[name]) >= 4


def test_no_request_is_answered_across_two_formats(course: Course) -> None:
    assert course.seen.mixed() == []
    assert course.seen.refused() == 0


@pytest.mark.parametrize("name", sorted({*ANOTHER_SET, "tight"}))
def test_a_new_set_takes_the_place_of_all_pods(course: Course, name: str) -> None:
    before, after = of(course.before, name), of(course.after, name)
    assert before.isdisjoint(after)
    assert len(after) == 2
    [old], [new] = revisions(course.before, name), revisions(course.after, name)
    assert old != new
    assert (old == "") == (name == "toggled")


@pytest.mark.parametrize("name", sorted(ANOTHER_SET))
def test_the_old_set_ends_after_the_route_has_left_it(course: Course, name: str) -> None:
    steps = course.first.timeline
    of_workloads = [step for step in steps if f" {CLUSTER}/ml/{name}-decode-" in step]
    made = max(at for at, step in enumerate(steps) if step.startswith("done") and step in of_workloads[:2])
    moved = steps.index(f"start HTTPRoute {CLUSTER}/ml/{name}")
    ended = next(
        at
        for at, step in enumerate(steps)
        if step.startswith("start") and step in of_workloads and at > moved
    )
    assert made < moved < ended


def test_another_proxy_rolls_decode_pods_where_they_are(course: Course) -> None:
    before, after = course.before, course.after
    assert of(before, "proxy", "prefill") == of(after, "proxy", "prefill")
    assert of(before, "proxy", "decode").isdisjoint(of(after, "proxy", "decode"))
    assert revisions(before, "proxy") == revisions(after, "proxy")


def test_without_room_for_both_sets_the_announced_gap_comes_and_the_next_update_ends_it(
    course: Course,
) -> None:
    assert course.second is not None
    assert course.second.code == 0, course.second.output
    assert course.seen.failed("tight")
    assert of(course.before, "tight").isdisjoint(of(course.between, "tight"))
    assert len(of(course.after, "tight")) == 2
    assert AFTER not in course.second.output


BROKEN = {
    "grace": 10,
    "engine": {"startup": "10s"},
    "image": "v0.34.0",
    "annotations": {"fail": "at start: RuntimeError: the GPU is gone"},
}


@pytest.fixture(scope="module")
def mended(fleet: Project, course: Course) -> Mended:
    """An update to an image with which no engine starts, and one to a good image."""
    with clients(fleet, CLUSTER, ("image", "toggled"), tokens=50) as seen:
        before = seen.look()
        fleet.write("models", *models(EDITS | {"image": BROKEN, "toggled": BEFORE["toggled"]}))
        # Half a minute for the update, where a real one waits for a large image for longer.
        with fleet.with_code("import inferfleet.serving.workload as budgets\nbudgets.IMAGE_PULL = 5\n"):
            failed = fleet.up("--continue-on-error")
        meanwhile = seen.look()
        fleet.write("models", *models(EDITS | {"image": {"image": "v0.35.0"}, "toggled": BEFORE["toggled"]}))
        last = fleet.up()
        after = seen.look()
    tell(seen)
    return Mended(seen, before, failed, meanwhile, last, after)


def test_a_new_set_that_never_is_ready_leaves_the_old_one_as_it_is(mended: Mended) -> None:
    assert mended.failed.code != 0
    assert of(mended.meanwhile, "image") == of(mended.before, "image")
    assert "Traceback" not in mended.failed.output


def test_what_is_ready_beside_a_set_that_failed_serves_and_nothing_is_deleted(mended: Mended) -> None:
    assert mended.failed.operations[f"HTTPRoute {CLUSTER}/ml/toggled"] == "update"
    assert "delete" not in mended.failed.operations.values()
    assert revisions(mended.meanwhile, "toggled") > {""}


def test_the_update_with_the_mended_document_ends_both_other_sets(mended: Mended, fleet: Project) -> None:
    assert mended.last.code == 0, mended.last.output
    assert of(mended.after, "image").isdisjoint(of(mended.before, "image"))
    assert (len(of(mended.after, "image")), len(of(mended.after, "toggled"))) == (2, 2)
    assert revisions(mended.after, "toggled") == {""}
    assert [mended.seen.failed(name) for name in ("image", "toggled")] == [[], []]
    assert mended.seen.mixed() == []
    converged(fleet, CLUSTER)


def test_an_update_killed_while_sets_change_is_finished_by_the_next(fleet: Project, mended: Mended) -> None:
    del mended
    documents = EDITS | {"image": {"image": "v0.36.0", "annotations": LOADING}, "toggled": BEFORE["toggled"]}
    with clients(fleet, CLUSTER, ("image",), tokens=50) as seen:
        before = seen.look()
        [old] = revisions(before, "image")
        fleet.write("models", *models(documents))
        with update(fleet):
            until(
                "the route has left the old set",
                lambda: not leads_to(fleet, CLUSTER, "image", old),
                every=0.1,
            )
        recovered = fleet.cli("recover", "--yes")
        assert recovered.returncode == 0, recovered.stdout + recovered.stderr
        done = fleet.up()
        assert done.code == 0, done.output
        after = seen.look()
    tell(seen)
    assert (seen.failed("image"), seen.mixed(), seen.refused()) == ([], [], 0)
    assert of(before, "image").isdisjoint(of(after, "image"))
    assert len(of(after, "image")) == 2
    converged(fleet, CLUSTER)
