"""The state of a stack and its lock are lost: both follow again from what runs, and nothing restarts."""

import json
from typing import Any

from documents import Document, deployment
from project import Project

OWNED = "deployments,httproutes,services,inferencepools,gateways,rolebindings"


def _models(**spec: Any) -> list[Document]:
    return [deployment("a", on="east", **spec), deployment("b", replicas=2, on="west")]


def _pods(project: Project) -> dict[str, str]:
    return {
        f"{cluster}/{one['metadata']['name']}": one["metadata"]["uid"]
        for cluster in ("east", "west")
        for one in project.items(cluster, "pods", "-n", "ml")
    }


def _managers(project: Project) -> dict[str, list[str]]:
    """Under which names Pulumi set fields of the stack's objects."""
    selector = ("--selector", f"inferfleet.dev/stack={project.stack}", "--show-managed-fields")
    return {
        f"{one['kind']} {one['metadata']['name']}": [
            entry["manager"]
            for entry in one["metadata"]["managedFields"]
            if entry["manager"].startswith("pulumi")
        ]
        for one in project.items("east", OWNED, *selector)
    }


def _recover(project: Project) -> int:
    return project.cli("recover", "--stack", project.stack, "--lost-state", "--yes").returncode


def test_a_state_and_a_lock_that_were_lost_are_made_again_from_what_runs(project: Project) -> None:
    project.write("models", *_models())
    done = project.up()
    assert done.code == 0, done.output
    pods, managers, state = _pods(project), _managers(project), project.state()
    lock = project.lock_file.read_text()

    stack = ("--stack", project.stack)
    project.run("pulumi", "stack", "rm", "--force", "--yes", "--preserve-config", *stack)
    project.run("pulumi", "stack", "init", project.stack)
    project.lock_file.unlink()

    planned = project.cli("plan", *stack, "--from-clusters", "--write", "--json")
    assert json.loads(planned.stdout)["lock"]["matches"]
    assert project.lock_file.read_text() == lock
    # The providers, then what is read through them.
    assert [_recover(project), _recover(project), _recover(project)] == [6, 0, 0]
    assert project.state() == state
    assert project.up().operations == {}
    assert (_pods(project), _managers(project)) == (pods, managers)

    project.write("models", *_models(image="docker.io/vllm/vllm-openai:v0.31.0"))
    done = project.up()
    assert (done.code, done.operations) == (0, {"Deployment east/ml/a-decode-l4": "update"}), done.output
