"""A stack with one deployment whose prefill is apart, on disk: each test changes one line of it."""

import re
from collections.abc import Mapping
from typing import Any

from small_project import Project

CLASS = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: h100}
spec:
  node: {cpu: "200", memory: 1800Gi}
  resources: {gpu: {count: 8, memory: 80Gi}}
"""
CLUSTER = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: east}
spec:
  cluster: {source: Existing, existing: {kubeconfig: {path: east.kubeconfig}}}
  nodePools: [{name: h100, className: h100, nodeCount: 4}]
  serving: {profile: router-0.10, gateway: {className: any}}
"""
# Each argument and variable has a line of its own.
PAIR = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: qwen3, namespace: ml}
spec:
  replicas: 1
  engine: {type: vLLM}
  plugins: [{name: engine-args}]
  workers:
    count: 2
    topology: {tensor: 4}
    template:
      spec:
        containers:
          - name: engine
            image: vllm/vllm-openai:v0.20.0
            command: [vllm, serve, Qwen/Qwen3-235B-A22B]
            args:
              - --tensor-parallel-size=4
              - --kv-transfer-config={"kv_connector":"NixlConnector",POLICY"kv_role":"kv_consumer"}
              - --block-size=128
            env:
              - {name: UCX_TLS, value: "cuda_copy,tcp"}
  prefill:
    connector: NIXL
    workers:
      count: 3
      topology: {tensor: 2}
      template:
        spec:
          containers:
            - name: engine
              image: vllm/vllm-openai:v0.20.0
              command: [vllm, serve, Qwen/Qwen3-235B-A22B]
              args:
                - --tensor-parallel-size=2
                - --kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_producer"}
                - --block-size=128
              env:
                - {name: UCX_TLS, value: "cuda_copy,tcp"}
""".replace("POLICY", '"kv_load_failure_policy":"recompute",')
FILE = "stacks/prod/models.yaml"
_LAST = {"decode": "              - --block-size=128\n", "prefill": "                - --block-size=128\n"}
_OTHER = re.compile(re.escape(f" (the other is at {FILE}:") + r"(\d+)\)$")


def edited(case: Mapping[str, Any]) -> str:
    """The documents with the `edits` of a case, texts of a side that are replaced by others, and its `args`,
    which are added behind those of a side.
    """
    sides = dict(zip(("decode", "prefill"), PAIR.split("  prefill:\n"), strict=True))
    for name, edits in case.get("edits", {}).items():
        for old, new in edits.items():
            assert old in sides[name], (name, old)
            sides[name] = sides[name].replace(old, new)
    for name, arguments in case.get("args", {}).items():
        last = _LAST[name]
        added = [last.replace("--block-size=128", argument) for argument in arguments]
        sides[name] = sides[name].replace(last, "".join([last, *added]))
    return f"{sides['decode']}  prefill:\n{sides['prefill']}"


def told(project: Project, case: Mapping[str, Any]) -> list[str]:
    """What `inferfleet validate` says of the documents: severity, line, field, message and next step.

    The line of the other side is behind the message.
    """
    project.write("classes/l4.yaml", CLASS)
    project.write("stacks/prod/clusters.yaml", CLUSTER)
    project.write(FILE, edited(case))
    said = project.run("validate", "--json").json
    return [
        _line(severity, problem)
        for severity, key in (("error", "problems"), ("warning", "warnings"), ("notice", "notices"))
        for problem in said[key]
        if problem["file"] is not None
    ]


def _line(severity: str, problem: Mapping[str, Any]) -> str:
    assert problem["file"] == FILE
    what = _OTHER.sub(r" (beside \1)", problem["what"])
    return f"{severity} in {problem['line']}: {problem['path']}: {what}. {problem['nextStep']}"
