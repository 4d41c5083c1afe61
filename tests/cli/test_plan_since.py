"""`inferfleet plan --base`: which pods and endpoint pickers roll since a commit."""

import pytest
from in_git import commit, git
from small_project import LOCK, Project

NAMED = 'image: "vllm:1"'
WITH_VLLM = (NAMED, 'command: [vllm, serve, Qwen/Qwen3-8B, "--shutdown-timeout=90"]')
PICKER = (
    "the endpoint picker on east is replaced (image, configuration, its pods): the old one serves until the "
    "new one is ready"
)


def _serving(committed: Project, before: str, after: str) -> None:
    committed.edit("stacks/prod/clusters.yaml", f"serving: {{{before}", f"serving: {{{after}")


def _rolling(out: str) -> list[str]:
    return out.partition("roll since ")[2].splitlines()


def test_another_profile_names_every_pod_and_picker_that_rolls_and_what_is_another_in_it(
    committed: Project,
) -> None:
    committed.edit("stacks/prod/models.yaml", *WITH_VLLM)
    base = commit(committed.root)
    _serving(committed, "", "profile: router-0.10, images: {engine: {vLLM: mirror/vllm:1}}, ")
    ran = committed.run("plan", "--base", "main")
    pod = (
        "1 pod of Deployment east/ml/qwen-decode-l4 restarts (containers[engine].image "
        "docker.io/vllm/vllm-openai:v0.32.0 -> mirror/vllm:1): it has one pod, and "
        "nothing serves there until the new one has loaded its model"
    )
    assert ran.code == 0
    assert _rolling(ran.out) == [
        f"{base[:12]}: 1 pod, 1 endpoint picker",
        "  ml/qwen",
        f"    {pod}",
        f"    {PICKER}",
    ]


def test_machines_get_the_commit_and_what_a_digest_has_of_pods(committed: Project) -> None:
    committed.edit("stacks/prod/models.yaml", "vllm:1", "vllm:2")
    since = committed.run("plan", "--base", "main", "--json").json["since"]
    (stack,) = committed.run("digest", "--base", "main", "--json").json["stacks"]
    (model,) = stack["models"]
    assert [restart["pods"] for restart in model["restarts"]] == [1]
    assert since == {
        "commit": git(committed.root, "rev-parse", "HEAD"),
        "compared": True,
        "deployments": [
            {"deployment": "ml/qwen", "restarts": model["restarts"], "newSets": [], "pickers": []}
        ],
        "resumptions": [],
    }


def test_what_only_moves_or_comes_rolls_nothing(committed: Project) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    head = git(committed.root, "rev-parse", "HEAD")
    ran = committed.run("plan", "--base", "HEAD")
    assert ran.out.endswith(f"\n\nno pods roll since {head[:12]}\n")


def test_what_goes_on_after_a_pause_may_roll_whatever_differs(committed: Project) -> None:
    committed.write("stacks/prod/placement.lock", LOCK)
    committed.edit("stacks/prod/models.yaml", "  replicas: 1", "  paused: true\n  replicas: 1")
    base = commit(committed.root)
    committed.edit("stacks/prod/models.yaml", "  paused: true\n", "")
    told = (
        "ml/qwen is no longer paused: edits made while it was paused take effect now, which no comparison "
        "with this base shows, and 1 replica may restart"
    )
    ran = committed.run("plan", "--base", base)
    assert ran.out.endswith(f"\n\n{told}\n")
    values = committed.run("plan", "--base", base, "--json").json["since"]
    assert values["resumptions"] == [
        {"kind": "ModelDeployment", "name": "ml/qwen", "state": "paused", "replicas": 1, "summary": told}
    ]


def test_a_base_with_errors_is_told_and_the_plan_is_shown(committed: Project) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: many")
    commit(committed.root)
    committed.edit("stacks/prod/models.yaml", "replicas: many", "replicas: 1")
    ran = committed.run("plan", "--base", "main")
    assert (ran.code, "placements of stack prod" in ran.out) == (0, True)
    assert "stack prod has errors in main, so nobody knows which pods roll since then" in ran.err
    values = committed.run("plan", "--base", "main", "--json").json
    assert (values["since"]["compared"], values["since"]["deployments"]) == (False, [])


def test_a_base_without_the_stack_is_told(committed: Project) -> None:
    git(committed.root, "mv", "stacks/prod", "elsewhere")
    commit(committed.root)
    git(committed.root, "mv", "elsewhere", "stacks/prod")
    ran = committed.run("plan", "--base", "main")
    assert (ran.code, "roll since" in ran.out) == (0, False)
    assert "stack prod is not in main, so nobody knows which pods roll since then" in ran.err
    values = committed.run("plan", "--base", "main", "--json").json
    assert (values["since"]["compared"], values["since"]["deployments"]) == (False, [])


@pytest.mark.parametrize(
    "words",
    [
        ("stacks/prod",),
        ("--n-minus-one",),
        ("--without", "cluster=east"),
        ("--set", "ModelDeployment/ml/qwen.spec.replicas=2"),
    ],
)
def test_another_plan_than_that_of_the_stack_is_not_compared(
    committed: Project, words: tuple[str, ...]
) -> None:
    ran = committed.run("plan", "--base", "main", *words)
    assert (ran.code, "--base" in ran.err) == (2, True)


def test_a_commit_that_is_not_there_is_refused(committed: Project) -> None:
    ran = committed.run("plan", "--base", "elsewhere")
    assert (ran.code, "elsewhere" in ran.err) == (1, True)
