"""Single edits of a fleet that stands on a cluster of Google's: planned as the table of changes says."""

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from digested import claims, digested, without_groups
from gke_edits import Edit, effect, planned
from gke_edits_page import EDITS, page
from gke_edits_stack import documents
from gke_fleet import Fleet, fleet
from project import PROGRAM, ROOT, Project, Run

from inferfleet.cloud.gke.facts.change_table import Effect
from inferfleet.cloud.gke.facts.schema import FIREWALL, NETWORK, SUBNETWORK

DOCS = ROOT / "docs" / "edits.md"
Previews = dict[str, Future[Run]]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The stack is deployed, and a refresh has taken in what GKE filled in."""
    root = tmp_path_factory.mktemp("edits")
    with fleet(root, "edits", all=[*documents().values()]) as made:
        done = made.project.up()
        assert done.code == 0, done.output
        refreshed = made.project.run(
            "pulumi", "refresh", "--stack", "edits", "--yes", "--skip-preview", "--non-interactive"
        )
        assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
        _bring_networks(made)
        yield made


def _bring_networks(made: Fleet) -> None:
    """Somebody else has networks between GPUs, which an edit names."""
    for place in range(8):
        name = f"gpu-{place}"
        within = {"project": "inferfleet-test", "network": f"projects/inferfleet-test/global/networks/{name}"}
        made.bring(NETWORK, name=name, project="inferfleet-test", autoCreateSubnetworks=False, mtu=8244)
        subnetwork = {"region": "us-east5", "ipCidrRange": f"192.168.{place}.0/24"}
        made.bring(SUBNETWORK, name=f"{name}-us-east5", **within, **subnetwork)
        rule = {"sourceRanges": ["192.168.0.0/16"], "allows": [{"protocol": "all"}]}
        made.bring(FIREWALL, name=name, **within, **rule)


@pytest.fixture(scope="module")
def previews(standing: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Previews]:
    """Yield the preview of every edit, two at a time: previews change nothing and lock nothing."""
    with ThreadPoolExecutor(2) as two:
        yield {
            one.title: two.submit(_preview, standing.project, tmp_path_factory.mktemp("edit"), one)
            for one in EDITS
        }


def _preview(project: Project, root: Path, edit: Edit) -> Run:
    """Run a preview in a folder of its own, against the same state and the same cloud."""
    for name in PROGRAM:
        (root / name).symlink_to(ROOT / name)
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(project.root / name, root / name)
    for name in ("classes", "stacks"):
        shutil.copytree(project.root / name, root / name)
    other = Project(root, project.stack, project.environment)
    other.write("all", *edit.of(documents()).values())
    return other.preview()


def test_the_page_says_what_the_edits_are() -> None:
    assert DOCS.read_text() == page(), "run: make docs"


def test_every_edit_does_what_its_row_in_the_table_says_or_says_why_not() -> None:
    """Where replicas stand, a replacement is refused until it is allowed."""
    refusable = (Effect.REPLACES, Effect.REFUSED)
    assert [
        one.title
        for one in EDITS
        if one.row and one.expected != one.row.effect and not one.why
        if not (one.refused and (one.row.effect in refusable or one.path.endswith("nodePools[]")))
    ] == []


def test_what_gke_filled_in_is_no_change(standing: Fleet) -> None:
    assert standing.project.preview().operations == {}


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.title)
def test_an_edit_is_planned_as_written_and_nothing_else_is(previews: Previews, edit: Edit) -> None:
    run = previews[edit.title].result()
    assert planned(run) == edit.plans, run.output
    assert claims(digested(edit, "edits")) == without_groups(run.operations)
    assert (run.code == 0, edit.refused in run.output) == (not edit.refused, True)
    assert "Traceback" not in run.output
    assert effect(run) == edit.expected


def test_a_resize_by_hand_is_taken_back_by_an_update_that_looks(standing: Fleet) -> None:
    pool = standing.pools("east")["fixed"]
    edited = standing.project.cli("sandbox", "cloud", "edit", pool.id, "nodeCount=2", "--stack", "edits")
    assert edited.returncode == 0, edited.stderr
    assert len(standing.nodes("east", "fixed")) == 4
    assert standing.project.preview().operations == {}
    done = standing.project.up("--refresh")
    assert (done.code, planned(done)) == (0, {"NodePool east/fixed": "update nodeCount"})
    assert len(standing.nodes("east", "fixed")) == 2
