"""`plan`, `validate` and `digest` of a Fleet's folder and lock, in somebody's Pulumi project."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from fake_cluster import FakeCluster, kubeconfig, thing
from fake_pulumi import FakePulumi
from fleet_of_one import (
    CLASS,
    CLUSTER,
    CLUSTER_FROM_PROGRAM,
    DEPLOYMENT,
    GKE_FROM_PROGRAM,
    SERVICE,
    together,
)
from in_git import commit
from small_project import Project

from inferfleet.cli.source import FleetPlace, stack_source
from inferfleet.cli.verbs import doctor
from inferfleet.clusters.connections.pulumi_command import Pulumi
from inferfleet.clusters.preflight.check import Check
from inferfleet.clusters.preflight.doctor import Subject

LOCK = """\
version: 1
stack: prod.chat
clusters:
  east: {source: Existing}
pools:
  east/l4: {nodes: 1}
placements:
  ml/qwen east decode=l4: 1
"""
NETWORK = {"name": "shared", "subnetwork": "nodes", "podsRange": "pods", "servicesRange": "services"}
IN_PROJECT = ("--set", "InferenceCluster/cloudy.spec.cluster.gke.project=acme-ml")
IN_NETWORK = tuple(
    word
    for name, value in NETWORK.items()
    for word in ("--set", f"InferenceCluster/cloudy.spec.cluster.gke.network.existing.{name}={value}")
)
CLASSES = Path(__file__).parents[2] / "classes"
OF_FLEET = ("--documents", "fleet/", "--stack", "prod")


class Reached(NamedTuple):
    fake: FakeCluster
    option: tuple[str, str]


@pytest.fixture
def program(project: Project) -> Project:
    """A project whose program has a Fleet besides a VPC."""
    for file in [*(project.root / "stacks").rglob("*")]:
        if file.is_file():
            file.unlink()
    project.write("Pulumi.yaml", "name: acme\nruntime: python\n")
    project.write("Pulumi.prod.yaml", "config: {'inferfleet:objective': cost}\n")
    project.write("classes/l4.yaml", CLASS)
    project.write("fleet/all.yaml", together(CLUSTER_FROM_PROGRAM, DEPLOYMENT))
    return project


def test_a_plan_writes_the_lock_of_the_fleet_beside_its_documents(program: Project) -> None:
    ran = program.run("plan", *OF_FLEET, "--fleet", "chat", "--write")
    assert (ran.code, (program.root / "fleet/placement.lock").read_text()) == (0, LOCK)
    assert "no UID recorded: cluster 'east' is not asked: its kubeconfig is handed over" in ran.err


def test_the_fleet_of_a_lock_needs_no_name(program: Project) -> None:
    program.write("fleet/placement.lock", LOCK)
    assert program.run("plan", *OF_FLEET, "--locked").code == 0
    assert program.run("validate", *OF_FLEET).code == 0


def test_a_lock_may_be_elsewhere_in_the_project(program: Project) -> None:
    program.write("locks/chat.lock", LOCK)
    assert program.run("plan", *OF_FLEET, "--lock", "locks/chat.lock", "--locked").code == 0


def test_what_does_not_match_names_the_command_for_this_fleet(program: Project) -> None:
    program.write("fleet/placement.lock", LOCK.replace("l4: 1", "l4: 2"))
    ran = program.run("plan", *OF_FLEET, "--locked")
    assert "Run `inferfleet plan --documents fleet --stack prod --fleet chat --write`" in ran.err


def test_a_conflict_between_branches_names_it_too(program: Project) -> None:
    ours = "<<<<<<< HEAD\n  east/l4: {nodes: 1}\n=======\n  east/l4: {nodes: 2}\n>>>>>>> other\n"
    program.write("fleet/placement.lock", LOCK.replace("  east/l4: {nodes: 1}\n", ours))
    ran = program.run("validate", *OF_FLEET)
    assert "inferfleet plan --documents fleet --stack prod --fleet chat --write" in ran.err


def test_nobody_writes_the_first_lock_of_a_fleet_without_its_name(program: Project) -> None:
    ran = program.run("plan", *OF_FLEET, "--write")
    assert (ran.code, "there is no lock yet that says the name" in ran.err) == (2, True)
    assert not (program.root / "fleet/placement.lock").exists()


def test_the_fleet_that_is_named_like_its_stack_has_the_name_of_the_stack(program: Project) -> None:
    program.run("plan", *OF_FLEET, "--fleet", "prod", "--write")
    assert (program.root / "fleet/placement.lock").read_text() == LOCK.replace("prod.chat", "prod")


def test_settings_are_those_of_the_stack(program: Project) -> None:
    program.write("Pulumi.prod.yaml", "config: {'inferfleet:objective': most}\n")
    ran = program.run("validate", *OF_FLEET)
    assert ran.code != 0
    assert "Pulumi.prod.yaml:1" in ran.err


def test_a_digest_compares_the_fleet_with_a_commit(program: Project) -> None:
    program.write("fleet/placement.lock", LOCK)
    commit(program.root)
    program.edit("fleet/all.yaml", "vllm:1", "vllm:2")
    found = program.run("digest", *OF_FLEET, "--base", "main", "--json").json
    (stack,) = found["stacks"]
    assert (stack["stack"], stack["state"], [model["deployment"] for model in stack["models"]]) == (
        "prod.chat",
        "changed",
        ["ml/qwen"],
    )
    assert found["others"] == 0
    since = program.run("plan", *OF_FLEET, "--base", "main").out.partition("roll since ")[2]
    assert "1 pod of Deployment east/ml/qwen-decode-l4 restarts" in since


@pytest.fixture
def cloudy(program: Project) -> Project:
    """Its program hands over the project and the network of the cluster as Outputs."""
    program.write("classes/gke-l4.yaml", (CLASSES / "gke-l4.yaml").read_text())
    program.write("fleet/all.yaml", GKE_FROM_PROGRAM)
    return program


def test_what_the_program_hands_over_and_no_lock_knows_is_asked_for_with_all_else_that_is_wrong(
    cloudy: Project,
) -> None:
    cloudy.write(
        "fleet/other.yaml",
        GKE_FROM_PROGRAM.replace("cloudy", "other").replace("{region", "{project: a-b-c-d, region"),
    )
    cloudy.write("fleet/third.yaml", CLUSTER.replace("nodeCount: 1", "nodeCount: 1, minNodeCount: 1"))
    ran = cloudy.run("validate", *OF_FLEET, "--fleet", "chat", "--json")
    named = ".spec.cluster.gke"
    network = ", ".join(f"network.existing.{name}" for name in NETWORK)
    sets = " ".join(f"--set InferenceCluster/other{named}.network.existing.{name}=VALUE" for name in NETWORK)
    command = "inferfleet plan --documents fleet --stack prod --fleet chat --write"
    later = "the program of the Fleet hands that over, and the lock does not know it yet"
    problems = {(problem["what"], problem["nextStep"]) for problem in ran.json["problems"]}
    own = sets.replace("other", "cloudy")
    assert problems == {
        (
            f"cluster cloudy has no project, {network}: {later}",
            f"Say it once, and the lock knows it: `{command} "
            f"--set InferenceCluster/cloudy{named}.project=VALUE {own}`",
        ),
        (
            f"cluster other has no {network}: {later}",
            f"Say it once, and the lock knows it: `{command} {sets}`",
        ),
        ("minNodeCount is for autoscaled pools, this one has nodeCount", "Remove minNodeCount"),
    }


def test_a_plan_writes_what_somebody_says_in_place_of_the_program(cloudy: Project) -> None:
    ran = cloudy.run("plan", *OF_FLEET, "--fleet", "chat", "--write", *IN_PROJECT, *IN_NETWORK)
    assert ran.code == 0
    lock = (cloudy.root / "fleet/placement.lock").read_text()
    assert "network: projects/acme-ml/global/networks/shared" in lock
    # Now all commands know it.
    assert cloudy.run("plan", *OF_FLEET, "--locked").code == 0
    assert cloudy.run("validate", *OF_FLEET).code == 0
    assert cloudy.run("plan", *OF_FLEET, "--write").code == 0
    assert (cloudy.root / "fleet/placement.lock").read_text() == lock
    commit(cloudy.root)
    cloudy.edit("fleet/all.yaml", "nodeCount: 1", "nodeCount: 2")
    (stack,) = cloudy.run("digest", *OF_FLEET, "--base", "main", "--json").json["stacks"]
    assert (stack["state"], stack["problems"]) == ("changed", [])
    # Another network than the cluster's is a change, and said by nobody it is none.
    another = tuple(word.replace("shared", "another") for word in IN_NETWORK)
    ran = cloudy.run("plan", *OF_FLEET, "--locked", *another)
    assert "has immutable settings that would change, so it would have to be replaced" in ran.err


def test_nobody_writes_a_lock_by_what_a_document_does_not_leave_to_the_program(cloudy: Project) -> None:
    cloudy.edit("fleet/all.yaml", "{region", "{project: acme-ml, region")
    ran = cloudy.run("plan", *OF_FLEET, "--fleet", "chat", "--write", *IN_PROJECT, *IN_NETWORK)
    assert "the document of cluster cloudy does not leave project to the program of its Fleet" in ran.err
    misspelled = (word.replace("cloudy", "cloud") for word in IN_PROJECT)
    ran = cloudy.run("plan", *OF_FLEET, "--fleet", "chat", "--write", *misspelled)
    assert "there is no InferenceCluster 'cloud' for" in ran.err
    assert not (cloudy.root / "fleet/placement.lock").exists()


def test_a_digest_tells_another_name_as_another_fleet(program: Project) -> None:
    program.write("fleet/placement.lock", LOCK)
    commit(program.root)
    program.edit("fleet/placement.lock", "prod.chat", "prod.talk")
    for name in ((), ("--fleet", "talk")):
        (stack,) = program.run("digest", *OF_FLEET, *name, "--base", "main", "--json").json["stacks"]
        assert (stack["stack"], stack["state"]) == ("prod.talk", "added")
        assert {resource["operation"] for resource in stack["resources"]} == {"create"}
        assert stack["problems"][0]["what"] == (
            "this was prod.chat and is prod.talk, which is another Fleet: its update makes all of it anew, "
            "and deletes everything that prod.chat has"
        )


def test_the_lock_of_a_fleet_of_another_name_says_what_a_rename_does(program: Project) -> None:
    program.write("fleet/placement.lock", LOCK)
    ran = program.run("plan", *OF_FLEET, "--fleet", "talk")
    assert ran.err.startswith(
        "fleet/placement.lock:2: this is the lock of stack 'prod.chat', not of 'prod.talk'. Use the lock of "
        "this Fleet, or name the Fleet 'chat' again: under another name it is another Fleet, whose update "
        "makes all anew and deletes what there was. To have that, change this line\n"
    )


def test_a_lock_of_another_fleet_is_no_package(program: Project) -> None:
    program.write("batch/placement.lock", LOCK)
    commit(program.root)
    program.write("batch/placement.lock", LOCK.replace("chat", "batch"))
    found = program.run("digest", *OF_FLEET, "--base", "main", "--json").json
    assert (found["files"], found["others"]) == ([], 1)


def test_a_digest_of_a_folder_that_is_not_there_is_refused(program: Project) -> None:
    commit(program.root)
    ran = program.run("digest", "--documents", "flet/", "--stack", "prod", "--base", "main")
    assert (ran.code, "flet" in ran.err, "destroy" in ran.out) == (1, True, False)


def test_what_should_exist_is_rendered_explained_and_drawn(program: Project) -> None:
    program.write("fleet/placement.lock", LOCK)
    assert "inferfleet.dev/stack: prod.chat" in program.run("render", *OF_FLEET).out
    assert "ml/qwen" in program.run("explain", "qwen", *OF_FLEET).out
    program.run("report", *OF_FLEET, "--output", "report.html")
    assert "prod.chat" in (program.root / "report.html").read_text()


def test_the_stack_of_a_program_is_no_stack_of_a_project_and_that_is_said(program: Project) -> None:
    shutil.rmtree(program.root / "stacks")
    ran = program.run("recover", "--stack", "prod")
    assert ran.code == 1
    assert "Name the folder of a Fleet in a program of your own by --documents" in ran.err


@pytest.fixture
def reached(
    program: Project, cluster: Callable[..., FakeCluster], tmp_path_factory: pytest.TempPathFactory
) -> Reached:
    """The cluster of the Fleet with all that an update makes, and a kubeconfig of somebody's own for it."""
    place = FleetPlace(program.root, "prod", "fleet", "chat")
    program.write("fleet/service.yaml", SERVICE)
    (made,) = stack_source(program.root, place, base=program.root).desired().clusters
    file = tmp_path_factory.mktemp("own") / "east"
    fake = cluster(
        objects=[
            each.manifest for each in made.objects if each.manifest["kind"] in ("Deployment", "HTTPRoute")
        ]
    )
    file.write_text(yaml.safe_dump(kubeconfig(fake.address)))
    return Reached(fake, ("--kubeconfig", f"east={file}"))


