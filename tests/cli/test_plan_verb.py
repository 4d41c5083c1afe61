from typing import Any

import pytest
from small_project import LOCK, NO_LOCK_VALUES, NO_LOCK_WARNING, Project

from inferfleet import run as run_module

PLACED = {"deployment": "ml/qwen", "cluster": "east", "pools": {"decode": "l4"}}


def test_plan_shows_placements_services_and_moves(project: Project) -> None:
    ran = project.run("plan")
    assert (ran.code, ran.err) == (0, NO_LOCK_WARNING)
    assert ran.out == (
        "placements of stack prod\n"
        "deployment  cluster  pools      replicas  GPUs\n"
        "ml/qwen     east     decode=l4         1     1\n"
        "\n"
        "services\n"
        "service  cluster  endpoints by weight\n"
        "ml/chat  east     ml/qwen 1\n"
        "\n"
        "endpoint pickers request of nodes without GPUs\n"
        "  east 0.5 cores and 0.5 GiB (1 pod)\n"
        "\n"
        "changes against placement.lock\n"
        "  ml/qwen: east/l4 0 -> 1\n"
        "\n"
        "exposed: does not answer while its node is drained, replaced or lost\n"
        "  ml/qwen on east: one replica\n"
        "  ml/qwen: one endpoint picker, until another runs\n"
    )


def test_plan_says_the_same_to_machines(project: Project) -> None:
    ran = project.run("plan", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "problems": [],
        "warnings": [NO_LOCK_VALUES],
        "notices": [],
        "stack": "prod",
        "placements": [{**PLACED, "replicas": 1, "gpus": 1, "pods": 1}],
        "services": [
            {"service": "ml/chat", "cluster": "east", "backends": [{"deployment": "ml/qwen", "weight": 1}]}
        ],
        "gateways": [],
        "pickers": [{"cluster": "east", "pods": 1, "cores": 0.5, "gib": 0.5}],
        "addons": [],
        "changes": [{**PLACED, "before": 0, "after": 1, "why": None}],
        "rolls": [],
        "cloudChanges": [],
        "unplaced": [],
        "exposed": [
            {"cluster": "east", "deployment": "ml/qwen", "roles": ["decode"], "whenScaledDown": False}
        ],
        "onePicker": ["ml/qwen"],
        "lock": {"file": "stacks/prod/placement.lock", "matches": False, "written": False},
    }


def test_write_makes_a_lock_that_then_matches_and_names_clusters_it_did_not_reach(project: Project) -> None:
    assert project.run("plan", "--locked").code == 4
    ran = project.run("plan", "--write")
    assert (ran.code, project.lock) == (0, LOCK)
    assert "stacks/prod/placement.lock written" in ran.out
    assert ran.err.partition("\n\n")[2].startswith(
        "warning: stacks/prod/clusters.yaml:5: spec.cluster.existing.kubeconfig: "
        f"no UID recorded: cluster 'east': kubeconfig {project.root}/stacks/prod/east.kubeconfig "
        "cannot be read (No such file or directory). "
    )
    assert "is as it should be" in project.run("plan", "--write").out
    assert project.run("plan", "--locked").code == 0


def test_a_lock_that_does_not_match_is_an_error_only_when_asked(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    assert project.run("plan").code == 0
    ran = project.run("plan", "--locked", "--json")
    assert (ran.code, [problem["what"] for problem in ran.json["problems"]]) == (
        4,
        ["placement.lock does not match the documents (ml/qwen on east/l4: 1 -> 2 replicas)"],
    )
    assert project.lock == LOCK


def test_replicas_without_a_place_are_shown_with_reasons_and_no_lock_is_written(project: Project) -> None:
    project.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:unplaced: error}\n")
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 3")
    ran = project.run("plan", "--write", "--json")
    assert ran.code == 3
    assert [(missing["deployment"], missing["replicas"]) for missing in ran.json["unplaced"]] == [
        ("ml/qwen", 1)
    ]
    assert [(missing["cluster"], missing["pool"]) for missing in ran.json["unplaced"][0]["reasons"]] == [
        ("east", "l4")
    ]
    assert not (project.root / "stacks/prod/placement.lock").exists()
    assert ran.json["unplaced"][0]["fix"] == {
        "pools": [
            {
                "cluster": "east",
                "pool": "l4",
                "moreNodes": 1,
                "nodes": 2,
                "perHour": None,
                "currency": None,
                "priceRegion": None,
            }
        ],
        "others": [],
    }
    assert (
        "without a place (inferfleet explain says why of each pool)\n"
        "  ml/qwen: 1 replica, east/l4: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 1\n"
    ) in project.run("plan").out


