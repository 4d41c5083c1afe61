"""What an API server refuses of an update is told by previews in its words, at the line that it is about."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from asking import until
from documents import Document, deployment
from project import Project

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


OTHER = "docker.io/vllm/vllm-openai:v0.31.0"


@pytest.fixture(scope="module")
def deployed(standing: Project) -> Iterator[Project]:
    """One model that runs on the eastern cluster."""
    standing.write("models", deployment("one", on="east"))
    done = standing.up()
    assert done.code == 0, done.output
    yield standing
    standing.write("models", deployment("one", on="east"))


def told(output: str) -> list[str]:
    """What an output says of API servers, each line once and as it is."""
    lines = (line.strip() for line in output.splitlines() if "API server" in line)
    texts = (line.partition("error: ")[2] or line.partition("warning: ")[2] or line for line in lines)
    return sorted(set(texts))


def place(project: Project, text: str) -> str:
    """File and line where the models say a text first."""
    lines = (project.documents / "models.yaml").read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if text in line)
    return f"stacks/{project.stack}/models.yaml:{number}"


@contextmanager
def standing_by(project: Project, folder: Path, *manifests: dict[str, Any]) -> Iterator[None]:
    """With these objects on the eastern cluster until the block ends."""
    file = folder / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)}))
    project.kubectl("east", "apply", "-f", str(file))
    try:
        yield
    finally:
        project.kubectl("east", "delete", "-f", str(file))


def policy_holds(project: Project) -> bool:
    """Whether the API server knows its own policy already."""
    flags = ("create", "deployment", "it", f"--image={LATEST}", "--namespace=ml", "--dry-run=server")
    try:
        project.kubectl("east", *flags)
    except RuntimeError as refused:
        return "denied request" in str(refused)
    return False


def dry_runs(project: Project) -> int:
    """How many dry runs the eastern API server has answered."""
    metrics = project.kubectl("east", "get", "--raw", "/metrics").splitlines()
    counted = (line for line in metrics if line.startswith("apiserver_request_total{"))
    return sum(int(line.rpartition(" ")[2]) for line in counted if 'dry_run="All"' in line)


def refused_pods() -> list[Document]:
    one, two = deployment("one", on="east"), deployment("two", on="east")
    for each in (one, two):
        each["spec"]["workers"]["template"]["spec"]["tolerations"] = [
            {"key": "team", "operator": "Exists", "value": "ml"}
        ]
    helper = {
        "name": "helper",
        "image": "some/helper:v1",
        "ports": [{"containerPort": 9000, "hostPort": 9001}],
        "securityContext": {"privileged": True, "allowPrivilegeEscalation": False},
    }
    spec = one["spec"]["workers"]["template"]["spec"]
    spec["containers"].insert(0, helper)
    spec["hostNetwork"] = True
    return [one, two]


def test_pods_that_the_api_server_refuses_are_told_at_their_lines_before_their_namespace_is_there(
    standing: Project,
) -> None:
    standing.write("models", *refused_pods())
    refused = standing.preview()
    pods, generated = "spec.workers.template.spec", "spec.template.spec"
    server, of_one = "the API server of cluster 'east' refuses", "of Deployment ml/one-decode-l4"
    assert refused.code != 0
    assert [re.sub(r"\{[^}]*\}", "{...}", line) for line in told(refused.output)] == [
        f"{place(standing, 'hostPort')}: {pods}.containers[0].ports[0].hostPort: {server} "
        f"{generated}.containers[0].ports[0].hostPort {of_one}: Invalid value: 9001: must match "
        "`containerPort` when `hostNetwork` is true. Correct it",
        f"{place(standing, 'securityContext')}: {pods}.containers[0].securityContext: {server} "
        f"{generated}.containers[0].securityContext {of_one}: Invalid value: {{...}}: cannot set "
        "`allowPrivilegeEscalation` to false and `privileged` to true. Correct it",
        f"{place(standing, 'operator')}: {pods}.tolerations[0].operator: {server} "
        f"{generated}.tolerations[0].operator {of_one} (and Deployment ml/two-decode-l4): Invalid value: "
        "\"ml\": value must be empty when `operator` is 'Exists'. Correct it",
    ]
    assert standing.state() in ([], ["Stack inferfleet-e2e"])


def test_what_does_not_change_is_not_asked_and_what_changes_is_asked_once(deployed: Project) -> None:
    deployed.write("models", deployment("one", on="east"))
    assert deployed.preview().code == 0
    before = dry_runs(deployed)
    assert deployed.preview().code == 0
    assert dry_runs(deployed) == before
    deployed.write("models", deployment("one", on="east", image=OTHER))
    assert deployed.preview().code == 0
    # Once by us, and once by the engine.
    assert dry_runs(deployed) == before + 2


def test_the_words_of_a_policy_of_the_cluster_are_told(deployed: Project, tmp_path: Path) -> None:
    deployed.write("models", deployment("one", on="east", image=LATEST))
    with standing_by(deployed, tmp_path, POLICY, BINDING):
        until("the API server knows the policy", lambda: policy_holds(deployed))
        refused = deployed.preview()
    assert refused.code != 0
    assert told(refused.output) == [
        f"{place(deployed, 'workers:')}: spec.workers: the API server of cluster 'east' refuses Deployment "
        "ml/one-decode-l4: deployments.apps \"one-decode-l4\" is forbidden: ValidatingAdmissionPolicy 'tags' "
        "with binding 'tags' denied request: images need a tag that stays. Change what it names, or have "
        "whoever keeps this rule on the cluster change it"
    ]


def test_a_field_that_somebody_else_has_set_is_told_with_who_it_was(
    deployed: Project, tmp_path: Path
) -> None:
    deployed.write("models", deployment("one", on="east"))
    theirs = tmp_path / "theirs.json"
    metadata = {"name": "one-decode-l4", "namespace": "ml"}
    spec = {"progressDeadlineSeconds": 77}
    theirs.write_text(
        json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    )
    flags = ("apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", str(theirs))
    deployed.kubectl("east", *flags)
    # An update does not write what only others have changed.
    assert told(deployed.preview().output) == []
    deployed.write("models", deployment("one", on="east", image=OTHER))
    refused = deployed.preview()
    theirs.write_text(json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}))
    deployed.kubectl("east", *flags)
    assert refused.code != 0
    assert told(refused.output) == [
        f"{place(deployed, 'workers:')}: spec.workers: the API server of cluster 'east' refuses Deployment "
        'ml/one-decode-l4: Apply failed with 1 conflict: conflict with "other": '
        ".spec.progressDeadlineSeconds. Let whoever has set it give it up (`kubectl get "
        "--show-managed-fields -o yaml` shows who), or leave it out here"
    ]


def test_an_account_that_may_only_read_has_a_preview_and_one_line_says_what_is_missing(
    deployed: Project, tmp_path: Path
) -> None:
    deployed.write("models", deployment("one", on="east", image=OTHER), deployment("two", on="east"))
    kubeconfig = deployed.root / ".sandbox" / deployed.stack / "east.kubeconfig"
    whole = kubeconfig.read_text()
    with standing_by(deployed, tmp_path, *yaml.safe_load_all(READER)):
        token = deployed.kubectl("east", "create", "token", "default", "--namespace=default").strip()
        reader = yaml.safe_load(whole)
        reader["users"][0]["user"] = {"token": token}
        kubeconfig.write_text(yaml.safe_dump(reader))
        try:
            previewed = deployed.preview()
        finally:
            kubeconfig.write_text(whole)
    assert previewed.code == 0, previewed.output
    [line] = told(previewed.output)
    assert line.startswith(
        f"stacks/{deployed.stack}/clusters.yaml:10: spec.cluster.existing.kubeconfig: the credentials of "
        "cluster 'east' may not patch or create "
    )
