"""A stack's files, settings and documents."""

from pathlib import Path
from typing import Any

import pytest

from inferfleet.documents import InvalidDocuments, Problem, Where
from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.project import StackFiles, find_root
from inferfleet.documents.loading.settings import read_settings
from inferfleet.documents.loading.stack import load_stack

CLUSTER = (
    "apiVersion: inferfleet.dev/v1alpha1\nkind: InferenceCluster\nmetadata: {name: east}\nspec:\n"
    "  cluster: {source: Existing, existing: {kubeconfig: {configKey: eastKubeconfig}}}\n"
    "  nodePools: [{name: l4, className: l4, nodeCount: 2}]\n"
    "  serving: {gateway: {className: istio}}\n"
)
CLASS = (
    "apiVersion: inferfleet.dev/v1alpha1\nkind: InferenceClass\nmetadata: {name: l4}\nspec:\n"
    "  node: {cpu: 8, memory: 32Gi}\n  resources: {gpu: {count: 1, memory: 24Gi}}\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: inferfleet\n")
    (tmp_path / "stacks/dev").mkdir(parents=True)
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes/l4.yaml").write_text(CLASS)
    (tmp_path / "stacks/dev/east.yaml").write_text(CLUSTER)
    return tmp_path


def configure(project: Path, text: str) -> None:
    (project / "stacks/Pulumi.dev.yaml").write_text(text)


def problems_of(project: Path, stack: str = "dev", config: dict[str, Any] | None = None) -> list[Problem]:
    with pytest.raises(InvalidDocuments) as raised:
        load_stack(project, stack, config=config, base=project)
    return list(raised.value.problems)


def test_a_stack_is_its_settings_and_its_documents(project: Path) -> None:
    configure(
        project,
        "config:\n  gcp:project: 0123\n  inferfleet:locked: true\n  inferfleet:plugins:\n    - name: tweak\n"
        "  inferfleet:eastKubeconfig: {secure: v1:abc}\n",
    )
    documents, files = load_stack(project, "dev", base=project)
    assert documents.settings == Settings(stack="dev", locked=True, plugins=(PluginSpec(name="tweak"),))
    assert (list(documents.classes), list(documents.clusters)) == (["l4"], ["east"])
    assert documents.where("Settings", "dev", "plugins[0].config") == Where("stacks/Pulumi.dev.yaml", 5)
    assert files == StackFiles(project, "dev")
    assert files.lock_file == project / "stacks/dev/placement.lock"


def test_a_key_without_a_namespace_is_a_setting_as_pulumi_reads_it(project: Path) -> None:
    configure(project, "config:\n  locked: true\n  unplaced: nonsense\n  gcp:project: x\n")
    problem = problems_of(project)[0]
    assert (problem.where, problem.path) == (Where("stacks/Pulumi.dev.yaml", 3), "inferfleet:unplaced")
    assert problem.what == "unplaced 'nonsense' is not one of error, errorOnLoss, warn"


def test_pulumi_may_hand_over_the_configuration(project: Path) -> None:
    configure(project, "config: {'inferfleet:locked': false, 'inferfleet:plugins': [{name: tweak}]}\n")
    config = {"locked": "false", "plugins": '[{"name": "tweak"}]', "eastKubeconfig": "apiVersion: v1"}
    documents, _ = load_stack(project, "dev", config=config)
    assert documents.settings == Settings(stack="dev", locked=False, plugins=(PluginSpec(name="tweak"),))


def test_documents_may_be_in_another_folder(project: Path) -> None:
    (project / "stacks/dev").rename(project / "fleet")
    configure(project, "config: {'inferfleet:documents': fleet, 'inferfleet:eastKubeconfig': x}\n")
    documents, files = load_stack(project, "dev")
    assert list(documents.clusters) == ["east"]
    assert files.lock_file == project / "fleet/placement.lock"


def test_of_secrets_only_the_names_are_kept(project: Path) -> None:
    configure(
        project,
        "config:\n  inferfleet:secrets:\n    ml/hf: {token: {secure: v1:abc}, user: me}\n"
        "    ml/pull: {a: b}\n",
    )
    assert read_settings(StackFiles(project, "dev")) == Settings(
        stack="dev", secrets={"ml/hf": ("token", "user"), "ml/pull": ("a",)}
    )


