"""Endpoint pickers are replaced while clients have streams for which a picker does not wait by itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from documents import FRUGAL, Document, annotated, cluster, model
from project import Project, Run
from rolling import Pod, Seen, clients, converged, of, tell

STACK, CLUSTER = "pickers", "east"
L4 = "NVIDIA L4"
# Streams of 45 seconds: tokens, and how many of them a pod makes in a second. A picker that is told to end
# gives them 30.
TOKENS, SPEED = 450, 10
GRACE = 80
IMAGE = "mirror.example.com/inference/epp:v1.5.0"
HEAD = {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}
ONE = {"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}
CONFIG = {
    **HEAD,
    "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}],
    "schedulingProfiles": [ONE],
}
GARBLED = {**HEAD, "plugins": [{"type": "queue-scorer"}, {"type": "queue-scorer"}]}
WORDS = "duplicate plugin name 'queue-scorer'"
LOUDER = {"flags": FRUGAL["flags"] | {"v": "2"}}
SEVERAL = {"replicas": 2}

BEFORE: dict[str, dict[str, Any]] = {
    "image": {},
    "flag": {},
    "config": {},
    "resources": {},
    "several": SEVERAL,
    "more": {},
    "fewer": SEVERAL,
}
EDITS: dict[str, dict[str, Any]] = {
    "image": {"image": IMAGE},
    "flag": LOUDER,
    "config": {"config": CONFIG},
    "resources": {"resources": {"requests": {"cpu": "200m"}}},
    "several": SEVERAL | LOUDER,
    "more": SEVERAL,
    "fewer": {},
}
# What `validate` knows of a program, it refuses; of an image of somebody's own it warns.
BROKEN = EDITS | {
    "config": {"config": GARBLED, "image": IMAGE},
    "several": SEVERAL | {"config": GARBLED, "image": IMAGE},
}


def models(pickers: Mapping[str, Mapping[str, Any]]) -> Iterator[Document]:
    for name, picker in pickers.items():
        made = model(name, gpu=L4, picker=dict(picker))
        made["spec"]["workers"]["template"]["spec"]["terminationGracePeriodSeconds"] = GRACE
        yield annotated(made, tokens_per_second=str(SPEED))


def nodes() -> Document:
    return cluster(CLUSTER, stack=STACK, pools={"l4": ("nvidia-l4-4x", 2)})


@dataclass
class Course:
    """What happened in two updates, of which the second names a configuration that no picker takes; and in
    the one after them.
    """

    seen: Seen
    before: dict[str, Pod]
    preview: Run
    edited: Run
    broken: Run
    told: dict[str, str] = field(default_factory=dict)
    after: dict[str, Pod] = field(default_factory=dict)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    from sandboxes import running

    with running(tmp_path_factory.mktemp(STACK), STACK, nodes()) as project:
        project.begin(clusters=[nodes()], models=tuple(models(BEFORE)))
        done = project.up()
        assert done.code == 0, done.output
        yield project


@pytest.fixture(scope="module")
def course(fleet: Project) -> Course:
    with clients(fleet, CLUSTER, BEFORE, tokens=TOKENS) as seen:
        before = seen.look()
        fleet.write("models", *models(EDITS))
        preview = fleet.preview()
        edited = fleet.up()
        fleet.write("models", *models(BROKEN))
        # For less than the three minutes that a picker has.
        with fleet.with_code("import inferfleet.desired.endpoints as budgets\nbudgets.PICKER_SECONDS = 60\n"):
            broken = fleet.up("--continue-on-error")
        made = Course(seen, before, preview, edited, broken, fleet.broken(CLUSTER))
        made.after = seen.look()
    tell(seen)
    return made


@pytest.mark.parametrize("name", BEFORE)
def test_no_request_and_no_stream_fails(course: Course, name: str) -> None:
    assert course.edited.code == 0, course.edited.output
    assert course.seen.failed(name) == []
    assert len(course.seen.streams[name]) >= 4
    assert of(course.before, name) == of(course.after, name)


def test_a_preview_names_the_pickers_that_change_and_what_of_them(course: Course) -> None:
    assert course.preview.code == 0, course.preview.output
    output = " ".join(course.preview.output.replace("\\", "").split())
    for which in (
        "pickers of ml/fewer, ml/more (flag ha-enable-leader-election)",
        "picker of ml/resources (resources)",
        "picker of ml/config (configuration)",
        "pickers of ml/flag, ml/several (flag v)",
        "picker of ml/image (image)",
    ):
        assert f"an update replaces the endpoint {which}" in output


def test_a_configuration_that_no_picker_takes_is_told_in_its_words_and_the_old_one_serves(
    course: Course,
) -> None:
    assert course.broken.code != 0
    output = course.broken.output.replace("\\", "")
    for name in ("config", "several"):
        assert any(f"ml/{name}-" in line and WORDS in line for line in output.splitlines()), output
    assert "Traceback" not in output


def test_the_next_update_ends_what_did_not_start(fleet: Project, course: Course) -> None:
    del course
    with clients(fleet, CLUSTER, ("config", "several"), tokens=50) as seen:
        fleet.write("models", *models(EDITS))
        done = fleet.up()
        assert done.code == 0, done.output
    tell(seen)
    assert (seen.failed("config"), seen.failed("several")) == ([], [])
    converged(fleet, CLUSTER)
