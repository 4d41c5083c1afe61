"""Ten policies, each broken once: all verbs and the program refuse it with the same words."""

import json
from pathlib import Path

import pytest
from fleet_of_one import DEPLOYMENT
from in_git import commit
from recorded_project import LOCK, Project, recorded
from typer.testing import CliRunner

from inferfleet.cli.main import app
from inferfleet.documents.problems import InvalidDocuments

HEAD = "apiVersion: inferfleet.dev/v1alpha1\nkind: Policy\n"
PRICE = 'price: {onDemand: "4", currency: USD, asOf: "2026-11-01", source: test}\n'
MODELS = DEPLOYMENT.replace("replicas: 1", "replicas: 2").replace("family: qwen", "residency: eu") + (
    "  plugins: [{name: demo-pod-tweaks, config: {env: [{name: LOG, value: info}]}}]\n"
)
ON_MODELS = "stacks/prod/models.yaml"
TEN = (
    ("gpus-per-change", "team", "team.gpus - team.gpusBefore <= 0", "team ml", "ml",
     "team.gpus is 2, team.gpusBefore is 1"),
    ("dollars-per-change", "team", "team.cost - team.costBefore <= 1.5", "team ml", "ml",
     "team.cost is 4.00, team.costBefore is 2.00"),
    ("spare-gpus", "pool", "pool.freeGpus >= 1", "pool east/l4", "east/l4", "pool.freeGpus is 0"),
    ("n-minus-one", "loss", "size(loss.unserved) == 0", "the loss of cluster east", "cluster east",
     "loss.unserved is ml/qwen"),
    ("residency", "placement",
     'placement.model.labels[?"residency"].orValue("") != "eu" || placement.cluster.region.startsWith("eu-")',
     "ml/qwen on east/l4", "ml/qwen", "placement.cluster.region is empty"),
    ("registries", "image", 'image.container != "engine" || image.registry == "ghcr.io"',
     "image vllm:1 of ml/qwen on east", "ml/qwen", "image.container is engine, image.registry is docker.io"),
    ("digests", "image", 'image.container != "engine" || image.digest != ""',
     "image vllm:1 of ml/qwen on east", "ml/qwen", "image.container is engine, image.digest is empty"),
    ("plugins", "plugin", 'plugin.name in ["cache"]', "plugin demo-pod-tweaks of ml/qwen", "ml/qwen",
     "plugin.name is demo-pod-tweaks"),
    ("tiers", "cluster", '"tier" in cluster.labels', "cluster east", "east", ""),
    ("sum", "fleet", 'stack.name != "prod" || fleet.models.map(m, m.gpus).sum() <= 1', "the fleet", "fleet",
     "stack.name is prod"),
)  # fmt: skip


def policy(name: str, each: str, cel: str, **spec: str) -> str:
    more = "".join(f"  {key}: {value}\n" for key, value in spec.items())
    text = json.dumps(cel)
    return (
        f"{HEAD}metadata: {{name: {name}}}\nspec:\n  each: {each}\n  cel: {text}\n  message: ask us\n{more}"
    )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    # There a stack is locked, and its lock is told besides.
    monkeypatch.delenv("CI", raising=False)
    made = recorded(tmp_path, monkeypatch)
    made.write("Pulumi.yaml", "name: inferfleet\n")
    made.write("stacks/Pulumi.prod.yaml", "config: {inferfleet:eastKubeconfig: {secure: v1}}\n")
    file = made.root / "classes/l4.yaml"
    file.write_text(file.read_text() + f"  {PRICE}")
    made.write("stacks/prod/placement.lock", LOCK)
    commit(made.root)
    return made


def told_by(project: Project, *words: str) -> tuple[int, list[str]]:
    ran = CliRunner().invoke(app, [*words, "--json"], prog_name="inferfleet")
    values = json.loads(ran.stdout)
    return ran.exit_code, [
        f"{problem['file']}:{problem['line']}: {problem['what']}. {problem['nextStep']}"
        for problem in values["problems"]
    ]


def refused_by_the_program(project: Project) -> list[str]:
    with pytest.raises(InvalidDocuments) as raised:
        project.prepare()
    return [f"{problem.where}: {problem.what}. {problem.next_step}" for problem in raised.value.problems]


def test_each_is_refused_everywhere_with_the_same_words(project: Project) -> None:
    project.write(ON_MODELS, MODELS)
    for name, each, cel, _, _, _ in TEN:
        project.write(f"policies/{name}.yaml", policy(name, each, cel))
    words = refused_by_the_program(project)
    own = {"ModelDeployment": f"{ON_MODELS}:1", "pool": "stacks/prod/clusters.yaml:6"}
    places = {
        "team": "policies/{}.yaml:6",
        "fleet": "policies/{}.yaml:6",
        "pool": own["pool"],
        "loss": "stacks/prod/clusters.yaml:1",
        "cluster": "stacks/prod/clusters.yaml:1",
        "plugin": f"{ON_MODELS}:9",
    }
    assert sorted(words) == sorted(
        f"{places.get(each, own['ModelDeployment']).format(name)}: {said} breaks policy {name}: "
        f"ask us{f' ({values})' if values else ''}. Change it, or have a Waiver of policy {name} "
        f"(policies/{name}.yaml:6) from the same folder with of: {of} let it off until a day"
        for name, each, _, said, of, values in TEN
    )
    for verb in (("validate",), ("plan",), ("digest", "--base", "main")):
        assert told_by(project, *verb) == (1, words), verb
    told_by(project, "plan", "--write")
    assert project.lock == LOCK


def test_a_fleet_that_keeps_all_of_them_is_not_refused(project: Project) -> None:
    for name, each, _, _, _, _ in TEN:
        project.write(f"policies/{name}.yaml", policy(name, each, 'stack.name == "prod"'))
    assert told_by(project, "validate") == (0, [])
    assert project.prepare().warnings == ()
