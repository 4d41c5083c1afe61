import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from small_project import LOCK, NO_LOCK_WARNING, Project

from inferfleet.cli.show.manifests import manifest_text

MARK = "# paused, or on a lost cluster: updates do not write this, and what is there stays\n"


def tree(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def test_every_manifest_of_the_stack_is_printed_with_its_cluster(project: Project) -> None:
    ran = project.run("render")
    manifests = list(yaml.safe_load_all(ran.out))
    assert (ran.code, ran.err) == (0, NO_LOCK_WARNING)
    assert ran.out.startswith("---\n# cluster east\napiVersion: v1\nkind: Namespace\n")
    as_json = project.run("render", "--format", "json").json
    assert as_json == [{"cluster": "east", "manifest": manifest, "held": False} for manifest in manifests]


def test_a_folder_gets_one_file_per_object(project: Project) -> None:
    ran = project.run("render", "-o", "out")
    assert ran.code == 0
    assert tree(project.root / "out") == [
        ".inferfleet-rendered",
        "east/_cluster/clusterrole-inferfleet_ml_qwen_epp.yaml",
        "east/_cluster/clusterrolebinding-inferfleet_ml_qwen_epp.yaml",
        "east/_cluster/namespace-inferfleet-system.yaml",
        "east/_cluster/namespace-ml.yaml",
        "east/inferfleet-system/gateway-inferfleet.yaml",
        "east/ml/deployment-qwen-decode-l4.yaml",
        "east/ml/deployment-qwen-epp.yaml",
        "east/ml/httproute-chat-svc.yaml",
        "east/ml/httproute-qwen.yaml",
        "east/ml/inferencepool-qwen.yaml",
        "east/ml/role-qwen-epp.yaml",
        "east/ml/rolebinding-qwen-epp.yaml",
        "east/ml/service-qwen-epp.yaml",
        "east/ml/serviceaccount-qwen-epp.yaml",
    ]


def test_what_is_paused_is_marked_because_no_update_writes_it(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    project.edit("stacks/prod/models.yaml", "  replicas: 1", "  paused: true\n  replicas: 1")
    ran = project.run("render")
    marked = [text.partition("name: ")[2].split()[0] for text in ran.out.split(MARK)[1:]]
    assert "ml/qwen is paused: nothing of it changes" in ran.err
    as_json = json.loads(project.run("render", "--format", "json").out)
    held = [entry["manifest"]["metadata"]["name"] for entry in as_json if entry["held"]]
    assert marked == held
    assert {*held} == {"qwen", "qwen-epp", "qwen-decode-l4", "inferfleet:ml:qwen:epp"}


def test_a_second_rendering_removes_what_is_stale_and_nothing_else(project: Project) -> None:
    project.run("render", "-o", "out")
    project.write("out/NOTES.md", "ours")
    project.write("out/east/ml/by-hand.yaml", "kind: X")
    project.write("stacks/prod/models.yaml", "")
    ran = project.run("render", "-o", "out")
    assert (ran.code, ran.out) == (0, "out: 2 files written, 12 stale ones removed\n")
    assert tree(project.root / "out") == [
        ".inferfleet-rendered",
        "NOTES.md",
        "east/_cluster/namespace-inferfleet-system.yaml",
        "east/inferfleet-system/gateway-inferfleet.yaml",
        "east/ml/by-hand.yaml",
    ]


def test_a_list_that_names_files_outside_the_folder_removes_nothing_there(project: Project) -> None:
    project.write("out/.inferfleet-rendered", f"../Pulumi.yaml\n{project.root}/classes/l4.yaml\n")
    assert project.run("render", "-o", "out").code == 0
    assert (project.root / "Pulumi.yaml").exists()
    assert (project.root / "classes/l4.yaml").exists()


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        (
            "stacks",
            "folder stacks is not empty and holds no earlier rendering (no .inferfleet-rendered in it)",
        ),
        ("Pulumi.yaml", "Pulumi.yaml is not a folder"),
        ("Pulumi.yaml/below", "Pulumi.yaml/below: Not a directory"),
        ("/dev/full/x", "/dev/full/x: Not a directory"),
    ],
)
def test_a_folder_that_cannot_be_ours_is_refused(project: Project, folder: str, said: str) -> None:
    before = tree(project.root)
    ran = project.run("render", "-o", folder)
    assert (ran.code, ran.err.startswith(said), tree(project.root)) == (1, True, before)


