"""`inferfleet digest`: a project in a git repository, compared with one of its commits."""

import json
from pathlib import Path
from typing import Any

import pytest
from fleet_of_one import CLUSTER
from in_git import commit, git
from pydantic import TypeAdapter
from small_project import Project

from inferfleet.cli.verbs.digest_markdown import MARK
from inferfleet.review.digest.values import Digest

OVERVIEW = (
    "| stack | | models | gaps | no longer served | GPUs that start, end or restart | cost | problems | "
    "new warnings |\n"
)


def test_a_change_is_told_in_markdown_for_a_comment(committed: Project) -> None:
    committed.edit("stacks/prod/models.yaml", "vllm:1", "vllm:2")
    ran = committed.run("digest", "--base", "main")
    head = git(committed.root, "rev-parse", "HEAD")[:12]
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"{MARK}\n"
        "## What changes in the fleet\n\n"
        f"Commit `{head}` with changes that are not committed, compared with `{head}`, by documents and "
        "locks alone: no cluster was asked.\n\n"
        f"{OVERVIEW}"
        "|---|---|---|---|---|---|---|---|---|\n"
        "| `prod` | changes | 1 | 1 |  | 1 |  |  |  |\n\n"
        "### `prod`\n\n"
        "<details open><summary>Models, 1 with a gap (1)</summary>\n\n"
        "- **`ml/qwen`**: 1 replica, 1 GPU starts, ends or restarts, **gap**\n"
        "  - 1 pod of Deployment east/ml/qwen-decode-l4 restarts (containers\\[engine\\].image vllm:1 "
        "-\\> vllm:2): it has one pod, and nothing serves there until the new one has loaded its model\n"
        "  - requests in hand have 130 s when a pod ends\n\n"
        "</details>\n\n"
        "<details><summary>Every resource (1)</summary>\n\n"
        "- update `Deployment east/ml/qwen-decode-l4`: `spec.template.spec.containers[engine].image`\n\n"
        "</details>\n"
    )


def test_a_version_that_is_the_base_changes_nothing(committed: Project) -> None:
    ran = committed.run("digest", "--base", "HEAD", "--json")
    assert ran.code == 0
    (stack,) = ran.json["stacks"]
    assert (stack["stack"], stack["state"]) == ("prod", "unchanged")
    assert (
        "| `prod` | no resource changes |  |  |  |  |  |  |  |\n"
        in committed.run("digest", "--base", "HEAD").out
    )


def test_the_same_change_gives_the_same_text_wherever_it_is_asked(
    committed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 9")
    here = committed.run("digest", "--base", "main")
    monkeypatch.chdir(committed.root / "stacks/prod")
    there = committed.run("digest", "--base", "main")
    assert (here, "7 of 9 replicas" in here.out) == (there, True)
    assert str(committed.root) not in here.out


def test_json_is_the_value_of_the_published_schema(committed: Project) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    told = committed.run("digest", "--base", "main", "--json").json
    schema = committed.run("schema", "--of", "digest").json
    fields = set(schema["properties"])
    assert (
        fields
        == {"base", "head", "merges", "uncommitted", "folder", "files", "others", "remarks", "stacks"}
        == set(schema["required"])
    )
    value = TypeAdapter(Digest).validate_python({name: told[name] for name in fields})
    assert TypeAdapter(Digest).dump_python(value, mode="json") == {name: told[name] for name in fields}
    assert value.stacks[0].models[0].after == 2
    described = [schema, *schema["$defs"].values()]
    assert all(each["description"] for each in described)
    assert all(one["description"] for each in described for one in each["properties"].values())


def test_a_folder_gets_both_and_nothing_is_printed(committed: Project, tmp_path: Path) -> None:
    committed.edit("stacks/prod/models.yaml", "vllm:1", "vllm:2")
    printed = committed.run("digest", "--base", "main").out
    folder = tmp_path / "out"
    ran = committed.run("digest", "--base", "main", "--output", str(folder))
    assert (ran.code, ran.out) == (0, f"{folder}: digest.md, digest.json are written\n")
    assert sorted(path.name for path in folder.iterdir()) == ["digest.json", "digest.md"]
    assert (folder / "digest.md").read_text() == printed
    assert json.loads((folder / "digest.json").read_text())["stacks"][0]["state"] == "changed"


def test_nothing_is_written_through_a_link(committed: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (committed.root / "out").symlink_to(outside)
    ran = committed.run("digest", "--base", "main", "-o", "out")
    assert (ran.code, "out is a symbolic link, and nothing is written through links" in ran.err) == (1, True)
    assert [*outside.iterdir()] == []


PLUGIN = """\
from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request


class Mine(Config):
    pass


def edit(template: PodTemplate, request: Request, config: Mine) -> PodTemplate:
    template.setdefault("metadata", {}).setdefault("annotations", {})["acme.example/mine"] = "one"
    return template


PLUGIN = Plugin("mine", Mine, edit, version="2.0.0")
"""


def test_a_plugin_of_the_project_with_other_code_is_told(committed: Project) -> None:
    committed.write("plugins/mine.py", PLUGIN)
    committed.write(
        "stacks/Pulumi.prod.yaml",
        "config:\n  inferfleet:allowedPlugins: [{name: mine, version: 2.0.0}]\n"
        "  inferfleet:plugins: [{name: mine}]\n",
    )
    commit(committed.root)
    committed.edit("plugins/mine.py", '"one"', '"two"')
    (stack,) = committed.run("digest", "--base", "main", "--json").json["stacks"]
    assert stack["plugins"] == [
        {"plugin": "mine", "before": "2.0.0", "after": "2.0.0", "workloads": ["east/ml/qwen-decode-l4"]}
    ]
    assert [model["deployment"] for model in stack["models"]] == ["ml/qwen"]


def test_plugins_that_may_not_run_leave_nothing_to_compare(
    committed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed.write("plugins/mine.py", "raise SystemExit('it ran')")
    committed.write(
        "stacks/Pulumi.prod.yaml",
        "config:\n  inferfleet:allowedPlugins: [{name: mine, version: 2.0.0}]\n"
        "  inferfleet:plugins: [{name: mine}]\n",
    )
    monkeypatch.setenv("INFERFLEET_PLUGINS", "built-in")
    ran = committed.run("digest", "--base", "main")
    assert (ran.code, "is not imported, because of INFERFLEET_PLUGINS=built-in" in ran.err) == (1, True)


def test_documents_in_another_folder_are_those_of_the_commit(committed: Project) -> None:
    committed.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:documents: teams/ml}\n")
    for name in ("clusters.yaml", "models.yaml", "placement.lock"):
        text = (committed.root / "stacks/prod" / name).read_text()
        committed.write(f"teams/ml/{name}", text)
        (committed.root / "stacks/prod" / name).unlink()
    commit(committed.root)
    committed.edit("teams/ml/models.yaml", "replicas: 1", "replicas: 2")
    (stack,) = committed.run("digest", "--base", "main", "--json").json["stacks"]
    assert [(place["before"], place["after"]) for place in stack["models"][0]["places"]] == [(1, 2)]


def test_errors_of_the_change_end_with_the_code_of_validate_and_others_are_told(committed: Project) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: none")
    ran = committed.run("digest", "--base", "main")
    assert (ran.code, ran.err) == (1, committed.run("validate").err)
    assert "| `prod` | refused |" in ran.out


def test_replicas_without_a_place_that_stop_an_update_end_with_the_code_of_plan(committed: Project) -> None:
    committed.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:unplaced: error}\n")
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 3")
    assert committed.run("digest", "--base", "main").code == committed.run("plan").code == 3


def test_a_locked_stack_whose_lock_was_not_written_ends_with_the_code_of_the_lock(committed: Project) -> None:
    committed.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:locked: true}\n")
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    assert committed.run("digest", "--base", "main").code == 4
    committed.run("plan", "--write")
    assert committed.run("digest", "--base", "main").code == 0


