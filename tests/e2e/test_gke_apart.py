"""Three clusters of Google's, one of which stops answering in the middle of an update, and one for good."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from asking import ask, until, url
from documents import Document, deployment, service
from gke_fleet import Fleet, fleet, gke, l4
from project import Run

from sandbox import clusters

REGIONS = {"east": "us-east5", "north": "us-east1", "west": "us-west1"}
ZONES = {"east": "us-east5-a", "north": "us-east1-b", "west": "us-west1-a"}


def models(name: str) -> list[Document]:
    """One on each cluster, whose loss stops nobody."""
    return [deployment(f"{name}-{cluster}", on=cluster, unplaced="Warn") for cluster in REGIONS]


def nodes(**states: str) -> list[Document]:
    """The clusters, each with a node more than its models and one replica of `everywhere` need."""
    return [
        gke(name, region, l4(nodeCount=4, zones=[ZONES[name]]), state=states.get(name, "active"))
        for name, region in REGIONS.items()
    ]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    written = [*models("old"), deployment("everywhere", replicas=3), service("chat", everywhere=1)]
    with fleet(tmp_path_factory.mktemp("apart"), "apart", clusters=nodes(), models=written) as standing:
        standing.up()
        yield standing


@dataclass(frozen=True)
class Parted:
    """An update that gives each cluster a model, while east is gone; and the state before and after it."""

    run: Run
    before: set[str]
    after: set[str]

    def new(self, cluster: str) -> set[str]:
        """What is made on each cluster, as north has it."""
        made = {one for one in self.run.operations if " north/" in one}
        return {one.replace("north", cluster) for one in made}


@pytest.fixture(scope="module")
def parted(three: Fleet) -> Parted:
    project, before = three.project, three.project.state()
    project.write("more", *models("new"))
    text = project.lock_file.read_text()
    with ThreadPoolExecutor(1) as beside:
        going = beside.submit(project.up, "--continue-on-error")
        # It is written once all clusters have answered, before anything is registered.
        until("the update begins", lambda: project.lock_file.read_text() != text)
        clusters.stop(project.root, project.stack, "east")
        run = going.result()
    return Parted(run, {*before}, {*project.state()})


def test_all_that_does_not_depend_on_the_cluster_is_finished(three: Fleet, parted: Parted) -> None:
    assert parted.run.code != 0
    assert "Traceback" not in parted.run.output
    failed = parted.run.output.partition("Diagnostics:")[2].partition("Outputs:")[0]
    assert "(east/ml/new-east" in failed
    assert "configured Kubernetes cluster is unreachable" in failed
    assert "north/" not in failed
    assert "west/" not in failed
    assert len(parted.new("north")) > 10
    added = parted.after - parted.before
    assert {one for one in added if " east/" not in one} == parted.new("north") | parted.new("west")
    assert parted.before <= parted.after
    for cluster in ("north", "west"):
        assert _ready(three, cluster)


def test_when_it_is_back_the_next_update_does_the_rest(three: Fleet, parted: Parted) -> None:
    clusters.start(three.project.root, three.project.stack, "east")
    assert three.up().operations == dict.fromkeys(parted.new("east") - parted.after, "create")
    assert three.up().operations == {}
    assert _ready(three, "east")


def test_the_loss_of_one_of_three_does_what_was_predicted(three: Fleet, parted: Parted) -> None:
    project, pinned = three.project, ["ml/new-north", "ml/old-north"]
    predicted, losses = _plan(three, "--without", "cluster=north"), _plan(three, "--n-minus-one")["nMinusOne"]
    assert {
        loss["lost"]["name"]: loss["unserved"] for loss in losses if loss["lost"]["kind"] == "cluster"
    } == {name: [f"ml/new-{name}", f"ml/old-{name}"] for name in REGIONS}
    clusters.stop(project.root, project.stack, "north")
    project.write("clusters", *nodes(north="abandoned"))
    done = three.up()
    unplaced = [line for line in done.output.splitlines() if "found no place" in line]
    assert [name for name in pinned if not any(name in line for line in unplaced)] == []
    shown = project.run("pulumi", "stack", "output", "--stack", project.stack, "--json").stdout
    assert json.loads(shown)["placements"] == {
        name: {
            f"{one['cluster']} decode=l4": one["replicas"]
            for one in predicted["placements"]
            if one["deployment"] == name
        }
        for name in {one["deployment"] for one in predicted["placements"]}
    }
    reached = {
        (one["cluster"], one["deployment"].replace("/", "/deployments/")) for one in predicted["placements"]
    }
    reached |= {(one["cluster"], one["service"]) for one in predicted["services"]}
    assert {cluster for cluster, _ in reached} == {"east", "west"}
    assert {(cluster, path) for cluster, path in reached if _answers(three, cluster, path)} == reached
    assert three.up().operations == {}


def _plan(fleet: Fleet, *options: str) -> dict[str, Any]:
    """Return what would be."""
    asked = fleet.project.cli("plan", "--stack", fleet.project.stack, *options, "--json")
    return dict(json.loads(asked.stdout))


def _answers(fleet: Fleet, cluster: str, path: str) -> bool:
    return ask(url(fleet, cluster, path), model="some/model").status == 200


def _ready(fleet: Fleet, cluster: str) -> bool:
    """Whether the one new model on the cluster serves."""
    mine = f"inferfleet.dev/serves=true,inferfleet.dev/deployment=new-{cluster}"
    [pod] = fleet.items(cluster, "pods", "-l", mine)
    return any(one == {**one, "type": "Ready", "status": "True"} for one in pod["status"]["conditions"])
