"""Prefill and decode in pods of their own, by manifests as llm-d's guides have them."""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from asking import ask, until, url
from closed import beyond_loopback, listening
from documents import deployment
from project import Project

from sandbox.places import StackPlaces
from sandbox.processes import processes_in
from sandbox.verbs.chat import chat

LLM_D = "ghcr.io/llm-d"
TRANSFER = json.dumps({"kv_connector": "NixlConnector", "kv_role": "kv_both"})
# deploy/config/pd-epp-config.yaml of llm-d-inference-scheduler 0.7.1.
PICKER: dict[str, Any] = {
    "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
    "kind": "EndpointPickerConfig",
    "featureGates": ["prepareDataPlugins"],
    "plugins": [
        *({"type": name} for name in ("disagg-headers-handler", "prefix-cache-scorer", "queue-scorer")),
        *({"type": name} for name in ("prefill-filter", "decode-filter", "max-score-picker")),
        {"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 16}},
        {
            "type": "disagg-profile-handler",
            "parameters": {"deciders": {"prefill": "prefix-based-pd-decider"}},
        },
    ],
    "schedulingProfiles": [
        {
            "name": role,
            "plugins": [
                *({"pluginRef": name} for name in (f"{role}-filter", "max-score-picker")),
                {"pluginRef": "prefix-cache-scorer", "weight": 2},
                {"pluginRef": "queue-scorer", "weight": 1},
            ],
        }
        for role in ("prefill", "decode")
    ],
}


def of_role(role: str, workload: dict[str, Any]) -> dict[str, Any]:
    """The Deployment of an engine, as one of two pods that have this role alone."""
    made = copy.deepcopy(workload)
    made["metadata"]["name"] += f"-{role}"
    made["spec"]["replicas"] = 2
    template = made["spec"]["template"]
    for labels in (made["spec"]["selector"]["matchLabels"], template["metadata"]["labels"]):
        labels["llm-d.ai/role"] = role
    [engine] = template["spec"]["containers"]
    host = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    engine["env"] = [{"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": host}]
    engine["args"] += [f"--kv-transfer-config={TRANSFER}"]
    if role == "decode":
        engine["args"] += ["--port=8200"]
        engine["ports"] = [{"name": "http", "containerPort": 8200}]
        proxy = {
            "name": "routing-proxy",
            "image": f"{LLM_D}/llm-d-routing-sidecar:v0.7.1",
            "restartPolicy": "Always",
            "args": ["--port=8000", "--vllm-port=8200", "--connector=nixlv2", "--secure-proxy=false"],
            "startupProbe": {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 1},
        }
        template["spec"]["initContainers"] = [proxy]
    return made


def disaggregated(rendered: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if rendered["kind"] != "Deployment":
        yield rendered
    elif rendered["metadata"]["name"] == "q-epp":
        [picker] = rendered["spec"]["template"]["spec"]["containers"]
        picker["image"] = f"{LLM_D}/llm-d-inference-scheduler:v0.7.1"
        kept = [arg for arg in picker["args"] if not arg.startswith("--config-text=")]
        picker["args"] = [*kept, f"--config-text={yaml.safe_dump(PICKER)}"]
        yield rendered
    else:
        yield from (of_role(role, rendered) for role in ("prefill", "decode"))


@pytest.fixture(scope="module")
def serving(standing: Project) -> Iterator[Project]:
    standing.write("models", deployment("q", on="east"))
    rendered = yaml.safe_load_all(standing.cli("render").stdout)
    manifests = standing.root / "disaggregated.yaml"
    made = [one for known in rendered if known for one in disaggregated(known)]
    namespaces = [one for one in made if one["kind"] == "Namespace"]
    for objects in (namespaces, made):
        manifests.write_text(yaml.safe_dump_all(objects))
        standing.kubectl("east", "apply", "--server-side", "-f", str(manifests))
    yield standing
    standing.kubectl("east", "delete", "-f", str(manifests), "--wait=true", "--ignore-not-found")


def ready(fleet: Project) -> dict[str, list[dict[str, Any]]]:
    """The statuses of all containers by their pods, once five pods are ready."""
    pods = fleet.items("east", "pods")
    conditions = [item for pod in pods for item in pod["status"].get("conditions", [])]
    if sum(item["type"] == "Ready" and item["status"] == "True" for item in conditions) < 5:
        return {}
    return {
        pod["metadata"]["name"]: [
            *pod["status"].get("initContainerStatuses", []),
            *pod["status"]["containerStatuses"],
        ]
        for pod in pods
    }


def test_long_prompts_are_computed_by_prefill_pods_and_all_are_answered_by_decode_pods(
    serving: Project,
) -> None:
    until("all pods are ready", lambda: ready(serving))
    base = url(serving, "east", "ml/deployments/q")

    def roles(*texts: str, stream: bool = False) -> Counter[tuple[str, str]]:
        answers = [chat(base, "some/model", text, stream=stream) for text in texts]
        return Counter((_role(answer.pod), _role(answer.prefill)) for answer in answers)

    long = [" ".join(f"w{number}x{word}" for word in range(300)) for number in range(9)]
    until("the gateway leads there", lambda: ask(base).status == 404)  # it asks for another model
    assert roles("short") == {("decode", ""): 1}
    assert roles(*long[:4]) == roles(*long[4:8], stream=True) == {("decode", "prefill"): 4}
    # The picker knows which pods have computed a prompt, and the decode has it after the first answer.
    assert roles(*[long[8]] * 4) == {("decode", "prefill"): 1, ("decode", ""): 3}


def _role(pod: str) -> str:
    """The end of the name of the pod's Deployment."""
    return pod.split("-")[-3] if pod else ""


def test_a_killed_sidecar_comes_back_with_its_pod(serving: Project) -> None:
    statuses = until("all pods are ready", lambda: ready(serving))
    name = next(pod for pod, containers in statuses.items() if containers[0]["name"] == "routing-proxy")
    done = serving.cli("sandbox", "kill", name, "--stack", serving.stack)
    assert done.returncode == 0, done.stderr
    again = until(
        "it has restarted",
        lambda: [one for one in ready(serving).get(name, []) if one["restartCount"] == 1 and one["ready"]],
    )
    assert "routing-proxy" in [one["name"] for one in again]
    said = serving.cli("sandbox", "logs", name, "--stack", serving.stack).stdout
    assert "[routing-proxy]" in said
    assert "[engine]" in said


def test_picker_and_sidecars_listen_at_their_pods_addresses_alone(serving: Project) -> None:
    heard = listening(processes_in(StackPlaces(serving.root, serving.stack).folder))
    assert {program for program, _ in heard} >= {"pd-sidecar", "llm-d-epp"}
    assert beyond_loopback(heard) == []
