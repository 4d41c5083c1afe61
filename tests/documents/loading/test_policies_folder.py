"""The folder of policies: what it may hold, and who may waive what it says."""

from pathlib import Path

import pytest
from fleet_of_one import CLASS

from inferfleet.documents import InvalidDocuments, Problem, Where
from inferfleet.documents.loading.stack import load_stack

HEAD = "apiVersion: inferfleet.dev/v1alpha1\nkind: "
QUOTA = f"{HEAD}Quota\nmetadata: {{name: ml, namespace: ml}}\nspec: {{gpus: 4}}\n"
SERVICE = (
    f"{HEAD}ModelService\nmetadata: {{name: coder}}\n"
    "spec: {endpoints: [{selector: {matchLabels: {family: qwen}}}]}\n"
)
POLICY = f"{HEAD}Policy\nmetadata: {{name: small}}\nspec: {{each: model, cel: model.gpus < 9, message: m}}\n"
WAIVER = (
    f"{HEAD}Waiver\nmetadata: {{name: w}}\nspec: {{policy: small, until: '2026-12-31', reason: a launch}}\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("stacks/dev", "policies", "classes"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "Pulumi.yaml").write_text("name: inferfleet\n")
    (tmp_path / "classes/l4.yaml").write_text(CLASS)
    return tmp_path


def problems_of(project: Path) -> list[Problem]:
    with pytest.raises(InvalidDocuments) as raised:
        load_stack(project, "dev", base=project)
    return list(raised.value.problems)


def test_it_holds_nothing_but_what_is_of_all_stacks(project: Path) -> None:
    (project / "policies/all.yaml").write_text(QUOTA)
    documents, _ = load_stack(project, "dev", base=project)
    assert (list(documents.quotas), documents.of_all_stacks) == (["ml/ml"], {("Quota", "ml/ml")})
    (project / "policies/all.yaml").write_text(f"{QUOTA}---\n{SERVICE}")
    what = "the folder policies may contain Policies, Waivers and Quotas only, not ModelServices"
    next_step = "Move it to the documents of a stack"
    where = Where("policies/all.yaml", 7)
    assert problems_of(project) == [
        Problem(what, next_step, "kind", where, kind="ModelService", key="default/coder")
    ]


@pytest.mark.parametrize("folder", ["policies", "policies/dev"])
def test_no_stack_has_its_documents_among_the_policies_of_all(project: Path, folder: str) -> None:
    (project / "policies/dev").mkdir()
    (project / "stacks/Pulumi.dev.yaml").write_text(f"config:\n  inferfleet:documents: {folder}\n")
    assert problems_of(project) == [
        Problem(
            f"the folder of documents {project / folder} is in the one with the policies of all stacks, "
            "whose owners are not a stack's",
            "Move the documents into a folder of their own, and set inferfleet:documents to another",
            "inferfleet:documents",
            Where("stacks/Pulumi.dev.yaml", 2),
            kind="Settings",
            key="dev",
        )
    ]


def test_a_policy_of_all_stacks_is_not_waived_by_a_stack(project: Path) -> None:
    (project / "policies/all.yaml").write_text(POLICY)
    (project / "stacks/dev/all.yaml").write_text(WAIVER)
    what = "waiver w is outside of the folder policies, where policy small is (policies/all.yaml:3)"
    next_step = "Move the waiver there, where the owners of the policy review it"
    where = Where("stacks/dev/all.yaml", 4)
    assert problems_of(project) == [Problem(what, next_step, "spec.policy", where, kind="Waiver", key="w")]


def test_a_link_into_the_folder_does_not_make_a_waiver_one_of_all_stacks(project: Path) -> None:
    """Whoever owns the folder would not see what is written behind the link."""
    (project / "policies/all.yaml").write_text(POLICY)
    (project / "stacks/dev/all.yaml").write_text(WAIVER)
    (project / "policies/waivers.yaml").symlink_to("../stacks/dev/all.yaml")
    assert [problem.key for problem in problems_of(project)] == ["w"]


@pytest.mark.parametrize(
    ("policy", "waiver"), [("policies", "policies"), ("stacks/dev", "stacks/dev"), ("stacks/dev", "policies")]
)
def test_a_waiver_beside_its_policy_or_in_the_folder_holds(project: Path, policy: str, waiver: str) -> None:
    (project / policy / "policy.yaml").write_text(POLICY)
    (project / waiver / "waiver.yaml").write_text(WAIVER)
    documents, _ = load_stack(project, "dev", base=project)
    assert (list(documents.policies), list(documents.waivers)) == (["small"], ["w"])