def test_a_question_is_asked_on_a_cluster_that_somebody_reaches(program: Project, reached: Reached) -> None:
    labels = {"inferfleet.dev/deployment": "qwen", "inferfleet.dev/serves": "true"}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    reached.fake.objects.append(thing("Pod", "qwen-a", "ml", labels=labels, status=ready))
    at = "/api/v1/namespaces/ml/pods/qwen-a:8000/proxy/v1"
    reached.fake.behind[f"{at}/models"] = (200, {"data": [{"id": "qwen3"}]})
    completion = {"model": "qwen3", "choices": [{"message": {"content": "Hello."}}]}
    reached.fake.behind[f"{at}/chat/completions"] = (200, completion)
    ran = program.run("chat", *OF_FLEET, "--fleet", "chat", *reached.option)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "Hello.")


def test_a_status_asks_the_clusters_that_somebody_reaches(program: Project, reached: Reached) -> None:
    (east,) = program.run("status", *OF_FLEET, "--fleet", "chat", "--json").json["clusters"]
    handed = "cluster 'east' is not asked: its kubeconfig is handed over by a program"
    assert (east["phase"], east["silent"], reached.fake.asked) == ("Unknown", handed, [])
    (east,) = program.run("status", *OF_FLEET, "--fleet", "chat", *reached.option, "--json").json["clusters"]
    assert (east["silent"], reached.fake.asked != []) == ("", True)


