"""`plan --without`, `--set` and `--n-minus-one`: what would be, and no file changes."""

from fleet_of_one import CLUSTER
from small_project import LOCK, Project

WEST = CLUSTER.replace("name: east", "name: west").replace("path: east", "path: west")


def test_what_would_be_without_a_cluster_is_what_is_when_it_is_abandoned(project: Project) -> None:
    project.write("stacks/prod/west.yaml", WEST)
    project.write("stacks/prod/placement.lock", LOCK)
    asked = project.run("plan", "--without", "cluster=east", "--json")
    said = project.run("plan", "--without", "cluster=east")
    assert project.lock == LOCK
    assert said.out.splitlines()[0] == "as if cluster east were lost"
    project.edit("stacks/prod/clusters.yaml", "spec:\n", "spec:\n  state: abandoned\n")
    done = project.run("plan", "--json")
    values = asked.json
    assert values.pop("asIf") == {"without": [{"kind": "cluster", "name": "east"}], "set": []}
    assert [entry["cluster"] for entry in values["placements"]] == ["west"]
    assert (asked.code, values) == (done.code, done.json)


def test_what_would_be_with_another_value_is_what_is_when_it_is_written(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    asked = project.run(
        "plan",
        "--set=ModelDeployment/ml/qwen.spec.replicas=3",
        "--set=InferenceCluster/east.spec.nodePools[l4].nodeCount=2",
        "--set=InferenceCluster/east.metadata.labels[example.com/tier]=prod",
        "--json",
    )
    values = asked.json
    assert values.pop("asIf")["set"][0] == "ModelDeployment/ml/qwen.spec.replicas=3"
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 3")
    project.edit("stacks/prod/clusters.yaml", "nodeCount: 1", "nodeCount: 2")
    done = project.run("plan", "--json")
    assert (asked.code, values["placements"], values["changes"]) == (
        done.code,
        done.json["placements"],
        done.json["changes"],
    )


def test_each_loss_is_planned_and_its_repair_told(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    ran = project.run("plan", "--n-minus-one")
    assert ran.out.partition("if one is lost\n")[2] == (
        "lost          replicas  without a place  no service  cheapest repair\n"
        "cluster east         1  ml/qwen 1        ml/qwen     no number of nodes alone; for ml/qwen: add a "
        "pool that suits it, or change what it asks for: no active pool does, however large\n"
    )


def test_what_cannot_be_asked_is_refused(project: Project) -> None:
    assert project.run("plan", "--without", "cluster=eest").code == 1
    assert project.run("plan", "--without", "node=a").code == 2
    assert project.run("plan", "--set", "ModelDeployment/ml/qwen=3").code == 2
    assert project.run("plan", "--set", "ModelDeployment/qwen.spec.replicas=3").code == 1
    assert project.run("plan", "--without", "cluster=east", "--write").code == 2
    assert project.run("plan", "--n-minus-one", "--write").code == 2
    assert "'cluster=' has no name: cluster=..." in project.run("plan", "--without", "cluster=").err
    wrong = project.run("plan", "--set", "ModelDeployment/ml/qwen.spec.replicas=many")
    assert "replicas must be a whole number, not 'many'" in wrong.err
