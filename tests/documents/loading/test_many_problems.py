"""Problems that lie between documents and files, all reported at once."""

from collections.abc import Callable

from fleet_text import BASE

from inferfleet.documents import Problem, Where


def test_two_documents_of_one_name_are_told_with_both_places(
    problems_in: Callable[..., list[Problem]],
) -> None:
    deployment = BASE.split("---\n")[2]
    assert problems_in(BASE, b=deployment) == [
        Problem(
            "another ModelDeployment is already named ml/qwen, at a.yaml:19",
            "Rename or remove one of the two",
            "metadata.name",
            Where("b.yaml", 3),
            kind="ModelDeployment",
            key="ml/qwen",
        )
    ]


def test_a_problem_names_its_document_as_far_as_that_is_known(
    problems_in: Callable[..., list[Problem]],
) -> None:
    mistaken = BASE.replace("replicas: 2", "replicas: x").replace("className: l4", "className: l40")
    problems = problems_in(mistaken)
    assert [(problem.kind, problem.key, problem.path) for problem in problems] == [
        ("InferenceCluster", "east", "spec.nodePools[0].className"),
        ("ModelDeployment", "ml/qwen", "spec.replicas"),
    ]
    nameless = (
        "apiVersion: inferfleet.dev/v1alpha1\nkind: ModelService\nspec: {endpoints: [{selector: {}}]}\n"
    )
    problems = problems_in(mistaken, b=nameless, c="kind: Nope\n", d="a: [")
    assert [(problem.kind, problem.key, problem.path) for problem in problems] == [
        ("ModelDeployment", "ml/qwen", "spec.replicas"),
        ("ModelService", "", "metadata"),
        ("", "", "apiVersion"),
        ("", "", "kind"),
        ("", "", ""),
    ]


def test_all_mistakes_of_all_files_come_at_once_in_reading_order(
    problems_in: Callable[..., list[Problem]],
) -> None:
    first = BASE.replace("32Gi", "32Gb").replace("replicas: 2", "replicas: 010").replace("type:", "typ:")
    assert [str(problem) for problem in problems_in(first, b="kind: [", c="- 1\n---\n3")] == [
        "a.yaml:5: spec.node.memory: '32Gb' is not a Kubernetes quantity. Write 32Gi, "
        "or 32G for powers of ten",
        "a.yaml:21: spec.replicas: 010 starts with 0, which some YAML parsers read as octal and others as "
        "decimal. Write 0o10 for an octal number such as a file mode, 10 for a decimal one, or quote it as "
        "text",
        "a.yaml:22: spec.engine.typ: unknown field 'typ'. Did you mean type?",
        "b.yaml:1: not valid YAML: a value is expected here. Fix the syntax on this line or just before it",
        "c.yaml:1: a document must be a map with apiVersion and kind, not a list. "
        "Write apiVersion, kind, metadata and spec",
        "c.yaml:3: a document must be a map with apiVersion and kind, not 3. "
        "Write apiVersion, kind, metadata and spec",
    ]


def test_a_class_is_not_missed_when_it_may_stand_in_a_broken_file(
    problems_in: Callable[..., list[Problem]],
) -> None:
    problems = problems_in(BASE.split("---\n")[1], b="kind: [")
    assert [problem.where for problem in problems] == [Where("b.yaml", 1)]


def test_a_class_with_problems_of_its_own_is_not_missed(problems_in: Callable[..., list[Problem]]) -> None:
    problems = problems_in(BASE.replace("32Gi", "32Gb"))
    assert [problem.path for problem in problems] == ["spec.node.memory"]
