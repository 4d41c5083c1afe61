"""Updates that are refused, interrupted or hold secrets, each from nothing."""

import os
import signal
import subprocess
from pathlib import Path

from documents import deployment
from project import Project

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


def test_replicas_without_a_place_stop_an_update_and_not_a_preview(project: Project) -> None:
    project.write("models", deployment("big", gpus=8, replicas=3))
    previewed = project.preview()
    assert previewed.code == 0
    assert "1 of the replicas of ml/big found no place" in previewed.output
    refused = project.up()
    assert refused.code != 0
    assert "1 of the replicas of ml/big found no place" in refused.output
    assert not project.lock_file.exists()

    project.configure(unplaced="warn", locked=False)
    done = project.up()
    assert done.code == 0, done.output
    assert "1 of the replicas of ml/big found no place" in done.output


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
    assert going.wait(timeout=120) != 0, rest
    assert "Traceback" not in rest
    done = project.up()
    assert done.code == 0, done.output
    assert project.up().operations == {}