def test_a_stack_without_a_settings_file_has_the_defaults(project: Path) -> None:
    assert read_settings(StackFiles(project, "dev")) == Settings(stack="dev")


def test_problems_of_settings_and_documents_come_together(project: Path) -> None:
    configure(
        project,
        "config:\n  inferfleet:unplacd: warn\n  inferfleet:await: soon\n  inferfleet:locked: 1\n"
        "  inferfleet:secrets: {hf: {token: {secure: v1:abc}}}\n  inferfleet:stray: x\n",
    )
    assert [str(problem) for problem in problems_of(project)] == [
        "stacks/Pulumi.dev.yaml:2: inferfleet:unplacd: 'unplacd' is neither a setting "
        "nor the configKey of a cluster. Did you mean unplaced?",
        "stacks/Pulumi.dev.yaml:3: inferfleet:await: await 'soon' is not one of ready, applied. "
        "Choose one: applied, ready",
        "stacks/Pulumi.dev.yaml:4: inferfleet:locked: locked must be true or false, not 1. "
        "Write true or false",
        "stacks/Pulumi.dev.yaml:5: inferfleet:secrets.hf: secret 'hf' must be named namespace/name, "
        "in lowercase. Write it like ml/hf-token",
        "stacks/Pulumi.dev.yaml:6: inferfleet:stray: 'stray' is neither a setting "
        "nor the configKey of a cluster. "
        "Known settings: allowedPlugins, await, documents, locked, objective, plugins, "
        "podSecurity, secrets, trustRepositoryKubeconfigs, unplaced",
        "stacks/dev/east.yaml:5: spec.cluster.existing.kubeconfig.configKey: the kubeconfig of cluster "
        "east is not in the configuration of stack dev. "
        "Set it: pulumi config set --secret inferfleet:eastKubeconfig < FILE",
    ]


def test_no_message_shows_the_value_of_a_secret(project: Path) -> None:
    config = {"secrets": {"ml/hf": "hunter2", "x": {"y": ["hunter2"]}}, "eastKubeconfig": "hunter2"}
    problems = problems_of(project, config=config)
    assert len(problems) == 3
    assert "hunter2" not in "".join(map(str, problems))


SHAPES = [
    "{ml/hf: {token: 0987654321}}",
    "{ml/hf: {token: 9876543210123456789012345}}",
    "{ml/hf: {token: 9876e98765}}",
    "{ml/hf: {token: 0x98765}}",
    "{ml/hf: {token: !98765 x}}",
    "{ml/hf: {token: !!int a98765}}",
    "{ml/hf: {token: *98765}}",
    "{ml/hf: {98765: x}}",
    "{ml/hf: {token: {secure: x, y: 98765}}}",
    "{ml/hf: {token: [98765]}}",
    "{ml/hf: {token: .98765}}",
    "{ml/hf: 98765}",
    "{ml/hf: [98765]}",
    "98765",
    "'{98765'",
    "'98765'",
]


@pytest.mark.parametrize("written", SHAPES)
def test_a_value_of_a_secret_is_not_shown_in_whatever_form_it_is_written(project: Path, written: str) -> None:
    configure(project, f"config:\n  inferfleet:secrets: {written}\n")
    messages = [str(problem) for problem in problems_of(project)]
    assert messages
    assert [message for message in messages if "8765" in message] == []


def test_a_secret_in_plain_text_is_a_warning(project: Path) -> None:
    configure(
        project,
        "config:\n  inferfleet:secrets:\n    ml/hf: {token: {secure: v1:abc}}\n"
        "    ml/b:\n      key: hunter2\n  inferfleet:eastKubeconfig: {secure: v1:abc}\n",
    )
    documents, _ = load_stack(project, "dev", base=project)
    assert [(problem.severity, str(problem)) for problem in documents.notices] == [
        (
            "warning",
            "stacks/Pulumi.dev.yaml:5: inferfleet:secrets[\"ml/b\"].key: value 'key' of secret ml/b is in "
            "plain text in the file. Rotate it if others can read the repository, and encrypt it: "
            "pulumi config set --secret --path 'inferfleet:secrets[\"ml/b\"].key'",
        )
    ]
    decrypted = {"secrets": {"ml/hf": {"token": "x"}, "ml/b": {"key": "hunter2"}}, "eastKubeconfig": "x"}
    assert load_stack(project, "dev", config=decrypted, base=project)[0].notices == documents.notices