LINKS = {
    "the folder": ("out", "out"),
    "a folder above it": ("deep", "deep/below/out"),
    "a folder of a cluster in it": ("out/east", "out"),
    "a file in it": ("out/east/ml/role-qwen-epp.yaml", "out"),
    "the list of files": ("out/.inferfleet-rendered", "out"),
    "a folder with stale files": ("out/old", "out"),
}


@pytest.mark.parametrize("case", LINKS)
def test_nothing_is_written_or_removed_through_a_link(project: Project, case: str) -> None:
    link, folder = LINKS[case]
    elsewhere = project.root.parent / f"{project.root.name}-elsewhere"
    for name in ("east/ml/role-qwen-epp.yaml", "stale.yaml", "below/out/stale.yaml", ".inferfleet-rendered"):
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_text("stale.yaml\nold/stale.yaml\n")
    if folder == "out" != link:
        project.write("out/.inferfleet-rendered", "old/stale.yaml\n")
    (project.root / link).parent.mkdir(parents=True, exist_ok=True)
    (project.root / link).unlink(missing_ok=True)
    target = {
        "a file in it": elsewhere / "stale.yaml",
        "the list of files": elsewhere / ".inferfleet-rendered",
    }
    (project.root / link).symlink_to(target.get(case, elsewhere))
    before = [(name, (elsewhere / name).read_text()) for name in tree(elsewhere)]
    ran = project.run("render", "-o", folder)
    said = f"{link} is a symbolic link, and nothing is written through links. Remove the link, or name"
    assert (ran.code, ran.out, said in ran.err) == (1, "", True)
    assert [(name, (elsewhere / name).read_text()) for name in tree(elsewhere)] == before


def test_a_link_that_is_not_ours_stays(project: Project) -> None:
    project.run("render", "-o", "out")
    (project.root / "out/notes").symlink_to("/")
    assert project.run("render", "-o", "out").code == 0
    assert (project.root / "out/notes").is_symlink()


def test_a_pipe_in_place_of_a_file_does_not_hang(project: Project) -> None:
    project.run("render", "-o", "out")
    (project.root / "out/east/ml/role-qwen-epp.yaml").unlink()
    os.mkfifo(project.root / "out/east/ml/role-qwen-epp.yaml")
    ran = project.run("render", "-o", "out")
    assert (ran.code, "role-qwen-epp.yaml: No such device or address" in ran.err) == (1, True)


@pytest.mark.parametrize("words", [(), ("--format", "json"), ("-o", "out")], ids=str)
def test_replicas_without_a_place_end_a_rendering_of_the_others_with_code_3(
    project: Project, words: tuple[str, ...]
) -> None:
    project.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:unplaced: error}\n")
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 2")
    fits = project.run("render", *words)
    project.edit("stacks/prod/models.yaml", "replicas: 2", "replicas: 3")
    ran = project.run("render", *("elsewhere" if word == "out" else word for word in words))
    assert (fits.code, ran.code, ran.out) == (0, 3, fits.out.replace("out:", "elsewhere:"))
    assert ran.err == project.run("plan").err
    assert "1 of 3 replicas of ml/qwen found no place (east/l4: 1 of 1 nodes full" in ran.err


@pytest.mark.parametrize("config", ["{}", "{inferfleet:unplaced: warn}"])
def test_a_rendering_warns_of_new_replicas_without_a_place(project: Project, config: str) -> None:
    project.write("stacks/Pulumi.prod.yaml", f"config: {config}\n")
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 3")
    ran = project.run("render")
    assert (ran.code, ran.err) == (0, project.run("plan").err)


def test_documents_with_problems_render_nothing(project: Project) -> None:
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: x")
    ran = project.run("render", "-o", "out")
    assert (ran.code, ran.out, (project.root / "out").exists()) == (1, "", False)


def test_text_that_other_readers_take_for_something_else_is_quoted() -> None:
    words = [
        "y",
        "No",
        "on",
        "true",
        "null",
        "1e3",
        "0o17",
        "1_000",
        "12:30",
        "",
        "~",
        "=",
        "2026-01-01",
        "80Gi",
    ]
    text = manifest_text({"words": words}, as_format="yaml")
    assert text == "words:\n" + "".join(f'- "{word}"\n' for word in words)


def test_text_of_several_lines_stays_readable() -> None:
    text = manifest_text({"data": {"config.yaml": "a: 1\nb: 2\n"}}, as_format="yaml")
    assert text == "data:\n  config.yaml: |\n    a: 1\n    b: 2\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1), JSON, max_size=4))
def test_every_manifest_is_read_back_as_it_was(manifest: dict[str, object]) -> None:
    assert yaml.safe_load(manifest_text(manifest, as_format="yaml")) == manifest
