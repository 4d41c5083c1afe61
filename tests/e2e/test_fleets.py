"""Fleets in somebody's program, on the real engine: what else is there makes their clusters."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from asking import ask
from documents import Document, deployment, east, service, west
from project import ROOT, Project, Run
from sandboxes import running

# Something else of the program that knows how a cluster is reached. It fails where a file says so.
BEGIN = """\
from pathlib import Path

import inferfleet
import pulumi

async def failing(_: pulumi.ResourceHookArgs) -> None:
    if Path("broken").exists():
        raise RuntimeError("it is broken")

def cluster(name: str) -> pulumi.Output[str]:
    hook = pulumi.ResourceHook(f"{name} is there", failing)
    text = Path(f".sandbox/e2e/{name}.kubeconfig").read_text() + "#" * Path("broken").exists()
    hooks = pulumi.ResourceHookBinding(before_update=[hook])
    made = pulumi.Stash(name, input=text, opts=pulumi.ResourceOptions(hooks=hooks))
    # Before it is there, nobody knows its ID.
    return made.id.apply(lambda _: made.output)

"""
CHAT = """\
args = inferfleet.FleetArgs(documents="chat/", kubeconfigs={"east": cluster("east")})
fleet = inferfleet.Fleet("chat", args)
pulumi.export("chat", fleet.urls["ml/chat"]["east"])
"""
OTHER = """\
import yaml
documents = list(yaml.safe_load_all(Path("other.yaml").read_text()))
args = inferfleet.FleetArgs(documents=documents, lock="other.lock", kubeconfigs={"west": cluster("west")})
other = inferfleet.Fleet("other", args)
pulumi.export("clusters", other.clusters)
"""
# A component with a resource among its outputs, which the program makes after the Fleet.
TEAM = """\
import pulumi_kubernetes as kubernetes

class Team(pulumi.ComponentResource):
    def __init__(self) -> None:
        super().__init__("acme:index:Team", "team")
        kubeconfig, opts = fleet.urls.apply(lambda _: "{}"), pulumi.ResourceOptions(parent=self)
        provider = kubernetes.Provider("team", kubeconfig=kubeconfig, opts=opts)
        self.register_outputs({"provider": provider})

Team()
"""
AUTOMATION = """\
import os
from pathlib import Path

from pulumi import automation

def program() -> None:
    exec(Path("__main__.py").read_text(), {"__name__": "program"})

options = automation.LocalWorkspaceOptions(work_dir=".", env_vars=dict(os.environ))
stack = automation.select_stack("e2e", project_name="inferfleet", program=program, opts=options)
print(stack.preview().change_summary)
"""


def without_kubeconfig(document: Document) -> Document:
    """Its program hands it over."""
    cluster = {"source": "Existing", "existing": {}}
    return {**document, "spec": {**document["spec"], "cluster": cluster}}


@pytest.fixture(scope="module")
def fleets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Clusters of their own: on the shared ones namespaces stay that belong to the stack itself."""
    with running(tmp_path_factory.mktemp("fleets"), "e2e", east(), west()) as project:
        (project.root / "chat").mkdir()
        write(project.root / "chat/fleet.yaml", without_kubeconfig(east()), *models("one"))
        (project.root / "__main__.py").write_text(BEGIN + CHAT)
        yield project


def models(*names: str) -> list[Document]:
    return [*(deployment(name) for name in names), service("chat", **dict.fromkeys(names, 1))]


def write(path: Path, *documents: Document) -> None:
    path.write_text(yaml.safe_dump_all(documents))


def output(project: Project, name: str) -> Any:
    shown = project.run("pulumi", "stack", "output", "--stack", project.stack, "--json").stdout
    return json.loads(shown)[name]


@pytest.fixture(scope="module")
def previewed(fleets: Project) -> Run:
    return fleets.preview()


@pytest.fixture(scope="module")
def updated(fleets: Project, previewed: Run) -> Run:
    return fleets.up()


def test_the_first_preview_shows_all_that_its_update_makes_on_a_cluster_to_come(
    previewed: Run, updated: Run
) -> None:
    assert (previewed.code, updated.code) == (0, 0), previewed.output + updated.output
    assert "cluster 'east' is yet to come" in previewed.output
    assert previewed.operations == updated.operations
    assert updated.operations["Deployment chat/east/ml/one-decode-l4"] == "create"


