"""Only regular files inside the project are read, and nothing of any other comes into a message."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT

from inferfleet.documents import Documents, InvalidDocuments, Problem, Where, load
from inferfleet.documents.loading.files import UnreadableFile, border_of, read_regular
from inferfleet.documents.loading.project import MAX_LOCK_BYTES, read_lock, stacks_of
from inferfleet.documents.loading.stack import load_stack

SECRET = "hunter2"
STEP = "Put a regular file in its place, or remove it"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one stack, beside a folder with a file that nobody may see."""
    root = tmp_path / "project"
    for name, text in {
        "project/Pulumi.yaml": "name: inferfleet\n",
        "project/classes/l4.yaml": CLASS,
        "project/stacks/dev/clusters.yaml": CLUSTER,
        "project/.git/config": SECRET,
        "project/.git/config.yaml": SECRET,
        "project/notes.txt": SECRET,
        "outside/secret.yaml": SECRET,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return root


def problems_of(project: Path) -> list[Problem]:
    with pytest.raises(InvalidDocuments) as raised:
        read_lock(load_stack(project, "dev", base=project)[1], "placement.lock")
    assert SECRET not in str(raised.value)
    return list(raised.value.problems)


def _link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))


IRREGULAR: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link to a secret": (_link("../../../outside/secret.yaml"), "where a symbolic link leads"),
    "a link that does not end": (_link("/dev/zero"), "where a symbolic link leads"),
    "a link into .git": (
        _link("../../.git/config.yaml"),
        "link to a hidden file or into a hidden",
    ),
    "a link to a text file": (
        _link("../../notes.txt"),
        "link to a file whose name ends differently",
    ),
    "a link to nothing": (_link("nothing.yaml"), "is a broken symbolic link"),
    "a link to itself": (_link("x.yaml"), "(Too many levels of symbolic links). Put a regular file"),
    "a pipe without a writer": (os.mkfifo, "is a pipe, not a regular file"),
    "a socket": (_socket, "cannot be read (No such device or address)"),
}


@pytest.mark.parametrize("case", IRREGULAR)
def test_a_document_is_a_regular_file_inside_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    make, why = IRREGULAR[case]
    monkeypatch.chdir(project)
    make(project / "stacks/dev/x.yaml")
    (problem,) = problems_of(project)
    assert problem.where == Where("stacks/dev/x.yaml", 1)
    assert why in str(problem)


@pytest.mark.parametrize("place", ["classes/x.yaml", "stacks/Pulumi.dev.yaml"])
@pytest.mark.parametrize("target", ["../../outside/secret.yaml", "/dev/zero", "/etc/passwd"])
def test_a_class_and_the_settings_are_too(project: Path, place: str, target: str) -> None:
    (project / place).symlink_to(target if target.startswith("/") else project / "stacks" / target)
    assert problems_of(project) == [
        Problem(f"the file is outside of {project}, where a symbolic link leads", STEP, where=Where(place, 1))
    ]


@pytest.mark.parametrize("target", ["../../../outside/secret.yaml", "/dev/zero", "clusters.yaml", "nothing"])
def test_a_lock_is_no_link(project: Path, target: str) -> None:
    (project / "stacks/dev/placement.lock").symlink_to(target)
    what = "placement.lock is a symbolic link, which is neither read nor written"
    assert problems_of(project) == [Problem(what, "Restore it from version control")]


def test_a_lock_that_is_a_pipe_does_not_hang(project: Path) -> None:
    os.mkfifo(project / "stacks/dev/placement.lock")
    what = "placement.lock is a pipe, not a regular file"
    assert problems_of(project) == [Problem(what, "Restore it from version control")]


def test_a_lock_has_a_limit(project: Path) -> None:
    (project / "stacks/dev/placement.lock").write_text("#" * (MAX_LOCK_BYTES + 1))
    what = "placement.lock is larger than 2 MiB"
    assert problems_of(project) == [Problem(what, "Restore it from version control")]


def test_links_inside_the_project_are_followed(project: Path) -> None:
    (project / "shared").mkdir()
    (project / "shared/models.yaml").write_text(DEPLOYMENT)
    (project / "stacks/dev/models.yaml").symlink_to("../../shared/models.yaml")
    (project / "stacks/prod").symlink_to("dev")
    documents, files = load_stack(project, "prod", base=project)
    assert (list(documents.deployments), read_lock(files, "placement.lock")) == (["ml/qwen"], None)


