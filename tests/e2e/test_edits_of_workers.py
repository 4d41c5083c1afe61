"""Single edits of workers that run: the engine plans what the page of edits says, and says it in words."""

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from digested import ON_CLUSTER, claims, digested, without_groups
from edits_of_workers import EDITS
from edits_of_workers_stack import STACK, documents, queues
from gke_edits import Edit, on_pods, planned
from project import PROGRAM, ROOT, Project, Run
from sandboxes import running

from bench.pages.changes import DEPLOYMENT_FIELDS
from inferfleet.fleet.names import DEPLOYMENT, ROLE
from sandbox.toolchain.kinds_of_others import SCHEDULERS
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import make_tools

Previews = dict[str, Future[Run]]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The stack is deployed, on a cluster that knows the kinds of Kueue and Volcano."""
    root = tmp_path_factory.mktemp(STACK)
    crds = make_tools(Progress(), (SCHEDULERS,)).folder(SCHEDULERS.name) / "crds"
    with running(root, STACK, *documents().values()) as project:
        project.kubectl("east", "create", "-f", str(crds))
        project.kubectl("east", "wait", "--for=condition=Established", "--timeout=600s", "-f", str(crds))
        project.kubectl("east", "create", "namespace", "ml")
        file = root / "queues.yaml"
        file.write_text(yaml.safe_dump_all(queues()))
        project.kubectl("east", "create", "-f", str(file))
        done = project.up()
        assert done.code == 0, done.output
        yield project


@pytest.fixture(scope="module")
def previews(fleet: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Previews]:
    """Yield the preview of every edit, two at a time: previews change nothing and lock nothing."""
    with ThreadPoolExecutor(2) as two:
        yield {
            edit.title: two.submit(_preview, fleet, tmp_path_factory.mktemp("edit"), edit) for edit in EDITS
        }


def _preview(project: Project, root: Path, edit: Edit) -> Run:
    """Run a preview in a folder of its own, against the same state and the same cluster."""
    for name in PROGRAM:
        (root / name).symlink_to(ROOT / name)
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(project.root / name, root / name)
    for name in ("classes", "stacks"):
        shutil.copytree(project.root / name, root / name)
    kubeconfig = Path(".sandbox") / project.stack / "east.kubeconfig"
    (root / kubeconfig).parent.mkdir(parents=True)
    shutil.copy(project.root / kubeconfig, root / kubeconfig)
    other = Project(root, project.stack, project.environment)
    other.write("clusters", *edit.of(documents()).values())
    return other.preview()


def test_every_edit_of_a_deployment_does_what_the_row_of_its_field_says_or_says_why_not() -> None:
    fields = {row.path.replace("<name>", "encode"): row.effect for row in DEPLOYMENT_FIELDS}
    deployments = {name for name, each in documents().items() if each["kind"] == "ModelDeployment"}
    rows = {
        edit.title: fields[max((path for path in fields if f"{edit.path}.".startswith(f"{path}.")), key=len)]
        for edit in EDITS
        if edit.changes[0][0] in deployments and not edit.refused and not edit.why
    }
    assert {edit.title: edit.expected for edit in EDITS if edit.title in rows} == rows


def test_nothing_is_planned_or_said_to_be_replaced_without_an_edit(fleet: Project) -> None:
    run = fleet.preview()
    assert (run.operations, "an update replaces" in run.output) == ({}, False), run.output


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.title)
def test_an_edit_of_workers_is_planned_and_announced_as_written(previews: Previews, edit: Edit) -> None:
    run = previews[edit.title].result()
    assert planned(run) == edit.plans, run.output
    if edit.title != ON_CLUSTER:
        assert claims(digested(edit, STACK)) == without_groups(run.operations)
    assert (run.code == 0, edit.refused in run.output, edit.says in run.output) == (
        not edit.refused,
        True,
        True,
    )
    assert "Traceback" not in run.output
    assert on_pods(run) == edit.expected


def test_pods_of_other_roles_run_on_and_groups_of_another_size_come_up(fleet: Project) -> None:
    before = _pods(fleet, "duo")
    edited = documents()
    for title in ("a role more", "pipeline of 2 becomes 4"):
        edited = next(edit for edit in EDITS if edit.title == title).of(edited)
    fleet.write("clusters", *edited.values())
    done = fleet.up()
    assert done.code == 0, done.output
    after = _pods(fleet, "duo")
    assert {name: uid for name, uid in after.items() if "-rerank-" not in name} == before
    assert len(after) == len(before) + 1
    assert len(_pods(fleet, "kimi")) == 8


def _pods(project: Project, deployment: str) -> dict[str, str]:
    """The engines' pods of a deployment that run, and their UIDs."""
    listed = project.items("east", "pods", "-l", f"{DEPLOYMENT}={deployment},{ROLE}")
    return {
        pod["metadata"]["name"]: pod["metadata"]["uid"]
        for pod in listed
        if pod["status"]["phase"] == "Running"
    }
