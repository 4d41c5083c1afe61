"""What an API server refuses of an update is told by previews in its words, at the line that it is about."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import Document, deployment
from project import Project

# What the shape of templates has to be is checked before; what API servers know besides shows without that.
UNCHECKED = """
from inferfleet.api.kinds import pod_template
from inferfleet.manifests.pod import clashes

pod_template.spec_mistakes = lambda spec: ()
clashes.packed_mistakes = lambda packed: ()
"""
LATEST = "docker.io/vllm/vllm-openai:latest"
_TAGS = "object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))"
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "tags"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": ["apps"],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["deployments"],
                }
            ]
        },
        "validations": [{"expression": _TAGS, "message": "images need a tag that stays"}],
    },
}
BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "tags"},
    "spec": {"policyName": "tags", "validationActions": ["Deny"]},
}
# It is never called: a dry run does not get as far, and nothing else matches.
WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "ledger"},
    "webhooks": [
        {
            "name": "ledger.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "Some",
            "clientConfig": {"url": "https://ledger.example.com/"},
            "rules": POLICY["spec"]["matchConstraints"]["resourceRules"],  # type: ignore[index]
        }
    ],
}
READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reads}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
"""


@pytest.fixture(scope="module")
def deployed(standing: Project) -> Iterator[Project]:
    """One model that runs on the eastern cluster."""
    standing.write("models", deployment("one", on="east"))
    done = standing.up()
    assert done.code == 0, done.output
    yield standing
    standing.write("models", deployment("one", on="east"))


def told(output: str) -> list[str]:
    """The lines of an output in which an API server is spoken of, each once."""
    lines = (line.strip() for line in output.splitlines() if "API server" in line or "was not asked" in line)
    return sorted({line.partition(": stacks/")[2] or line.removeprefix("stacks/") for line in lines})


def line_of(project: Project, text: str) -> str:
    lines = (project.documents / "models.yaml").read_text().splitlines()
    return (
        f"{project.stack}/models.yaml:{next(number for number, line in enumerate(lines, 1) if text in line)}"
    )


def applied(project: Project, folder: Path, *manifests: dict[str, Any]) -> Path:
    file = folder / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)}))
    project.kubectl("east", "apply", "-f", str(file))
    return file


def tried(project: Project) -> str:
    """What the API server says to a Deployment that nobody has; it takes a while to know its own rules."""
    flags = ("create", "deployment", "it", f"--image={LATEST}", "--namespace=ml", "--dry-run=server")
    try:
        return project.kubectl("east", *flags)
    except RuntimeError as refused:
        return str(refused)


def refused_pods() -> list[Document]:
    one, two = deployment("one", on="east"), deployment("two", on="east")
    for each in (one, two):
        each["spec"]["workers"]["template"]["spec"]["tolerations"] = [
            {"key": "team", "operator": "Exists", "value": "ml"}
        ]
    security = {"privileged": True, "allowPrivilegeEscalation": False}
    helper = {"name": "helper", "image": "some/helper:v1", "securityContext": security}
    spec = one["spec"]["workers"]["template"]["spec"]
    spec["containers"].insert(0, helper | {"ports": [{"containerPort": 9000, "hostPort": 9001}]})
    spec["hostNetwork"] = True
    return [one, two]


def test_pods_that_the_api_server_refuses_are_told_at_their_lines_before_their_namespace_is_there(
    standing: Project,
) -> None:
    standing.write("models", *refused_pods())
    with standing.with_code(UNCHECKED):
        refused = standing.preview()
    pods = "spec.workers.template.spec"
    of_one = "spec of Deployment ml/one-decode-l4"
    assert refused.code != 0
    assert [line.replace(" refuses spec.template.spec", " refuses ") for line in told(refused.output)] == []
    assert (pods, of_one) == ("", "")
