"""No setting hides: the program refuses what commands without Pulumi do not see."""

from pathlib import Path
from typing import Any

import pytest

from inferfleet.documents import InvalidDocuments
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.stack import load_stack

CLUSTER = (
    "apiVersion: inferfleet.dev/v1alpha1\nkind: InferenceCluster\nmetadata: {name: east}\nspec:\n"
    "  cluster: {source: Existing, existing: {kubeconfig: {configKey: eastKubeconfig}}}\n"
    "  nodePools: [{name: l4, className: nvidia-l4-4x, nodeCount: 2}]\n"
    "  serving: {gateway: {className: istio}}\n"
)
KUBECONFIG = {"eastKubeconfig": "apiVersion: v1"}
KEY = "  inferfleet:eastKubeconfig: {secure: x}\n"
UNSEEN = "so no plan and no review has seen it"
STEP = "Write it there, and remove it from environments of Pulumi ESC and from Pulumi.yaml"


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "stacks/dev").mkdir(parents=True)
        (root / "stacks/dev/east.yaml").write_text(CLUSTER)
        self.file("Pulumi.yaml", "name: inferfleet\n")

    def file(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def has(self, text: str) -> None:
        self.file("stacks/Pulumi.dev.yaml", text)

    def settings(self, config: dict[str, Any] | None) -> Settings:
        return load_stack(self.root, "dev", config=config, base=self.root)[0].settings

    def problems(self, config: dict[str, Any] | None = None) -> list[str]:
        with pytest.raises(InvalidDocuments) as raised:
            self.settings(config)
        return [str(problem) for problem in raised.value.problems]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("plugins", '[{"name": "demo-pod-tweaks"}]'),
        ("allowedPlugins", '[{"name": "acme", "version": "1.0"}]'),
        ("locked", "false"),
        ("unplaced", "warn"),
        ("await", "applied"),
        ("trustRepositoryKubeconfigs", "true"),
    ],
)
def test_a_setting_from_elsewhere_is_refused_and_its_value_not_shown(
    project: Project, key: str, value: str
) -> None:
    project.has("config:\n  gcp:project: x\n")
    assert project.problems(KUBECONFIG | {key: value}) == [
        f"stacks/Pulumi.dev.yaml:1: inferfleet:{key}: setting {key} as Pulumi hands it over is not in the "
        f"stack's file, {UNSEEN}. {STEP}"
    ]


def test_another_value_than_that_of_the_file_is_refused_at_its_line(project: Project) -> None:
    project.has(
        "config:\n  inferfleet:locked: true\n  inferfleet:plugins:\n"
        "    - {name: demo-pod-tweaks, config: {env: [{name: A, value: b}]}}\n"
    )
    chain = '[{"name": "demo-pod-tweaks", "config": {"env": [{"name": "A", "value": "hidden"}]}}]'
    assert project.problems(KUBECONFIG | {"locked": "false", "plugins": chain}) == [
        f"stacks/Pulumi.dev.yaml:{line}: inferfleet:{key}: setting {key} as Pulumi hands it over has another "
        f"value in the stack's file, {UNSEEN}. {STEP}"
        for line, key in ((2, "locked"), (3, "plugins"))
    ]


def test_what_pulumi_makes_of_the_file_is_the_same(project: Project) -> None:
    project.has(
        "config:\n  inferfleet:locked: true\n  inferfleet:unplaced: warn\n"
        "  inferfleet:plugins: [{name: demo-pod-tweaks, config: {env: [{name: A, value: b}]}}]\n"
        "  inferfleet:secrets: {ml/hf: {token: {secure: v1:abc}}}\n"
    )
    chain = '[{"config": {"env": [{"name": "A", "value": "b"}]}, "name": "demo-pod-tweaks"}]'
    handed = {"locked": "true", "unplaced": "warn", "plugins": chain}
    secrets = {"secrets": '{"ml/hf": {"token": "hunter2"}}'}
    with_pulumi = project.settings({**KUBECONFIG, **handed, **secrets})
    project.has((project.root / "stacks/Pulumi.dev.yaml").read_text() + KEY)
    assert with_pulumi == project.settings(None)


def test_a_setting_that_is_encrypted_as_a_whole_is_refused_with_pulumi_too(project: Project) -> None:
    project.has("config:\n  inferfleet:plugins: {secure: v1:abc}\n" + KEY)
    handed = KUBECONFIG | {"plugins": '[{"name": "demo-pod-tweaks"}]'}
    expected = [
        "stacks/Pulumi.dev.yaml:2: inferfleet:plugins: setting plugins is encrypted as a whole, so a plan "
        "without Pulumi cannot read it. Set it without --secret"
    ]
    assert (project.problems(), project.problems(handed)) == (expected, expected)


def test_secrets_and_kubeconfigs_may_come_from_an_environment(project: Project) -> None:
    project.has("environment: [prod]\n")
    handed = KUBECONFIG | {"secrets": '{"ml/hf": {"token": "hunter2"}}'}
    assert project.settings(handed) == Settings(stack="dev", secrets={"ml/hf": ("token",)})
    assert project.settings(None) == Settings(stack="dev")


def test_a_setting_in_the_project_file_is_refused_with_and_without_pulumi(project: Project) -> None:
    project.file("Pulumi.yaml", "name: inferfleet\nconfig:\n  inferfleet:await: applied\n  locked: false\n")
    project.has(f"config:\n{KEY}")
    expected = [
        f"Pulumi.yaml:{line}: setting {key} is in Pulumi.yaml, where commands without Pulumi do not read it. "
        f"Write it into stacks/Pulumi.dev.yaml, as inferfleet:{key}"
        for line, key in ((3, "await"), (4, "locked"))
    ]
    assert project.problems() == expected
    both = [
        f"stacks/Pulumi.dev.yaml:1: inferfleet:await: setting await as Pulumi hands it over is not in the "
        f"stack's file, {UNSEEN}. {STEP}"
    ]
    assert project.problems(KUBECONFIG | {"await": "applied"}) == [*expected, *both]


def test_an_environment_in_the_file_of_the_stack_sets_nothing(project: Project) -> None:
    project.has(
        "environment:\n  values:\n    pulumiConfig: {'inferfleet:locked': false, 'inferfleet:key': x}\n"
    )
    assert project.problems() == [
        "stacks/Pulumi.dev.yaml:1: inferfleet:locked: setting locked is in the environment of the stack, "
        "which only Pulumi reads. Write it into stacks/Pulumi.dev.yaml below config, as inferfleet:locked"
    ]


def test_a_key_without_a_namespace_is_one_of_a_project_with_another_name(project: Project) -> None:
    project.file("Pulumi.yaml", "name: fleet\n")
    project.has(f"config:\n  locked: true\n{KEY}")
    assert project.problems() == [
        "stacks/Pulumi.dev.yaml:2: inferfleet:locked: key locked has no namespace, so Pulumi reads it as one "
        "of project fleet. Write inferfleet:locked"
    ]