@pytest.mark.parametrize("config", ["{}", "{inferfleet:unplaced: warn}"])
def test_new_replicas_without_a_place_are_a_warning(project: Project, config: str) -> None:
    project.write("stacks/Pulumi.prod.yaml", f"config: {config}\n")
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 3")
    ran = project.run("plan", "--write", "--json")
    assert (ran.code, ran.json["problems"], ran.json["lock"]["written"]) == (0, [], True)
    assert "1 of 3 replicas of ml/qwen " in ran.json["warnings"][-1]["what"]


@pytest.mark.parametrize(
    ("stack", "own", "code"),
    [("error", "Warn", 0), ("errorOnLoss", "Refuse", 3), ("warn", "Refuse", 3), ("error", "Refuse", 3)],
)
def test_a_deployment_says_itself_what_replicas_without_a_place_do(
    project: Project, stack: str, own: str, code: int
) -> None:
    project.write("stacks/Pulumi.prod.yaml", f"config: {{inferfleet:unplaced: {stack}}}\n")
    project.edit("stacks/prod/models.yaml", "replicas: 1", f"replicas: 3\n  unplaced: {own}")
    codes = [project.run(verb).code for verb in ("plan", "validate", "render")]
    assert (codes, project.run("plan", "--write", "--json").json["lock"]["written"]) == ([code] * 3, not code)


@pytest.mark.parametrize(
    ("setting", "own", "code"),
    [("{}", "", 3), ("{inferfleet:unplaced: warn}", "", 0), ("{}", "\n  unplaced: Warn", 0)],
)
def test_a_replica_that_runs_and_would_end_is_refused_by_all_verbs_unless_somebody_says_warn(
    project: Project, setting: str, own: str, code: int
) -> None:
    project.write("stacks/Pulumi.prod.yaml", f"config: {setting}\n")
    lock = project.write("stacks/prod/placement.lock", LOCK)
    project.edit("stacks/prod/clusters.yaml", "spec:\n", "spec:\n  state: abandoned\n")
    project.edit("stacks/prod/models.yaml", "replicas: 1", f"replicas: 3{own}")
    verbs = (("plan",), ("validate",), ("render",))
    assert [project.run(*verb).code for verb in verbs] == [code] * len(verbs)
    ran = project.run("plan", "--write", "--json")
    (missing,) = ran.json["unplaced"]
    assert (ran.code, missing["replicas"], missing["running"]) == (code, 3, 1)
    assert (ran.json["lock"]["written"], lock.read_text() == LOCK) == (not code, bool(code))
    (told,) = [
        problem["what"]
        for problem in (*ran.json["problems"], *ran.json["warnings"])
        if "found no place" in problem["what"]
    ]
    assert told.startswith(
        "3 of 3 replicas of ml/qwen found no place, so nothing serves it; "
        "1 of them runs now and would end, on east/l4 (abandoned)"
    )


