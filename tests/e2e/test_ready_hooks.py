"""When an update calls the ready hook of a plugin in the folder `plugins`, on the real engine."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import deployment, east
from killing import update
from project import Project, Run
from sandboxes import running

STACK = "ready"
WORKLOAD = "east/ml/chat-decode-l4"
STASH = f"Stash {WORKLOAD}/registrar"
# It keeps a list of what it was told in a file, and does besides what another file says.
PLUGIN = '''
import json
import time
from pathlib import Path

from inferfleet.plugins.api import Config, Plugin, PluginError, PodTemplate, Ready, Request, mapping

HERE = Path(__file__).parent.parent


class Registrar(Config):
    team: str = "chat"


def edit(template: PodTemplate, request: Request, config: Registrar) -> PodTemplate:
    """Write the team on the pods."""
    mapping(template, "metadata", "labels")["example.com/team"] = config.team
    return template


def ready(ready: Ready, config: Registrar) -> str:
    told = HERE / "told.jsonl"
    image = ready.manifest["spec"]["template"]["spec"]["containers"][0]["image"]
    line = {"workload": ready.request.workload, "image": image, "team": config.team}
    with told.open("a") as file:
        file.write(json.dumps(line) + "\\n")
    does = (HERE / "does").read_text()
    if does == "fail":
        raise KeyError("no registry")
    if does == "wait":
        time.sleep(60)
    if does == "exit":
        raise SystemExit(7)
    return f"registered {image}"


PLUGIN = Plugin("registrar", Registrar, edit, version="1.2.0", ready=ready)
'''


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """One cluster, and a project with the plugin in its folder, allowed by the settings as a user does."""
    cluster = east()
    cluster["spec"]["cluster"]["existing"]["kubeconfig"]["path"] = f"../../.sandbox/{STACK}/east.kubeconfig"
    with running(tmp_path_factory.mktemp("ready"), STACK, cluster) as project:
        (project.root / "plugins").mkdir()
        (project.root / "plugins" / "registrar.py").write_text(PLUGIN)
        (project.root / "does").write_text("")
        _settings(project)
        yield project
        assert project.destroy().code == 0


def _settings(project: Project, **more: Any) -> None:
    project.configure(
        allowedPlugins=[{"name": "registrar", "version": "1.2.0"}],
        plugins=[{"name": "registrar", "scope": {"roles": ["decode"], "target": "Entry"}}],
        **more,
    )


def _does(project: Project, what: str) -> None:
    (project.root / "does").write_text(what)


def _told(project: Project) -> list[str]:
    """The images of the pods that the hook was told of since this was last asked."""
    file: Path = project.root / "told.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return [json.loads(line)["image"] for line in lines]


def _chat(project: Project, image: str, **more: Any) -> None:
    project.write("models", deployment("chat", image=image, **more))


def _output(project: Project, name: str) -> Any:
    return json.loads(project.run("pulumi", "stack", "output", name, "--json", "--stack", STACK).stdout)


def _events(project: Project) -> list[tuple[str, str, str]]:
    events = project.items("east", "events.events.k8s.io")
    ours = [event for event in events if event.get("reportingController") == "inferfleet.dev"]
    return [
        (event["reason"], event["note"], event["regarding"]["name"])
        for event in sorted(ours, key=lambda event: str(event["eventTime"]))
    ]


def _done(run: Run) -> Run:
    assert run.code == 0, run.output
    return run


def test_a_preview_shows_the_hook_and_does_not_call_it(fleet: Project) -> None:
    _chat(fleet, "vllm:1")
    previewed = _done(fleet.preview())
    assert (previewed.operations[STASH], _told(fleet)) == ("create", [])


def test_the_hook_is_called_once_after_the_workload_was_created_and_is_ready(fleet: Project) -> None:
    created = _done(fleet.up())
    assert _told(fleet) == ["vllm:1"]
    assert "no Event" not in created.output, created.output
    order = [created.timeline.index(f"done Deployment {WORKLOAD}"), created.timeline.index(f"done {STASH}")]
    assert order == sorted(order)
    assert "plugin registrar 1.2.0: registered vllm:1 (deployment ml/chat, role decode" in created.output
    assert _output(fleet, "plugins") == {WORKLOAD: ["registrar@1.2.0"]}
    assert _output(fleet, "ready")[WORKLOAD]["registrar"].startswith("template ")
    assert _events(fleet) == [("PluginReady", "plugin registrar 1.2.0: registered vllm:1", "chat-decode-l4")]
    described = fleet.kubectl("east", "describe", "deployment", "-n", "ml", "chat-decode-l4")
    assert "PluginReady" in described
    again = _done(fleet.up())
    assert (again.operations, _told(fleet)) == ({}, [])


def test_scaling_alone_does_not_call_it(fleet: Project) -> None:
    _chat(fleet, "vllm:1", replicas=2)
    scaled = _done(fleet.up())
    operations = {f"Deployment {WORKLOAD}": "update", "PodDisruptionBudget east/ml/chat-decode": "create"}
    assert (scaled.operations, _told(fleet)) == (operations, [])


def test_another_pod_template_calls_it(fleet: Project) -> None:
    _chat(fleet, "vllm:2", replicas=2)
    assert (_done(fleet.preview()).operations[STASH], _told(fleet)) == ("update", [])
    rolled = _done(fleet.up())
    assert (rolled.operations[STASH], _told(fleet)) == ("update", ["vllm:2"])


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("fail", "KeyError: 'no registry' (at registrar.py:"),
        ("exit", "ended the program with sys.exit(7) (at registrar.py:"),
    ],
)
def test_a_hook_that_fails_fails_the_update_and_is_called_again_by_the_next(
    fleet: Project, does: str, said: str
) -> None:
    image = f"vllm:{does}"
    _chat(fleet, image, replicas=2)
    _does(fleet, does)
    failed = fleet.up()
    _does(fleet, "")
    assert (failed.code != 0, _told(fleet)) == (True, [image])
    told = f"plugin registrar 1.2.0 OnReady: {said}"
    assert told in failed.output
    assert "(deployment ml/chat, role decode on east/l4)" in failed.output
    assert "Traceback" not in failed.output
    assert _events(fleet)[-1][0] == "PluginFailed"
    # The workload is in the state and on the cluster, and is not touched again.
    mended = _done(fleet.up())
    assert (mended.operations, _told(fleet)) == ({STASH: "update"}, [image])


def test_a_hook_that_was_interrupted_is_called_again_by_the_next_update(fleet: Project) -> None:
    _chat(fleet, "vllm:killed", replicas=2)
    _does(fleet, "wait")
    with update(fleet):
        told = fleet.root / "told.jsonl"
        for _ in range(300):
            if told.exists():
                break
            time.sleep(0.2)
    _does(fleet, "")
    assert _told(fleet) == ["vllm:killed"]
    recovered = fleet.cli("recover", "--yes", "--stack", STACK)
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    mended = _done(fleet.up())
    assert (mended.operations, _told(fleet)) == ({STASH: "update"}, ["vllm:killed"])


def test_without_await_it_is_called_by_the_first_update_that_waits(fleet: Project) -> None:
    _settings(fleet, await_="applied")
    _chat(fleet, "vllm:3", replicas=2)
    _done(fleet.up())
    assert _told(fleet) == []
    _settings(fleet)
    waited = _done(fleet.up())
    assert (waited.operations[STASH], _told(fleet)) == ("update", ["vllm:3"])


def test_status_and_explain_name_plugins_and_hooks(fleet: Project) -> None:
    status = json.loads(fleet.cli("status", "--stack", STACK, "--json").stdout)
    assert "deployments" in status, status
    [placement] = status["deployments"][0]["placements"]
    [plugins] = placement["plugins"]
    assert (plugins["workload"], plugins["differ"]) == ("chat-decode-l4", False)
    assert [entry.startswith("registrar") for entry in plugins["madeWith"]] == [True]
    assert "ready hook: called once pods are ready" in fleet.cli("explain", "chat", "--stack", STACK).stdout


def test_a_workload_that_leaves_takes_what_is_remembered_along(fleet: Project) -> None:
    fleet.write("models")
    gone = _done(fleet.up())
    assert (gone.operations[STASH], _told(fleet)) == ("delete", [])
