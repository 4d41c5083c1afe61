import pytest
from fleet_of_one import CLUSTER, DEPLOYMENT
from small_project import NO_LOCK_VALUES, NO_LOCK_WARNING, Project


def test_a_valid_stack_is_counted(project: Project) -> None:
    ran = project.run("validate")
    assert (ran.code, ran.out, ran.err) == (
        0,
        "valid: classes 1, clusters 1, deployments 1, services 1\n",
        NO_LOCK_WARNING,
    )


def test_a_valid_stack_says_the_same_to_machines(project: Project) -> None:
    assert project.run("validate", "--json").json == {
        "problems": [],
        "warnings": [NO_LOCK_VALUES],
        "notices": [],
        "documents": {"classes": 1, "clusters": 1, "deployments": 1, "services": 1},
    }


def test_every_problem_is_told_with_its_line_grouped_by_file_and_counted(project: Project) -> None:
    project.edit("stacks/prod/clusters.yaml", "className: l4", "className: l5")
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replica: 1")
    ran = project.run("validate")
    first, blank, *rest = ran.err.splitlines()
    assert (ran.code, ran.out, blank, rest[-1]) == (1, "", "", "2 problems")
    assert first.startswith("stacks/prod/clusters.yaml:6: spec.nodePools[0].className: ")
    assert all(line.startswith("stacks/prod/models.yaml:") for line in rest[:-2])


def test_problems_are_one_json_object_for_machines(project: Project) -> None:
    project.edit("stacks/prod/clusters.yaml", "className: l4", "className: l5")
    ran = project.run("validate", "--json")
    assert (ran.code, ran.err, ran.json.keys()) == (1, "", {"problems", "warnings", "notices"})
    (problem,) = ran.json["problems"]
    assert problem.keys() == {"file", "line", "path", "what", "nextStep"}
    assert (problem["file"], problem["line"]) == ("stacks/prod/clusters.yaml", 6)


@pytest.mark.parametrize("verb", ["validate", "plan", "render"])
def test_paths_that_lead_nowhere_are_named(project: Project, verb: str) -> None:
    (project.root / "empty").mkdir()
    assert project.run(verb, "gone").err.startswith("gone does not exist")
    ran = project.run(verb, "empty")
    assert (ran.code, ran.err.partition(".")[0]) == (1, "folder empty holds no YAML files")


def test_replicas_without_a_place_have_a_code_of_their_own(project: Project) -> None:
    project.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:unplaced: error}\n")
    project.edit("stacks/prod/models.yaml", "tensor: 1", "tensor: 2")
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    assert project.run("validate").code == 3


def test_all_stacks_are_checked_and_one_hides_no_problem_of_another(project: Project) -> None:
    project.write("stacks/dev/clusters.yaml", CLUSTER)
    project.write("stacks/dev/models.yaml", DEPLOYMENT.replace("replicas: 1", "replicas: many"))
    project.write("stacks/lab/clusters.yaml", CLUSTER.replace("className: l4", "className: l5"))
    ran = project.run("validate", "--all", "--json")
    problems = [(problem["file"], problem["line"]) for problem in ran.json["problems"]]
    assert (ran.code, problems) == (1, [("stacks/dev/models.yaml", 5), ("stacks/lab/clusters.yaml", 6)])
    assert list(ran.json["documents"]) == ["prod"]
    assert project.run("validate", "--all").out.startswith("prod: valid: classes 1, clusters 1, ")
    assert project.run("validate", "--all", "--stack", "prod").code == 2
