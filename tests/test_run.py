"""From a project's files to what one run registers; a recorder answers in place of the clusters."""

from dataclasses import replace
from pathlib import Path

import pytest
from fleet_of_one import DEPLOYMENT, UID
from recorded_project import EAST, KUBECONFIG, LOCK, LOCK_WITHOUT_UID, OTHER_UID, Project, recorded

from inferfleet.clusters.preflight.observe import Observation
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments, Problem, Where
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.run import replaced_clusters, with_uids


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return recorded(tmp_path, monkeypatch)


def test_nothing_is_written_before_the_run_remembers(project: Project) -> None:
    before = project.files
    prepared = project.prepare()
    assert project.files == before
    prepared.remember()
    assert project.files == before | {"stacks/prod/placement.lock": LOCK}


def test_a_second_run_has_nothing_to_write(project: Project) -> None:
    project.prepare().remember()
    project.lock_file.chmod(0o400)
    again = project.prepare()
    assert (again.lock_text, again.warnings) == (None, ())
    again.remember()
    assert project.lock_file.read_text() == LOCK


def test_a_move_is_written(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    project.write("stacks/prod/models.yaml", DEPLOYMENT.replace("replicas: 1", "replicas: 2"))
    assert project.prepare().lock_text == LOCK.replace("l4: 1", "l4: 2")


def test_the_uid_of_a_cluster_is_recorded_once(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK_WITHOUT_UID)
    project.prepare().remember()
    assert project.lock_file.read_text() == LOCK
    project.clusters.answer = Observation(uids={"east": OTHER_UID})
    assert project.prepare().lock_text is None


def test_a_cluster_that_told_no_uid_stays_without_one(project: Project) -> None:
    project.clusters.answer = Observation()
    assert project.prepare().lock_text == LOCK_WITHOUT_UID


def test_the_uid_of_a_cluster_that_is_gone_is_forgotten_because_the_next_one_has_another() -> None:
    locked = {
        "east": LockedCluster("Existing", UID),
        "west": LockedCluster("Existing", OTHER_UID),
        "new": LockedCluster("Existing"),
    }
    assert with_uids(Lock("prod", clusters=locked), {"new": "uid-3"}, gone=["east"]) == Lock(
        "prod",
        clusters={
            "east": LockedCluster("Existing"),
            "west": LockedCluster("Existing", OTHER_UID),
            "new": LockedCluster("Existing", "uid-3"),
        },
    )


def test_clusters_that_the_update_makes_anew_are_told_by_their_settings() -> None:
    old = {name: LockedCluster("GKE", UID, {"network": "a"}) for name in ("kept", "remade", "removed")}
    new = {
        "kept": old["kept"],
        "remade": LockedCluster("GKE", None, {"network": "b"}),
        "added": LockedCluster("GKE", None, {"network": "b"}),
    }
    upgraded = {"grown": LockedCluster("GKE", UID)}, {"grown": LockedCluster("GKE", UID, {"network": "a"})}
    assert replaced_clusters(Lock(clusters=old | upgraded[0]), Lock(clusters=new | upgraded[1])) == {"remade"}


def test_what_is_not_there_yet_is_forgotten_by_the_run_that_makes_it(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    project.clusters.answer = Observation(absent=("east",))
    assert project.prepare().lock_text == LOCK_WITHOUT_UID


def test_a_locked_stack_writes_nothing_and_says_that_a_uid_is_missing(project: Project) -> None:
    project.set(locked="true")
    project.write("stacks/prod/placement.lock", LOCK_WITHOUT_UID)
    before = project.files
    prepared = project.prepare()
    prepared.remember()
    assert project.files == before
    assert prepared.lock_text is None
    assert prepared.warnings == (
        Problem(
            "placement.lock does not know the UID of cluster east",
            "Run `inferfleet plan --stack prod --write` where the cluster can be reached, and commit the "
            "lock",
            where=Where("stacks/prod/clusters.yaml", 1),
            kind="InferenceCluster",
            key="east",
            severity="warning",
        ),
    )


@pytest.mark.parametrize(
    ("locked", "ci", "refused"),
    [(None, True, True), (None, False, False), ("false", True, False), ("true", False, True)],
)
def test_ci_locks_a_stack_unless_it_says_otherwise(
    project: Project, locked: str | None, ci: bool, refused: bool
) -> None:
    project.set(**({"locked": locked} if locked else {}))
    if refused:
        (problem,) = project.problems(ci=ci)
        assert problem.what == (
            "placement.lock does not match the documents (ml/qwen on east/l4: 0 -> 1 replicas; pool east/l4: "
            "0 -> 1 nodes)"
        )
    else:
        assert project.prepare(ci=ci).lock_text == LOCK


def test_clusters_are_asked_about_what_is_desired_with_the_kubeconfig_of_the_configuration(
    project: Project,
) -> None:
    prepared = project.prepare()
    assert project.clusters.asked == [(prepared.desired, {"east": KUBECONFIG})]
    assert prepared.kubeconfigs == {"east": KUBECONFIG}


def test_a_kubeconfig_file_is_read_beside_its_document(project: Project) -> None:
    project.write(
        "stacks/prod/clusters.yaml", EAST.replace("configKey: eastKubeconfig", "path: east.kubeconfig")
    )
    project.write("stacks/prod/east.kubeconfig", KUBECONFIG)
    project.config.clear()
    project.set(trustRepositoryKubeconfigs="true")
    assert project.prepare().kubeconfigs == {"east": KUBECONFIG}


def test_what_is_leaving_decides_which_workloads_are_not_awaited(project: Project) -> None:
    leaving = Leaving("east", "ml", "old-decode-l4", "l4", pods=1, gpus_per_pod=2)
    project.clusters.answer = Observation(uids={"east": UID}, leaving=(leaving,))
    prepared = project.prepare()
    (asked, _), *_ = project.clusters.asked
    assert (len(asked.waiting), len(prepared.desired.waiting)) == (0, 1)
    assert [warning.what.partition(" fits")[0] for warning in prepared.warnings[1:]] == ["ml/qwen on east/l4"]


def test_what_clusters_warn_of_is_passed_on(project: Project) -> None:
    warning = Problem(
        "namespace ml is terminating", "Wait", kind="InferenceCluster", key="east", severity="warning"
    )
    project.clusters.answer = Observation(uids={"east": UID}, problems=(warning,))
    located = replace(warning, where=Where("stacks/prod/clusters.yaml", 1))
    assert project.prepare().warnings[1:] == (located,)


def test_problems_of_gate_kubeconfigs_and_clusters_are_told_at_once(project: Project) -> None:
    west = EAST.replace("east", "west").replace("configKey: westKubeconfig", "path: west.kubeconfig")
    project.write("stacks/prod/west.yaml", west)
    gone = Problem("cluster 'east' does not answer", "Start it")
    project.clusters.answer = Observation(problems=(gone,))
    problems = project.problems(ci=True)
    assert [(problem.path, str(problem.where)) for problem in problems] == [
        ("", "None"),
        ("", "None"),
        ("spec.cluster.existing.kubeconfig", "stacks/prod/west.yaml:5"),
    ]
    assert gone in problems
    assert not project.lock_file.exists()


def test_a_lost_cluster_needs_no_kubeconfig_file(project: Project) -> None:
    lost = EAST.replace("configKey: eastKubeconfig", "path: gone").replace(
        "spec:\n", "spec:\n  state: lost\n"
    )
    project.write("stacks/prod/clusters.yaml", lost)
    project.write("stacks/prod/placement.lock", LOCK)
    project.config.clear()
    project.clusters.answer = Observation()
    prepared = project.prepare()
    assert (prepared.kubeconfigs, prepared.lock_text) == ({}, None)


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        pytest.param(
            "stacks/prod/models.yaml",
            DEPLOYMENT + "  engin: {}\n",
            ("stacks/prod/models.yaml:9", "spec.engin"),
            id="first stage: a field that nothing has",
        ),
        pytest.param(
            "stacks/prod/models.yaml",
            DEPLOYMENT.replace("{name: engine, ", "{name: engine, args: [--port=1], "),
            ("stacks/prod/models.yaml:8", "spec.workers.template.spec.containers[0]"),
            id="second stage: a flag that disagrees with the port",
        ),
        pytest.param(
            "stacks/Pulumi.prod.yaml",
            "config: {inferfleet:await: never}\n",
            ("stacks/Pulumi.prod.yaml:1", "inferfleet:await"),
            id="settings",
        ),
        pytest.param(
            "stacks/prod/placement.lock",
            LOCK + "  what\n",
            ("stacks/prod/placement.lock:9", ""),
            id="a damaged lock",
        ),
        pytest.param(
            "stacks/prod/placement.lock",
            LOCK.replace("stack: prod", "stack: test"),
            ("stacks/prod/placement.lock:2", ""),
            id="another stack's lock",
        ),
        pytest.param(
            "stacks/prod/placement.lock",
            LOCK.replace("east decode", "gone decode"),
            ("stacks/prod/placement.lock:8", ""),
            id="a lock with a cluster that no document has",
        ),
    ],
)
def test_whatever_stage_finds_a_problem_nothing_is_asked_and_nothing_written(
    project: Project, file: str, text: str, problem: tuple[str, str]
) -> None:
    project.write(file, text)
    if file == "stacks/Pulumi.prod.yaml":
        project.config["await"] = "never"
    before = project.files
    assert [(str(problem.where), problem.path) for problem in project.problems()] == [problem]
    assert (project.files, project.clusters.asked) == (before, [])