@pytest.mark.parametrize("folder", ["/", "..", "../outside", "../no-such-folder", "stacks/away"])
def test_the_folder_of_documents_is_inside_the_project(project: Path, folder: str) -> None:
    (project / "stacks/away").symlink_to("/")
    (project / "stacks/Pulumi.dev.yaml").write_text(f"config: {{'inferfleet:documents': '{folder}'}}\n")
    (problem,) = problems_of(project)
    assert (problem.what, problem.next_step, problem.path) == (
        f"the folder of documents {project / folder} is outside of the project {project}",
        "Move it into the project, or set inferfleet:documents to another",
        "inferfleet:documents",
    )


def test_the_folder_of_documents_is_a_folder(project: Path) -> None:
    (project / "stacks/Pulumi.dev.yaml").write_text("config: {'inferfleet:documents': notes.txt}\n")
    what = f"the folder of documents {project / 'notes.txt'} is not a folder"
    assert [problem.what for problem in problems_of(project)] == [what]


@pytest.mark.parametrize("folder", [".private", "stacks/.private", "link"])
def test_the_folder_of_documents_is_not_hidden(project: Path, folder: str) -> None:
    (project / "stacks/.private").mkdir()
    (project / "link").symlink_to("stacks/.private")
    (project / "stacks/Pulumi.dev.yaml").write_text(f"config: {{'inferfleet:documents': {folder}}}\n")
    (problem,) = problems_of(project)
    what = f"the folder of documents {project / folder} is hidden, because of a '.' before a name"
    assert (problem.what, problem.next_step) == (what, "Rename it, or set inferfleet:documents to another")


@pytest.mark.parametrize("name", ["nul\\0", "x" * 5000])
def test_a_folder_that_cannot_be_is_a_short_problem(project: Path, name: str) -> None:
    (project / "stacks/Pulumi.dev.yaml").write_text(f'config: {{"inferfleet:documents": "{name}"}}\n')
    (problem,) = problems_of(project)
    assert len(str(problem)) < 700


@pytest.mark.parametrize("folder", ["classes", "stacks"])
def test_folders_of_the_project_are_not_links_out_of_it(project: Path, folder: str) -> None:
    (project / folder).rename(project.parent / folder)
    (project / folder).symlink_to(project.parent / folder)
    with pytest.raises(InvalidDocuments, match=r"is outside of .*, where a symbolic link leads"):
        load_stack(project, "dev")


def test_stacks_are_not_listed_from_outside(project: Path) -> None:
    (project / "other").mkdir()
    (project / "other/stacks").symlink_to("/")
    with pytest.raises(InvalidDocuments, match=r"stacks is outside of the project"):
        stacks_of(project / "other")


def test_what_is_named_by_path_stays_inside_its_project_or_its_folder(project: Path) -> None:
    assert border_of(project / "stacks/dev") == project
    assert border_of(project / "stacks/dev/clusters.yaml") == project
    assert border_of(project.parent / "outside") == project.parent / "outside"
    assert border_of(project.parent / "outside/secret.yaml") == project.parent / "outside"
    link = project.parent / "outside/link.yaml"
    link.symlink_to(project / "stacks/dev/clusters.yaml")
    for path in (link, link.parent):
        with pytest.raises(InvalidDocuments, match="where a symbolic link leads"):
            load([path], catalogue=None)


def test_a_file_that_becomes_a_link_after_it_was_looked_at_is_not_followed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = project / "stacks/dev/clusters.yaml"
    place = document.relative_to(project)
    monkeypatch.setattr("inferfleet.documents.loading.files._path_below", lambda file, root: place)
    document.unlink()
    document.symlink_to(project.parent / "outside/secret.yaml")
    with pytest.raises(UnreadableFile, match="Too many levels of symbolic links"):
        read_regular(document, project)
    document.unlink()
    (project / "stacks/dev").rmdir()
    (project / "stacks/dev").symlink_to(project.parent / "outside")
    with pytest.raises(UnreadableFile, match="cannot be read"):
        read_regular(project / "stacks/dev/secret.yaml", project)


def test_what_looks_like_a_document_and_is_not_read_is_a_warning(project: Path) -> None:
    (project / "stacks/dev/models.YAML").write_text(DEPLOYMENT)
    (project / "shared").mkdir()
    (project / "stacks/dev/shared").symlink_to("../../shared")
    documents: Documents = load_stack(project, "dev", base=project)[0]
    assert (list(documents.deployments), documents.notices) == (
        [],
        (
            Problem(
                "this folder is not read, because it is a symbolic link",
                "Put a folder in its place, or link its files one by one",
                where=Where("stacks/dev/shared", 1),
                severity="warning",
            ),
            Problem(
                "this file is not read, because its name does not end in .yaml or .yml, in lowercase",
                "Rename it",
                where=Where("stacks/dev/models.YAML", 1),
                severity="warning",
            ),
        ),
    )
