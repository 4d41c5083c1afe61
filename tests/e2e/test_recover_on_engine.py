"""Updates that are killed, and what `inferfleet recover` makes of what they leave."""

import random
from dataclasses import dataclass
from subprocess import CompletedProcess

import pytest
from asking import until
from documents import Document, deployment
from killing import update
from project import Project

L4 = "NVIDIA L4"
# Longer than it takes to kill it.
SECONDS = 600
# How many lines an update may print before it is killed; the seed makes failures come again.
_LINES = random.Random(7)
MOMENTS = [_LINES.randint(1, 60) for _ in range(2)]
KINDS = "deployments,services,configmaps,inferencepools,httproutes,gateways"
FIXED = "Fixed: `pulumi up` goes on."


def slow(name: str) -> Document:
    """Its pods are not ready for as long as a test may last, so an update waits for them."""
    made = deployment(name, on="east")
    made["spec"]["workers"]["template"]["metadata"] = {
        "annotations": {"sandbox.inferfleet.dev/startup": f"{SECONDS}s"}
    }
    return made


def uids(project: Project, name: str) -> list[str]:
    return [
        one["metadata"]["uid"]
        for one in project.items("east", "deployments", "-n", "ml")
        if one["metadata"]["name"] == f"{name}-decode-l4"
    ]


def on_clusters(project: Project) -> list[str]:
    """Everything of the stack on its clusters, in the words of `Project.state`."""
    return sorted(
        f"{one['kind']} {cluster}/{one['metadata']['namespace']}/{one['metadata']['name']}"
        for cluster in ("east", "west")
        for one in project.items(cluster, KINDS, "-l", f"inferfleet.dev/stack={project.stack}")
    )


def in_state(project: Project) -> list[str]:
    known = {"Deployment", "Service", "InferencePool", "HTTPRoute", "Gateway"}
    return [one for one in project.state() if one.partition(" ")[0] in known]


def converges(project: Project) -> None:
    done = project.up()
    assert done.code == 0, done.output
    assert project.up().operations == {}
    assert in_state(project) == on_clusters(project)


@dataclass(frozen=True)
class Killed:
    """The UID of what an update has made that was killed, and what the command said while it was at work."""

    made: str
    meanwhile: CompletedProcess[str]


@pytest.fixture(scope="module")
def killed(standing: Project) -> Killed:
    """An update was killed while it waited for two Deployments, and one of them was deleted since."""
    standing.write("models", slow("made"), slow("lost"))
    with update(standing) as going:
        until("both are made", lambda: uids(standing, "made") and uids(standing, "lost"))
        meanwhile = standing.cli("recover", "--yes")
        assert going.poll() is None
    standing.kubectl("east", "delete", "deployment", "lost-decode-l4", "-n", "ml")
    [uid] = uids(standing, "made")
    return Killed(uid, meanwhile)


def test_an_update_that_is_at_work_is_left_alone(killed: Killed) -> None:
    assert killed.meanwhile.returncode == 6, killed.meanwhile.stderr
    assert "that process is running" in killed.meanwhile.stdout
    assert "nothing is touched" in killed.meanwhile.stderr


def test_where_nobody_answers_nothing_is_done(standing: Project, killed: Killed) -> None:
    refused = standing.up()
    assert refused.code != 0
    assert "currently locked" in refused.output
    told = standing.cli("recover")
    assert told.returncode == 6, told.stderr
    assert "that process is gone" in told.stdout
    assert "Deployment east/ml/made-decode-l4" in told.stdout
    assert standing.up().code != 0


def test_a_cluster_that_does_not_answer_keeps_the_state_as_it_is(standing: Project, killed: Killed) -> None:
    kubeconfig = standing.root / ".sandbox" / standing.stack / "east.kubeconfig"
    text = kubeconfig.read_text()
    try:
        kubeconfig.write_text(text.replace("127.0.0.1:", "127.0.0.1:1"))
        looked = standing.cli("recover", "--yes")
    finally:
        kubeconfig.write_text(text)
    assert looked.returncode == 6, looked.stdout
    assert "cluster 'east'" in looked.stderr


def test_what_it_made_is_taken_over_and_what_is_gone_is_forgotten(standing: Project, killed: Killed) -> None:
    # The lock is gone, and what is known of the Deployments is not.
    mended = standing.cli("recover", "--yes")
    assert (mended.returncode, mended.stdout.splitlines()[-1]) == (0, FIXED), mended.stdout + mended.stderr
    state = standing.state()
    assert [f"Deployment east/ml/{name}-decode-l4" in state for name in ("made", "lost")] == [True, False]
    again = standing.cli("recover")
    assert (again.returncode, again.stdout.partition(":")[0]) == (0, "Nothing to fix")

    standing.write("models", deployment("made", on="east"), deployment("lost", on="east"))
    converges(standing)
    assert uids(standing, "made") == [killed.made]


def test_updates_killed_at_any_moment_end_where_one_would_have_ended(standing: Project) -> None:
    # The first begins from nothing, the second in what is left of it.
    assert standing.destroy().code == 0
    for turn, lines in enumerate(MOMENTS):
        two = deployment("two", on="west", gpu=L4, env=[{"name": "TURN", "value": str(turn)}])
        more = [deployment("one", on="east")] if turn % 2 else [deployment("three", on="east")]
        standing.write("models", two, *more)
        with update(standing) as going:
            assert going.stdout is not None
            for _, _line in zip(range(lines), going.stdout, strict=False):
                pass
        mended = standing.cli("recover", "--yes")
        assert mended.returncode == 0, f"after {lines} lines: {mended.stdout}{mended.stderr}"
    converges(standing)
