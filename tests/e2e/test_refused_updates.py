"""Updates that are refused, interrupted or hold secrets, and what API servers take, each from nothing."""

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import documents
import pytest
from documents import deployment, east, west
from project import ROOT, Project

L4 = "NVIDIA L4"

FOREIGN = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: inferfleet, namespace: inferfleet-system}
spec: {gatewayClassName: inferfleet-sandbox, listeners: [{name: http, protocol: HTTP, port: 80}]}
"""


def test_a_gateway_of_our_name_that_is_not_ours_is_refused(project: Project, tmp_path: Path) -> None:
    manifest = tmp_path / "gateway.yaml"
    manifest.write_text(FOREIGN)
    project.write("models", deployment("one", on="east"))
    spaces = [one["metadata"]["name"] for one in project.items("east", "namespaces")]
    if "inferfleet-system" not in spaces:
        project.kubectl("east", "create", "namespace", "inferfleet-system")
    project.kubectl("east", "apply", "-f", str(manifest))
    try:
        for run in (project.preview, project.up):
            refused = run()
            assert refused.code != 0
            assert "Gateway inferfleet-system/inferfleet" in refused.output
            assert "Traceback" not in refused.output
        assert project.state() in ([], ["Stack inferfleet-e2e"])
    finally:
        project.kubectl("east", "delete", "-f", str(manifest))


def test_a_crd_without_a_field_that_is_written_is_told_before_an_update_begins(
    project: Project, tmp_path: Path
) -> None:
    crd = "httproutes.gateway.networking.k8s.io"
    whole = json.loads(project.kubectl("east", "get", "crd", crd, "--output", "json"))
    del whole["metadata"]["resourceVersion"]
    without, before, after = json.loads(json.dumps(whole)), tmp_path / "before.json", tmp_path / "after.json"
    for version in without["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        del spec["properties"]["rules"]["items"]["properties"]["timeouts"]
    before.write_text(json.dumps(whole))
    after.write_text(json.dumps(without))
    project.write("models", deployment("one", on="east"))
    project.kubectl("east", "replace", "--filename", str(after))
    try:
        for run in (project.preview, project.up):
            refused = run()
            assert refused.code != 0
            assert (
                "spec.route: the API server of cluster 'east' refuses spec.rules[0].timeouts of HTTPRoute "
                "ml/one: field not declared in schema. Run `kubectl apply"
            ) in refused.output
            assert "of cluster 'west'" not in refused.output
        assert project.state() in ([], ["Stack inferfleet-e2e"])
    finally:
        project.kubectl("east", "replace", "--filename", str(before))
    assert project.preview().code == 0


# What the pods of the next test name, in the order in which it is told.
NAMED = """
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: nothere.example.com}
spec: {volumeLifecycleModes: [Ephemeral]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: nothere, namespace: ml}
data: {rules: none}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: nothere, namespace: ml}
spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: nothere}
value: 1
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: nothere}
handler: nothere
---
apiVersion: v1
kind: Secret
metadata: {name: nothere, namespace: ml}
stringData: {token: none}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: nothere, namespace: ml}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: nothere}
provisioner: nothere.example.com
"""


def test_what_pods_name_and_nobody_made_is_told_at_its_line_before_an_update_begins(
    project: Project, tmp_path: Path
) -> None:
    env = [
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "nothere", "key": "token"}}},
        {"name": "RULES", "valueFrom": {"configMapKeyRef": {"name": "nothere", "key": "rules"}}},
    ]
    scratch = {"storageClassName": "nothere", "accessModes": ["ReadWriteOnce"]}
    scratch["resources"] = {"requests": {"storage": "1Gi"}}
    cache = {"name": "model-cache", "config": {"pvc": {"claimName": "nothere"}}}
    one = deployment("one", on="east", env=env, plugins=[cache])
    one["spec"]["workers"]["template"]["spec"] |= {
        "serviceAccountName": "nothere",
        "runtimeClassName": "nothere",
        "priorityClassName": "nothere",
        "volumes": [
            {"name": "files", "csi": {"driver": "nothere.example.com"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": scratch}}},
        ],
    }
    project.write("models", one)
    template = "spec.workers.template.spec"
    missing = {
        "ConfigMap ml/nothere": f"{template}.containers[0].env[1].valueFrom.configMapKeyRef.name",
        "CSIDriver nothere": f"{template}.volumes[0].csi.driver",
        "PersistentVolumeClaim ml/nothere": "spec.plugins[0]",
        "PriorityClass nothere": f"{template}.priorityClassName",
        "RuntimeClass nothere": f"{template}.runtimeClassName",
        "Secret ml/nothere": f"{template}.containers[0].env[0].valueFrom.secretKeyRef.name",
        "ServiceAccount ml/nothere": f"{template}.serviceAccountName",
    }
    looks = project.cli("doctor", "--stack", project.stack)
    assert looks.returncode == 5, looks.stdout
    for said in (project.preview().output, looks.stderr + looks.stdout):
        whole = " ".join(said.split())
        for title, path in missing.items():
            assert f"{path}: {title}" in whole
    # A warning, and errors stop a preview before those.
    assert "StorageClass nothere, which pods of ml/one on cluster 'east' name" in " ".join(
        looks.stderr.split()
    )
    assert project.state() in ([], ["Stack inferfleet-e2e"])

    manifest = tmp_path / "named.yaml"
    manifest.write_text(NAMED)
    if "ml" not in [space["metadata"]["name"] for space in project.items("east", "namespaces")]:
        project.kubectl("east", "create", "namespace", "ml")
    project.kubectl("east", "apply", "-f", str(manifest))
    try:
        done = project.preview()
        assert done.code == 0, done.output
        assert "does not exist" not in done.output
    finally:
        project.kubectl("east", "delete", "-f", str(manifest), "--wait=false")


def test_replicas_without_a_place_stop_no_update_unless_the_stack_says_error_or_one_would_be_lost(
    project: Project,
) -> None:
    missing = "1 of 3 replicas of ml/big found no place"
    big, one = deployment("big", gpus=8, replicas=3), deployment("one", on="east")
    project.configure(unplaced="error")
    project.write("models", big, one)
    previewed = project.preview()
    assert previewed.code == 0
    assert missing in previewed.output
    refused = project.up()
    assert refused.code != 0
    assert missing in refused.output
    assert not project.lock_file.exists()

    project.configure()
    done = project.up()
    assert done.code == 0, done.output
    assert missing in done.output

    # The update of another goes through meanwhile.
    project.write("models", big, deployment("one", on="east", image="docker.io/vllm/vllm-openai:v1"))
    other = project.up()
    assert other.code == 0, other.output
    assert missing in other.output
    assert other.operations == {"Deployment east/ml/one-decode-l4": "update"}

    # A loss is refused before anything changes, and the command line says so too.
    state, lock = project.state(), project.lock_file.read_text()
    project.write("clusters", east(state="abandoned"), west())
    lost = project.up()
    assert lost.code != 0
    assert "ml/one found no place, so nothing serves it; 1 of them runs now and would end" in lost.output
    assert "1 of 3 replicas" not in lost.output
    assert project.cli("plan", "--stack", project.stack, "--write").returncode == 3
    assert (project.state(), project.lock_file.read_text()) == (state, lock)
    project.write("clusters", east(), west())
    assert project.up().operations == {}


def test_values_of_secrets_reach_the_cluster_and_nothing_a_person_reads(project: Project) -> None:
    canary = "canary-Zx81"
    env = [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]
    project.write("models", deployment("one", on="east", env=env))
    path = 'inferfleet:secrets["ml/hf"].token'
    assert project.run("pulumi", "config", "set", "--secret", "--path", path, canary).returncode == 0
    previewed = project.preview("--diff")
    done = project.up()
    assert done.code == 0, done.output
    [secret] = [
        one for one in project.items("east", "secrets", "-n", "ml") if one["metadata"]["name"] == "hf"
    ]
    assert secret["data"] == {"token": "Y2FuYXJ5LVp4ODE="}
    rendered = project.cli("render", "--stack", project.stack)
    assert rendered.returncode == 0, rendered.stderr
    exported = project.run("pulumi", "stack", "export").stdout
    lock = project.lock_file.read_text()
    for text in (previewed.output, done.output, rendered.stdout, exported, lock):
        assert canary not in text
        assert "Y2FuYXJ5LVp4ODE=" not in text


def test_an_update_that_was_interrupted_goes_on_with_the_same_command(project: Project) -> None:
    project.write("models", deployment("one", on="east"), deployment("two", on="west", gpu=L4))
    going = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview", "--stack", project.stack, "--non-interactive"],
        cwd=project.root,
        env=dict(project.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert going.stdout is not None
    for line in going.stdout:
        if "Namespace east/ml created" in line:
            os.killpg(going.pid, signal.SIGINT)
            break
    rest = going.stdout.read()
    assert going.wait(timeout=600) != 0, rest
    assert "Traceback" not in rest
    done = project.up()
    assert done.code == 0, done.output
    assert project.up().operations == {}


# What the clusters of this test have no CRDs of.
FOREIGN_GROUPS = (".gke.io", ".istio.io")

# The most that a document may ask for of what is no pod.
WIDE = {
    "gateway": {"className": "inferfleet-sandbox", "port": 8080},
    "networkPolicy": {"gatewayNamespace": "edge", "monitoring": {"matchLabels": {"team": "monitoring"}}},
    "tracing": {"endpoint": "http://otel:4317"},
}


def _wide(number: int) -> documents.Document:
    hosts = [f"{'h' * 60}.m{number}-{place}.example.com" for place in range(16)]
    return deployment(
        f"{'m' * 30}{number:02}",
        on="east",
        engine={"type": ("vLLM", "SGLang", "TensorRT-LLM", "Triton", "Other")[number % 5]},
        endpointPicker={"replicas": 1 + number % 3, "failureMode": "FailOpen", "port": 7000 + number},
        route={"hostnames": hosts, "headers": {f"X-{place}!#": "v" * 4096 for place in range(16)}},
    )


def test_the_api_server_takes_everything_that_can_be_rendered_but_pods(
    project: Project, tmp_path: Path
) -> None:
    """Also of the stacks of the repository, without what needs CRDs of Google's or Istio's."""
    models = [_wide(number) for number in range(16)]
    for model in models:
        # Of pods another test says what is taken.
        model["spec"]["workers"]["template"]["spec"]["containers"][0] |= {"command": ["serve"], "args": []}
    every = {
        "apiVersion": documents.API,
        "kind": "ModelService",
        "metadata": {"name": "s" * 32, "namespace": "ml"},
        "spec": {"endpoints": [{"weight": 1_000_000, "selector": {}}]},
    }
    wide = documents.cluster("east", pools={"l4": ("nvidia-l4-4x", 4)}, serving=WIDE)
    project.write("clusters", wide, west())
    project.write("models", *models, every)
    stacks = (project, *(replace(project, root=ROOT, stack=name) for name in ("local", "gke-demo")))
    for rendered in (stack.cli("render", "--stack", stack.stack, "--format", "json") for stack in stacks):
        assert rendered.returncode == 0, rendered.stderr
        listed = [item["manifest"] for item in json.loads(rendered.stdout) if "manifest" in item]
        assert listed
        known = [made for made in listed if not made["apiVersion"].partition("/")[0].endswith(FOREIGN_GROUPS)]
        _taken(project, tmp_path, known)
    project.begin(clusters=[east(), west()])


def _taken(project: Project, folder: Path, manifests: list[dict[str, Any]]) -> None:
    """Apply them to a cluster without effect; their namespaces must be there even so."""
    spaces = {made["metadata"]["namespace"] for made in manifests if "namespace" in made["metadata"]}
    known = {space["metadata"]["name"] for space in project.items("east", "namespaces")}
    for name in sorted(spaces - known):
        project.kubectl("east", "create", "namespace", name)
    file = folder / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    flags = ("--server-side", "--force-conflicts", "--dry-run=server", "-o", "name", "-f", str(file))
    assert len(project.kubectl("east", "apply", *flags).split()) == len(manifests)


def test_namespaces_refuse_privileged_pods_where_the_stack_does(project: Project) -> None:
    project.write("models", deployment("one", on="east"))
    project.configure(locked=False, podSecurity="enforce")
    done = project.up()
    assert done.code == 0, done.output
    foreign = ("run", "foreign", "--image=x", "--privileged", "--dry-run=server", "-n", "ml")
    with pytest.raises(RuntimeError, match=r'violates PodSecurity "baseline:v1\.34": privileged'):
        project.kubectl("east", *foreign)

    raw = deployment("raw", on="east")
    raw["spec"]["workers"]["template"]["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    project.write("raw", raw)
    refused = project.up()
    assert refused.code != 0
    assert "container engine has privileged: true" in refused.output
    project.configure(locked=False)
    done = project.up()
    assert done.code == 0, done.output
    assert "container engine has privileged: true" in done.output
    # In place, and before the pods, which are ready when the update ends.
    assert done.operations["Namespace east/ml"] == "update"
    assert project.kubectl("east", *foreign)
