"""Numbers where text belongs: what is told first is what is wrong in the end."""

import pytest

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.loading.validation import validated
from inferfleet.documents.yaml import texts

DOCUMENT = """
metadata: {{name: {name}}}
spec:
  cluster: {{source: GKE, gke: {{project: {project}, region: us-east5, minVersion: {version}}}}}
  nodePools: {pools}
  serving: {{}}
"""


def told(
    *, name: str = "east", project: str = "acme-ml", version: str = '"1.34"', pools: str = "[]"
) -> list[str]:
    written = DOCUMENT.format(name=name, project=project, version=version, pools=pools)
    (text,) = texts(written)
    _, problems = validated(InferenceCluster, text.data)
    return [
        f"{problem.what}. {problem.next_step}"
        for problem in problems
        if "nodePools must not" not in problem.what
    ]


@pytest.mark.parametrize(
    ("field", "written", "words"),
    [
        ("version", "1.30", "minVersion must be text, not 1.30. Quote it"),
        (
            "project",
            "123456789012",
            "project must be text, not 123456789012, and as text too project '123456789012' must be a "
            "project ID: 6 to 30 lowercase letters, digits and '-'. Change it",
        ),
        (
            "name",
            "1",
            "name must be text, not 1, and as text too name '1' must be lowercase letters, digits and '-', "
            "start with a letter, not end with '-', at most 24 characters. Change it",
        ),
        (
            "pools",
            "null",
            "nodePools must be a list, not nothing. Write a list: each entry on a line of its own that "
            "begins with '- ', or all in [ ]",
        ),
    ],
)
def test_the_next_step_does_not_lead_to_a_second_problem(field: str, written: str, words: str) -> None:
    assert told(**{field: written}) == [words]
