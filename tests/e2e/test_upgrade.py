"""A fleet made by the version before this one is taken over by this one: what changes is what is told here.

CHANGELOG says it to users. What is not listed here would be a surprise on a fleet that runs.
"""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import cluster, model, service
from project import ROOT, Operations, Project
from rolling import clients, of, tell
from sandboxes import running

STACK = "upgraded"
# The version before this one. It has no tag yet: the first is to be written here once there is one.
BEFORE = "486ca67"
# What an update by today's program does to a fleet of that version.
# Several replicas of a picker have an edition, digits of what they run, so all of theirs is another set.
_SET = (
    *(
        f"{kind} east/ml/%s-epp"
        for kind in ("ServiceAccount", "Role", "RoleBinding", "Service", "Deployment")
    ),
    *(f"{kind} east/inferfleet:ml:%s:epp" for kind in ("ClusterRole", "ClusterRoleBinding")),
    "InferencePool east/ml/%s",
)
CHANGES: Operations = {
    **{f"HTTPRoute east/ml/{name}": "update" for name in ("one", "several", "tweaked", "chat-svc")},
    **{f"Deployment east/ml/{name}-epp": "update" for name in ("one", "tweaked")},
    **{name % "several-ab2e7f": "create" for name in _SET},
    **{name % "several-5e161d": "delete" for name in _SET},
    "PodDisruptionBudget east/ml/one-decode": "create",
}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it was."""
    folder = tmp_path_factory.mktemp("before")
    packed = subprocess.run(
        ["git", "archive", BEFORE, "inferfleet", "__main__.py", "classes"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, old: Path) -> Iterator[Project]:
    """A fleet that the version before made, and today's program beside its state."""
    nodes = cluster("east", stack=STACK, pools={"l4": ("nvidia-l4-4x", 2)})
    with running(tmp_path_factory.mktemp(STACK), STACK, nodes) as project:
        tweaks = [{"name": "demo-pod-tweaks", "config": {"env": [{"name": "TWEAK", "value": "one"}]}}]
        project.write(
            "models",
            model("one", replicas=2),
            model("several", picker={"replicas": 2}),
            model("tweaked", plugins=tweaks),
            service("chat", one=80, tweaked=20),
        )
        ours, classes = project.root / "inferfleet", project.root / "classes"
        now, catalogue = ours.readlink(), classes.rename(old / "today")
        ours.unlink()
        ours.symlink_to(old / "inferfleet")
        # Each version has its catalogue: classes of today may have fields that the other does not know.
        shutil.copytree(old / "classes", classes)
        begun = project.up()
        assert begun.code == 0, begun.output
        ours.unlink()
        ours.symlink_to(now)
        shutil.rmtree(classes)
        catalogue.rename(classes)
        yield project


def test_an_upgrade_does_what_is_told_restarts_no_pod_and_loses_no_request(made: Project) -> None:
    previewed = made.preview()
    assert (previewed.code, previewed.operations) == (0, CHANGES), previewed.output
    with clients(made, "east", ("one", "several", "tweaked"), tokens=50) as seen:
        before = seen.look()
        done = made.up()
        assert (done.code, done.operations) == (0, CHANGES), done.output
    tell(seen)
    assert {name: seen.failed(name) for name in seen.questions} == {name: [] for name in seen.questions}
    after = seen.look()
    assert {of(before, name) == of(after, name) for name in seen.questions} == {True}
    again = made.up()
    assert (again.code, again.operations) == (0, {}), again.output