def test_the_program_exports_where_the_model_answers(fleets: Project, updated: Run) -> None:
    assert ask(output(fleets, "chat").rstrip("/"), model="some/model").status == 200


def test_a_second_fleet_of_the_program_touches_nothing_of_the_first(fleets: Project, updated: Run) -> None:
    write(fleets.root / "other.yaml", without_kubeconfig(west()), deployment("two"))
    (fleets.root / "__main__.py").write_text(BEGIN + CHAT + OTHER)
    done = fleets.up()
    assert done.code == 0, done.output
    assert set(done.operations.values()) == {"create"}
    assert [name for name in done.operations if "chat" in name] == []
    assert output(fleets, "clusters") == {"west": {"source": "Existing", "state": "active"}}
    [workload] = fleets.items(
        "west", "deployments", "-l", "inferfleet.dev/deployment=two,inferfleet.dev/role"
    )
    assert workload["metadata"]["labels"]["inferfleet.dev/stack"] == "e2e.other"


@pytest.mark.parametrize("flags", [(), ("--continue-on-error",)])
def test_an_update_that_does_not_know_a_kubeconfig_deletes_nothing(
    fleets: Project, updated: Run, flags: tuple[str, ...]
) -> None:
    before = fleets.state()
    (fleets.root / "broken").touch()
    # This would delete the deployment of before.
    write(fleets.root / "chat/fleet.yaml", without_kubeconfig(east()), *models("three"))
    done = fleets.up(*flags)
    (fleets.root / "broken").unlink()
    write(fleets.root / "chat/fleet.yaml", without_kubeconfig(east()), *models("one"))
    assert done.code != 0
    assert "delete" not in done.operations.values(), done.operations
    assert fleets.state() == before
    if flags:
        # Neither is known, and whichever Fleet is first says so.
        says = "Fleet '{}' does not know the kubeconfig of cluster '{}'"
        assert says.format("chat", "east") in done.output or says.format("other", "west") in done.output


def test_the_automation_api_runs_the_same_program(fleets: Project, updated: Run) -> None:
    (fleets.root / "automation.py").write_text(AUTOMATION)
    done = fleets.run(str(ROOT / ".venv/bin/python"), "automation.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'same'" in done.stdout
    assert "'create'" not in done.stdout
    assert "'delete'" not in done.stdout


def test_what_the_state_lost_of_a_fleet_is_taken_over_from_what_runs(fleets: Project, updated: Run) -> None:
    before, stack = fleets.state(), ("--stack", fleets.stack)
    exported = json.loads(fleets.run("pulumi", "stack", "export", *stack).stdout)
    urns = [resource["urn"] for resource in exported["deployment"]["resources"]]
    (urn,) = (urn for urn in urns if urn.endswith("Deployment::chat/east/ml/one-decode-l4"))
    fleets.run("pulumi", "state", "delete", urn, *stack, "--yes", "--target-dependents")
    assert "Deployment chat/east/ml/one-decode-l4" not in fleets.state()
    by_file = ("--kubeconfig", "east=.sandbox/e2e/east.kubeconfig")
    recovered = fleets.cli("recover", "--documents", "chat", *stack, *by_file, "--lost-state", "--yes")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    assert fleets.state() == before
    assert fleets.up().operations == {}


def test_a_paused_cluster_stays_as_it_is_beside_components_that_have_resources_among_their_outputs(
    fleets: Project, updated: Run
) -> None:
    (fleets.root / "__main__.py").write_text(BEGIN + CHAT + OTHER + TEAM)
    made = fleets.up()
    assert made.code == 0, made.output
    cluster = without_kubeconfig(east())
    paused = {**cluster, "spec": {**cluster["spec"], "state": "paused"}}
    write(fleets.root / "chat/fleet.yaml", paused, *models("one", "three"))
    done = fleets.up()
    write(fleets.root / "chat/fleet.yaml", cluster, *models("one"))
    assert (done.code, done.operations) == (0, {}), done.output


def test_what_is_on_a_cluster_goes_before_the_cluster(fleets: Project, updated: Run) -> None:
    gone = fleets.destroy()
    assert gone.code == 0, gone.output
    order = [line for line in gone.timeline if line in ("done kubernetes chat/east", "start Stash east")]
    assert order == ["done kubernetes chat/east", "start Stash east"]