def test_secrets_of_other_programs_in_plain_text_are_warnings(project: Path) -> None:
    configure(
        project,
        'config:\n  gcp:accessToken: ya29.hunter2\n  gcp:credentials: \'{"private_key": "hunter2"}\'\n'
        "  kubernetes:kubeconfig: |\n    users:\n    - user: {token: hunter2}\n"
        "  inferfleet:eastKubeconfig: {secure: v1:abc}\n",
    )
    documents, _ = load_stack(project, "dev", base=project)
    step = (
        "Revoke it if others can read the repository, and encrypt its successor: pulumi config set --secret"
    )
    assert [(problem.severity, str(problem)) for problem in documents.notices] == [
        (
            "warning",
            f"stacks/Pulumi.dev.yaml:{line}: {key}: {key} is a secret, and is in plain text in the file. "
            f"{step} {key}",
        )
        for line, key in ((2, "gcp:accessToken"), (3, "gcp:credentials"), (4, "kubernetes:kubeconfig"))
    ]


def test_encrypted_values_paths_and_kubeconfigs_without_a_secret_are_no_warnings(project: Path) -> None:
    configure(
        project,
        "config:\n  gcp:accessToken: {secure: v1:abc}\n  gcp:credentials: ../key.json\n"
        '  kubernetes:kubeconfig: \'{"users": [{"user": {"exec": {"command": "fetch"}}}]}\'\n'
        "  inferfleet:eastKubeconfig: {secure: v1:abc}\n",
    )
    assert load_stack(project, "dev", base=project)[0].notices == ()


def test_a_value_of_a_secret_that_is_no_text_comes_with_the_command_that_sets_it(project: Path) -> None:
    config = {"secrets": {"ml/hf": {"token": 7, "tls.key": []}}, "eastKubeconfig": "x"}
    assert [problem.next_step for problem in problems_of(project, config=config)] == [
        """Set it: pulumi config set --secret --path 'inferfleet:secrets["ml/hf"].token'""",
        """Set it: pulumi config set --secret --path 'inferfleet:secrets["ml/hf"]["tls.key"]'""",
    ]


def test_secrets_are_not_encrypted_as_a_whole(project: Path) -> None:
    configure(project, "config:\n  inferfleet:secrets: {secure: v1:abc}\n")
    (project / "stacks/dev/east.yaml").unlink()
    assert problems_of(project) == [
        Problem(
            "setting secrets is encrypted as a whole, so a plan without Pulumi cannot read it",
            "Encrypt single values: pulumi config set --secret --path "
            """'inferfleet:secrets["ns/name"].key'""",
            "inferfleet:secrets",
            Where("stacks/Pulumi.dev.yaml", 2),
            kind="Settings",
            key="dev",
        )
    ]


def test_a_mistyped_stack_is_told_the_nearest_one(project: Path) -> None:
    what = f"stack 'dv' has neither settings nor documents in {project / 'stacks'}"
    assert problems_of(project, "dv") == [Problem(what, "Did you mean dev?")]


@pytest.mark.parametrize("stack", ["", "..", "../dev", "nul\0", "a/b"])
def test_a_stack_name_never_leads_out_of_the_folder(project: Path, stack: str) -> None:
    assert len(problems_of(project, stack)) == 1


def test_a_folder_of_documents_that_is_not_there_is_a_problem(project: Path) -> None:
    configure(project, "config:\n  inferfleet:documents: nope\n")
    assert problems_of(project) == [
        Problem(
            f"the folder of documents {project / 'nope'} does not exist",
            "Create it, or set inferfleet:documents to another",
            "inferfleet:documents",
            Where("stacks/Pulumi.dev.yaml", 2),
            kind="Settings",
            key="dev",
        )
    ]


@pytest.mark.parametrize("text", ["- 1", "config: 3", "config: [", "a\n---\nb"])
def test_a_settings_file_of_another_shape_is_a_problem(project: Path, text: str) -> None:
    configure(project, text)
    assert Where("stacks/Pulumi.dev.yaml", 1) in [problem.where for problem in problems_of(project)]


def test_the_root_is_found_from_below(project: Path) -> None:
    assert find_root(project / "stacks/dev") == project


def test_a_folder_outside_of_any_project_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocuments, match=r"contains a Pulumi\.yaml\. Change to the folder"):
        find_root(tmp_path)