def test_a_stack_is_locked_in_ci_and_the_digest_says_what_plan_locked_says(
    committed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    assert committed.run("digest", "--base", "main").code == 0
    monkeypatch.setenv("CI", "true")
    said = committed.run("plan", "--locked", "--json").json["problems"]
    ran = committed.run("digest", "--base", "main", "--json")
    (told,) = ran.json["stacks"][0]["problems"]
    assert (ran.code, told["severity"], told["what"]) == (4, "error", said[0]["what"])
    committed.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:locked: false}\n")
    assert committed.run("digest", "--base", "main").code == 0


def test_a_lock_that_the_base_did_not_write_either_is_refused_in_ci(
    committed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    commit(committed.root)
    monkeypatch.setenv("CI", "true")
    assert committed.run("plan", "--locked").code == 4
    ran = committed.run("digest", "--base", "HEAD", "--json")
    (told,) = ran.json["stacks"][0]["problems"]
    assert (ran.code, told["severity"], told["new"]) == (4, "error", False)


def test_a_base_with_errors_is_told_and_the_change_is_checked(project: Project) -> None:
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: none")
    commit(project.root)
    project.edit("stacks/prod/models.yaml", "replicas: none", "replicas: 1")
    ran = project.run("digest", "--base", "main")
    assert (ran.code, "| `prod` | not compared: the base has errors |" in ran.out) == (0, True)
    assert "Warnings and notices that go" not in ran.out
    assert "What the base says" in ran.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--base", "nowhere"), 1, "--base 'nowhere' names no commit in this clone. Name a branch, a tag"),
        (("--base", "main", "--stack", "prd"), 1, "stack 'prd' has neither settings nor documents"),
        ((), 2, "Missing option '--base'"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_next_step(
    committed: Project, words: tuple[str, ...], code: int, said: str
) -> None:
    ran = committed.run("digest", *words)
    assert (ran.code, said in ran.err, "Traceback" in ran.err) == (code, True, False)
    told: Any = committed.run("digest", *words, "--json").json["problems"]
    assert said.partition(".")[0] in told[0]["what"]


def test_a_stack_that_comes_with_the_change_is_new(committed: Project) -> None:
    committed.write("stacks/next/clusters.yaml", CLUSTER)
    ran = committed.run("digest", "--base", "main")
    assert "| `next` | new |" in ran.out
    assert "| `prod` | no resource changes |" in ran.out
    assert "`next`" not in committed.run("digest", "--base", "main", "--stack", "prod").out


def test_a_project_that_the_base_lacks_is_new_and_that_is_told(project: Project) -> None:
    (project.root / "readme.md").write_text("nothing yet\n")
    git(project.root, "init", "--quiet", "--initial-branch=main")
    git(project.root, "add", "readme.md")
    git(project.root, "commit", "--quiet", "--message=some")
    ran = project.run("digest", "--base", "main")
    assert (ran.code, "| `prod` | new |" in ran.out) == (0, True)
    assert "the project is not there in main, so everything in it is new" in ran.out