def test_uids_are_asked_for_where_the_environment_says_that_google_is(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def identify(*_: Any, container_api: str, **__: Any) -> Any:
        asked.append(container_api)
        return {"east": "uid-1"}, {}

    monkeypatch.setattr(run_module, "identify", identify)
    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER", "http://google/")
    assert project.run("plan", "--write").code == 0
    assert asked == ["http://google"]
    assert "uid: uid-1" in (project.root / "stacks/prod/placement.lock").read_text()


def test_documents_named_by_path_have_no_lock(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    ran = project.run("plan", "stacks/prod")
    assert (ran.code, "changes" in ran.out) == (0, False)
    assert (
        project.run("plan", "stacks/prod/models.yaml", "stacks/prod/clusters.yaml", "--json").json["lock"]
        is None
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--write", "--locked"), "contradict"),
        (("stacks/prod", "--write"), "have no placement.lock"),
        (("stacks/prod", "--stack", "prod"), "not both"),
        (("--nonsense",), "No such option"),
    ],
)
def test_a_call_that_makes_no_sense_is_a_usage_error(
    project: Project, words: tuple[str, ...], said: str
) -> None:
    ran = project.run("plan", *words)
    assert ran.code == 2
    assert said in ran.err


def test_what_ends_plan_early_is_json_for_machines_too(project: Project) -> None:
    project.write("stacks/Pulumi.dev.yaml", "config: {}\n")
    ran = project.run("plan", "--json")
    assert (ran.code, ran.err) == (2, "")
    (problem,) = ran.json["problems"]
    assert "there are several stacks: dev, prod. " in problem["what"]
    lock = project.root / "stacks/prod/placement.lock"
    lock.mkdir()
    ran = project.run("plan", "--stack", "prod", "--json")
    assert (ran.code, ran.err) == (1, "")
    (problem,) = ran.json["problems"]
    assert problem["what"].endswith("placement.lock is a folder, not a regular file")


def test_with_several_stacks_one_must_be_named(project: Project) -> None:
    project.write("stacks/Pulumi.dev.yaml", "config: {}\n")
    ran = project.run("plan")
    assert ran.code == 2
    assert "dev, prod" in ran.err
    assert project.run("plan", "--stack", "prod").code == 0


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        ("version: 1\nstack: dev\n", "stacks/prod/placement.lock:2: "),
        ("version: 1\nstack: prod\nplacements:\n  what: 1\n", "stacks/prod/placement.lock:4: "),
        ("\x00", "stacks/prod/placement.lock:1: "),
    ],
)
def test_a_lock_of_another_stack_or_a_damaged_one_is_refused_and_kept(
    project: Project, lock: str, said: str
) -> None:
    file = project.write("stacks/prod/placement.lock", lock)
    ran = project.run("plan", "--write")
    assert (ran.code, file.read_text()) == (1, lock)
    assert ran.err.startswith(said)


def test_a_lock_that_is_no_text_is_refused(project: Project) -> None:
    (project.root / "stacks/prod/placement.lock").write_bytes(b"\xff")
    ran = project.run("plan")
    assert (ran.code, ran.err) == (
        1,
        "stacks/prod/placement.lock is not UTF-8 text. Restore it from version control\n\n1 problem\n",
    )


def test_replicas_that_are_scaled_are_told_by_both_numbers(project: Project) -> None:
    scaled = "replicas: {min: 1, max: 2}\n  scaling: {by: External}"
    project.edit("stacks/prod/models.yaml", "replicas: 1", scaled)
    assert "ml/qwen     east     decode=l4       1-2     2\n" in project.run("plan").out
    assert project.run("plan", "--json").json["placements"] == [
        {**PLACED, "replicas": 2, "least": 1, "gpus": 2, "pods": 2}
    ]
    explained = project.run("explain", "ml/qwen").out
    assert explained.startswith("ml/qwen: 2 of 2 replicas placed, 1 to 2 run\n")


def test_an_average_that_pickers_do_not_have_is_refused_with_its_line(project: Project) -> None:
    metric = "{name: llm_d_epp_average_queue_size, target: 1}"
    scaled = f"replicas: {{min: 1, max: 2}}\n  scaling:\n    by: HPA\n    metrics:\n    - {metric}"
    project.edit("stacks/prod/models.yaml", "replicas: 1", scaled)
    ran = project.run("validate")
    assert ran.code == 1
    assert "stacks/prod/models.yaml:9: " in ran.err
    assert "pickers of profile gie-1.5 have no metric llm_d_epp_average_queue_size" in ran.err
