"""What is no document of inferfleet is named as what it is."""

from collections.abc import Callable

import pytest
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, SERVICE

from inferfleet.documents import Problem, Where

OUTSIDE = "Keep it out of this folder"
SECRET = (
    "Remove it, and set the values: "
    """pulumi config set --secret --path 'inferfleet:secrets["NAMESPACE/NAME"].KEY'"""
)


@pytest.mark.parametrize(
    ("version", "kind", "system", "next_step"),
    [
        ("v1", "Secret", "Kubernetes", SECRET),
        ("v1", "Service", "Kubernetes", OUTSIDE),
        ("apps/v1", "Deployment", "apps", OUTSIDE),
        ("gateway.networking.k8s.io/v1", "Gateway", "gateway.networking.k8s.io", OUTSIDE),
        ("modelplane.ai/v1alpha1", "ModelDeployment", "Modelplane", OUTSIDE),
        ("model.otterscale.io/v1alpha1", "ModelService", "OtterScale", OUTSIDE),
        ("networking.serving.volcano.sh/v1alpha1", "ModelRoute", "Kthena", OUTSIDE),
        ("serving.kserve.io/v1beta1", "InferenceService", "KServe", OUTSIDE),
        ("llm-d.ai/v1alpha1", "EndpointPickerConfig", "llm-d", OUTSIDE),
    ],
)  # fmt: skip
def test_kinds_of_other_systems_are_named(
    problems_in: Callable[..., list[Problem]], version: str, kind: str, system: str, next_step: str
) -> None:
    what = f"{kind} is a kind of {system}, which inferfleet does not read"
    assert problems_in(f"apiVersion: {version}\nkind: {kind}\n") == [
        Problem(what, next_step, "kind", Where("a.yaml", 2))
    ]


def test_our_kinds_with_a_wrong_version_are_told_the_right_one(
    problems_in: Callable[..., list[Problem]],
) -> None:
    for version in ("v1", "inferfleet.dev/v1", "v1alpha1"):
        (problem,) = problems_in(DEPLOYMENT.replace("inferfleet.dev/v1alpha1", version))
        assert problem.next_step == "Write apiVersion: inferfleet.dev/v1alpha1"


def test_each_missing_line_between_documents_is_one_problem(
    problems_in: Callable[..., list[Problem]],
) -> None:
    text = CLASS + CLUSTER + SERVICE
    lines = [text[: text.index(document)].count("\n") + 1 for document in (CLUSTER, SERVICE)]
    what = "a second document begins here (apiVersion), without a line --- before it"
    assert [(problem.where, problem.what) for problem in problems_in(text)] == [
        (Where("a.yaml", line), what) for line in lines
    ]


def test_a_single_field_twice_is_a_field_twice(problems_in: Callable[..., list[Problem]]) -> None:
    (problem,) = problems_in(DEPLOYMENT + "kind: ModelDeployment\n")
    assert problem.what == "key 'kind' is set twice in one map, first on line 2"


def test_without_any_class_the_folder_is_named(problems_in: Callable[..., list[Problem]]) -> None:
    (problem,) = problems_in(CLUSTER)
    assert problem.next_step == "There is no class at all: write an InferenceClass into the folder classes"


def test_separators_that_editors_do_not_count_shift_no_lines(
    problems_in: Callable[..., list[Problem]],
) -> None:
    text = DEPLOYMENT.replace("qwen,", '"a\u2028b\u2029c\x85d",').replace("replicas: 1", "replicas: 010")
    assert {problem.where for problem in problems_in(text)} == {Where("a.yaml", 3), Where("a.yaml", 5)}
