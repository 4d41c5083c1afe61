"""A roll whose engine ends at once, the update that says so and is ended, and what other rolls warn of."""

import json
import os
import signal

from asking import ask, until, url
from documents import Document, east, model, west
from killing import update
from project import Project, Run

L4 = "NVIDIA L4"
WORDS = "engine ended with exit code 1: ValueError: --gpu-memory-utilization must be in (0, 1]. Got 1.5."


def _surging(*flags: str) -> Document:
    made = model("surging", gpu=L4, rollout="Surge")
    made["spec"]["engine"]["args"] = list(flags)
    return made


def _alone(version: str) -> Document:
    return model("alone", gpu=L4, rollout="DeleteFirst", image=f"docker.io/vllm/vllm-openai:{version}")


def _both() -> Document:
    made = model("both", gpu=L4, replicas=2)
    del made["spec"]["clusterSelector"]
    return made


def test_a_roll_that_crashes_is_told_of_at_once_while_the_old_pod_serves(project: Project) -> None:
    project.write("models", _surging(), _alone("v0.32.0"), _both())
    done = project.up()
    assert done.code == 0, done.output
    path = url(project, "east", "ml/deployments/surging")
    [before] = {ask(path).pod for _ in range(3)}

    project.write("models", _surging("--gpu-memory-utilization=1.5"), _alone("v0.32.0"), _both())
    with update(project) as going:
        assert going.stdout is not None
        said = next(line for line in going.stdout if WORDS in line)
        assert "Deployment east/ml/surging-decode-l4: pod surging-decode-l4-" in said
        assert "and 1 pod of before serves meanwhile. To end it now, press Ctrl-C once" in said
        code, placement = _placement(project)
        assert (code, placement["phase"], placement["ready"]) == (5, "Failed", 1)
        assert placement["message"].startswith("rolls: 0 of 1 pods of the latest template are ready: ")
        assert placement["message"].endswith("1 of before serves")
        os.killpg(going.pid, signal.SIGINT)
        rest = going.stdout.read()
        assert going.wait(timeout=600) != 0, rest
        assert "Traceback" not in rest
    # Nothing is left to repair.
    exported = json.loads(project.run("pulumi", "stack", "export", "--stack", project.stack).stdout)
    assert exported["deployment"].get("pending_operations", []) == []
    assert _placement(project)[0] == 5
    assert {ask(path).pod for _ in range(3)} == {before}

    # The documents are as they were, and so is the state: that nothing changes is told.
    project.write("models", _surging(), _alone("v0.32.0"), _both())
    unchanged = project.up()
    assert unchanged.code == 0, unchanged.output
    assert "Deployment east/ml/surging-decode-l4" not in unchanged.operations
    assert "args of Deployment ml/surging-decode-l4 is [" in unchanged.output
    assert "Run `pulumi up --refresh`: this update left it out (--target), one that set" in unchanged.output

    # What is there is an update's, and the next step is the one that changes it.
    assert _undeployed(project) == {
        "spec.template.spec.containers[engine].args": "`pulumi up --refresh` writes it"
    }

    # The next update has another document, an engine that rolls alone, and a cluster that is emptied.
    project.write("clusters", east(), west(state="drained"))
    project.write("models", _surging(), _alone("v0.33.0"), _both())
    previewed = project.preview("--refresh")
    _warned(previewed)
    # The state has the template of before, as the documents have it again.
    mended = project.up("--refresh")
    _warned(mended)
    assert mended.operations["Deployment east/ml/surging-decode-l4"] == "update"
    assert WORDS not in mended.output
    assert "args of Deployment" not in mended.output
    until("all of it serves", lambda: _placement(project)[0] == 0)
    assert {ask(path).pod for _ in range(3)} == {before}


def _placement(project: Project) -> tuple[int, Document]:
    """What `status` ends with, and says of the one that rolls."""
    done = project.cli("status", "--stack", project.stack, "--json")
    told = json.loads(done.stdout)["deployments"]
    [placement] = [place for each in told if each["name"] == "ml/surging" for place in each["placements"]]
    return done.returncode, placement


def _undeployed(project: Project) -> dict[str, str]:
    """The next step for each field of the one that rolls which `status` lists as not deployed yet."""
    told = json.loads(project.cli("status", "--stack", project.stack, "--json").stdout)["drift"]
    thing = "east Deployment ml/surging-decode-l4"
    return {each["field"]: each["nextStep"] for each in told if each["undeployed"] and each["thing"] == thing}


def _warned(run: Run) -> None:
    assert run.code == 0, run.output
    for words in (
        "ml/both is no longer reached through the gateway of west",
        "an update replaces the pods of ml/alone-decode-l4 on cluster 'east' where they are: "
        "it has one pod, and nothing serves there until the new one has loaded its model",
    ):
        assert words in run.output, run.output