def test_doctor_looks_at_the_pulumi_stack_and_at_clusters_that_somebody_reaches(
    program: Project, reached: Reached, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[tuple[str, list[str], list[str]]] = []

    def look(subject: Subject, pulumi: Pulumi, *_: Any, **__: Any) -> tuple[Check, ...]:
        kubeconfigs = subject.kubeconfigs
        looked.append(
            (
                pulumi.stack,
                [*kubeconfigs.texts],
                [problem.next_step for problem in kubeconfigs.problems.values()],
            )
        )
        return ()

    monkeypatch.setattr(doctor, "look", look)
    program.run("doctor", *OF_FLEET, "--fleet", "chat")
    program.run("doctor", *OF_FLEET, "--fleet", "chat", *reached.option)
    step = "Name a file that reaches it: --kubeconfig east=FILE"
    assert looked == [("prod", [], [step]), ("prod", ["east"], [])]


def test_a_lost_lock_is_written_by_what_runs(program: Project, reached: Reached) -> None:
    ran = program.run("plan", *OF_FLEET, "--fleet", "chat", "--from-clusters", "--write", *reached.option)
    lock = (program.root / "fleet/placement.lock").read_text()
    assert (ran.code, lock) == (
        0,
        f"{LOCK.replace('Existing}', 'Existing, uid: uid-1}')}services:\n  ml/chat: [east]\n",
    )


URN = "urn:pulumi:prod::acme::inferfleet:components:Fleet$inferfleet:components:ModelPlacement$"


def interrupted(urn: str, manifest: dict[str, Any]) -> dict[str, Any]:
    token = urn.split("::")[2].rpartition("$")[2]
    return {"type": "creating", "resource": {"urn": urn, "type": token, "custom": True, "inputs": manifest}}


def test_what_a_killed_update_made_of_a_fleet_is_taken_over(
    program: Project, reached: Reached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulumi = FakePulumi(tmp_path / "backend", monkeypatch)
    (made,) = (each for each in reached.fake.objects if each["metadata"]["name"] == "qwen-decode-l4")
    urn = f"{URN}kubernetes:apps/v1:Deployment::chat/east/ml/qwen-decode-l4"
    pending = [interrupted(urn, made)]
    pulumi.has({"version": 3, "deployment": {"resources": [], "pending_operations": pending}})
    ran = program.run("recover", *OF_FLEET, "--fleet", "chat", *reached.option, "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert pulumi.changing == ["stack import", "refresh --stack"]
    assert [(each["urn"], each["id"]) for each in pulumi.state["resources"]] == [(urn, "ml/qwen-decode-l4")]


@pytest.mark.parametrize(
    "urn",
    [
        "urn:pulumi:prod::acme::kubernetes:core/v1:ConfigMap::chat/east/ml/a",
        f"{URN}kubernetes:core/v1:ConfigMap::other/east/ml/a",
    ],
)
def test_what_a_killed_update_made_of_the_rest_of_the_program_is_left_to_people(
    program: Project, reached: Reached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, urn: str
) -> None:
    pulumi = FakePulumi(tmp_path / "backend", monkeypatch)
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ml"}}
    pending = [interrupted(urn, manifest)]
    pulumi.has({"version": 3, "deployment": {"resources": [], "pending_operations": pending}})
    ran = program.run("recover", *OF_FLEET, "--fleet", "chat", *reached.option, "--yes")
    assert (ran.code, pulumi.changing) == (6, [])
    assert f"notice: ConfigMap {urn.rpartition('::')[2]} is not of this Fleet. Answer for it" in ran.err


def test_without_a_kubeconfig_nobody_knows_what_runs(program: Project) -> None:
    ran = program.run("plan", *OF_FLEET, "--fleet", "chat", "--from-clusters")
    assert (ran.code, "commands take a file: --kubeconfig east=FILE" in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("east", "'east' is not CLUSTER=FILE"),
        ("est=x", "there is no InferenceCluster 'est' for '--kubeconfig est=x'. Did you mean east?"),
        ("cloudy=x", "a cluster of source GKE is reached by what Google says"),
    ],
)
def test_a_kubeconfig_is_for_an_existing_cluster_of_the_fleet(
    program: Project, option: str, said: str
) -> None:
    if option.startswith("cloudy"):
        program.write("classes/gke-l4.yaml", (CLASSES / "gke-l4.yaml").read_text())
        program.write(
            "fleet/cloudy.yaml", GKE_FROM_PROGRAM.replace("network: {existing: {}}", "project: acme-ml")
        )
    ran = program.run("status", *OF_FLEET, "--kubeconfig", option)
    assert said in " ".join(ran.err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--documents", "fleet/"), "name the Pulumi stack whose program has the Fleet"),
        (("--stack", "prod", "--fleet", "chat"), "name the folder of the Fleet too"),
        ((*OF_FLEET, "fleet/all.yaml"), "name a Fleet or paths, not both"),
        ((*OF_FLEET, "--lock", "/tmp/x.lock"), "it is outside of the project"),
    ],
)
def test_half_of_a_fleet_is_refused(program: Project, words: tuple[str, ...], said: str) -> None:
    ran = program.run("plan", *words)
    assert (ran.code, said in " ".join(ran.err.replace("│", " ").split())) == (2, True)
