"""`inferfleet capacity`: it shows and writes what was seen, and plans read that."""

from datetime import date, timedelta

import pytest
from fake_cluster import KINDS, FakeCluster
from small_project import Project

NODES = {**KINDS, "v1": {**KINDS["v1"], "Node": ("nodes", False)}}
FILE = "stacks/prod/capacity.lock"


def _node(name: str, gpus: int, **spec: object) -> dict[str, object]:
    status = {"allocatable": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": str(gpus)}}
    metadata = {"name": name, "labels": {"inferfleet.dev/pool": "l4"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


@pytest.fixture
def asked(project: Project) -> object:
    fake = FakeCluster(kinds=NODES, objects=[_node("a", 2)])
    project.write("stacks/prod/east.kubeconfig", fake.kubeconfig)
    project.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:trustRepositoryKubeconfigs: true}\n")
    yield fake
    fake.close()


def test_it_shows_what_there_is_and_writes_only_when_asked(project: Project, asked: FakeCluster) -> None:
    ran = project.run("capacity")
    assert (ran.code, ran.out.splitlines()[-1].split()) == (0, ["east/l4", "1", "0", "0", "2", "0"])
    assert not (project.root / FILE).exists()
    ran = project.run("capacity", "--write", "--json")
    line = f'east/l4: {{seen: "{date.today()}", nodes: 1, gpus: 2, cpu: "16000m", memory: "65536Mi"}}'
    assert (project.root / FILE).read_text() == f"version: 1\nstack: prod\npools:\n  {line}\n"
    assert ran.json["file"] == {"file": FILE, "written": True}
    assert project.run("capacity", "--write", "--json").json["file"]["written"] is False


def test_a_plan_counts_on_no_more_than_was_seen(project: Project, asked: FakeCluster) -> None:
    before = project.run("plan", "--json").json
    asked.objects = [_node("a", 2, unschedulable=True)]
    project.run("capacity", "--write")
    after = project.run("plan", "--json")
    assert (len(before["placements"]), before["unplaced"]) == (1, [])
    assert (after.code, after.json["placements"], len(after.json["unplaced"])) == (0, [], 1)
    assert "1 of its nodes cordoned or not ready" in after.json["notices"][0]["what"]


def test_nodes_that_documents_ask_for_later_are_not_missing(project: Project, asked: FakeCluster) -> None:
    project.edit("stacks/prod/clusters.yaml", "nodeCount: 1", "nodeCount: 2")
    project.run("capacity", "--write")
    assert "nodes: 1, missing: 1, gpus: 2" in (project.root / FILE).read_text()
    project.edit("stacks/prod/clusters.yaml", "nodeCount: 2", "nodeCount: 3")
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 5")
    ran = project.run("plan", "--json").json
    assert ([one["replicas"] for one in ran["placements"]], [one["replicas"] for one in ran["unplaced"]]) == (
        [4],
        [1],
    )
    assert "1 of 3 nodes not there" in ran["notices"][0]["what"]


@pytest.mark.parametrize(("state", "told"), [("active", True), ("lost", False)])
def test_a_cluster_whose_kubeconfig_is_a_setting_is_not_asked_and_it_is_said(
    project: Project, asked: FakeCluster, state: str, told: bool
) -> None:
    project.run("capacity", "--write")
    before = (project.root / FILE).read_text()
    project.edit("stacks/prod/clusters.yaml", "path: east.kubeconfig", "configKey: eastKubeconfig")
    project.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:eastKubeconfig: {secure: 'v1:x'}}\n")
    project.edit("stacks/prod/clusters.yaml", "spec:\n", f"spec:\n  state: {state}\n")
    ran = project.run("capacity", "--write", "--json")
    key = "the configuration key 'eastKubeconfig', which only Pulumi reads"
    what = f"cluster 'east' is not asked: its kubeconfig is {key}"
    assert (ran.code, [one["what"] == what for one in ran.json["warnings"] if "east" in one["what"]]) == (
        0,
        [True] * told,
    )
    assert (project.root / FILE).read_text() == before


def test_lines_of_clusters_that_do_not_answer_stay_and_old_ones_are_told(
    project: Project, asked: FakeCluster
) -> None:
    project.run("capacity", "--write")
    day = date.today() - timedelta(days=8)
    project.edit(FILE, str(date.today()), str(day))
    old = (project.root / FILE).read_text()
    asked.close()
    ran = project.run("capacity", "--write", "--json")
    assert (ran.code, (project.root / FILE).read_text()) == (0, old)
    told = [problem["what"] for problem in project.run("plan", "--json").json["warnings"]]
    assert f"capacity.lock has pool east/l4 as of {day}, 8 days ago" in told


def test_a_file_that_cannot_be_read_is_told_with_its_line(project: Project) -> None:
    project.write(FILE, "version: 1\nstack: prod\npools:\n  east/l4: {nodes: 1}\n")
    ran = project.run("validate", "--json")
    (problem,) = ran.json["problems"]
    assert (ran.code, problem["file"], problem["line"]) == (1, FILE, 4)


def test_plans_say_that_what_was_seen_cannot_be(project: Project) -> None:
    ahead = date.today() + timedelta(days=9)
    lines = f'  east/x: {{seen: "{date.today()}", nodes: 1}}\n  east/l4: {{seen: "{ahead}", nodes: 1}}\n'
    project.write(FILE, f"version: 1\nstack: prod\npools:\n{lines}")
    told = project.run("plan", "--json").json["warnings"]
    assert [(one["file"], one["line"]) for one in told if one["file"]] == [(FILE, 4), (FILE, 5)]