@pytest.mark.parametrize("preview", [True, False])
def test_an_update_moves_nobody_from_a_pool_that_does_not_hold_them(project: Project, preview: bool) -> None:
    project.write("stacks/prod/placement.lock", LOCK.replace("l4: 1\n", "l4: 3\n"))
    project.write("stacks/prod/models.yaml", DEPLOYMENT.replace("replicas: 1", "replicas: 3"))
    before = project.files
    (problem,) = project.problems(preview=preview)
    assert "ml/qwen (3 replicas: 3 GPUs); it lost no nodes" in problem.what
    assert problem.next_step.startswith(
        "Say who may leave it: inferfleet plan --stack prod --write --yield ml/qwen; or "
    )
    assert (project.files, project.clusters.asked) == (before, [])


def test_a_lock_that_is_no_text_is_a_problem(project: Project) -> None:
    project.lock_file.write_bytes(b"version: \xff\n")
    assert project.problems() == (
        Problem("stacks/prod/placement.lock is not UTF-8 text", "Restore it from version control"),
    )


def test_a_lock_that_is_a_folder_is_a_problem(project: Project) -> None:
    project.lock_file.mkdir()
    assert project.problems() == (
        Problem(
            "stacks/prod/placement.lock is a folder, not a regular file", "Restore it from version control"
        ),
    )


def test_a_configuration_key_without_kubeconfig_is_a_problem(project: Project) -> None:
    project.config.clear()
    assert [(problem.path, str(problem.where)) for problem in project.problems()] == [
        ("spec.cluster.existing.kubeconfig.configKey", "stacks/prod/clusters.yaml:5")
    ]


def test_a_kubeconfig_in_the_configuration_that_is_none_is_a_problem(project: Project) -> None:
    project.config["eastKubeconfig"] = "secret: words"
    (problem,) = project.problems()
    assert str(problem.where) == "stacks/prod/clusters.yaml:5"
    assert "words" not in str(problem)


def test_an_unknown_stack_is_a_problem(project: Project) -> None:
    with pytest.raises(InvalidDocuments):
        load_stack(project.root, "pord", config=project.config)
