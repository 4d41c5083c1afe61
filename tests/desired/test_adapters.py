"""Adapters of deployments: flags and files for engines, what loads them, and what is wrong with them."""

import json
from inspect import getsource
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_stack import COMMIT, Document, after, cache, cluster, deployment, find, made

from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.load import load
from inferfleet.fleet.adapters import adapter_problems, model_names
from inferfleet.serving import adapter_guard, adapter_loader, filling

VLLM_FLAGS = [
    "--enable-lora",
    "--max-loras=4",
    "--max-cpu-loras=16",
    "--max-lora-rank=16",
    "--middleware=inferfleet_guard.Guard",
]
GUARDED = [
    {"name": "VLLM_ALLOW_RUNTIME_LORA_UPDATING", "value": "1"},
    {"name": "PYTHONPATH", "value": "/inferfleet-guard"},
]


def adapter(name: str, **source: str) -> dict[str, Any]:
    hub = {"repository": f"acme/{name}", "revision": COMMIT}
    return {"name": name, "source": source or hub, "rank": 8}


def chat(*adapters: dict[str, Any], **engine: Any) -> Document:
    declared = {"model": "Qwen/Qwen3-8B", "servedNames": ["chat"], "adapters": list(adapters), **engine}
    return deployment("chat", declared=declared)


def pod(*documents: Document) -> dict[str, Any]:
    found = made(*documents, cluster("east"))
    spec: dict[str, Any] = find(found, "Deployment", "east/ml/chat-decode-l4").manifest["spec"]["template"][
        "spec"
    ]
    return spec


def container(spec: dict[str, Any], part: str, name: str) -> dict[str, Any]:
    (one,) = (one for one in spec[part] if one["name"] == name)
    return dict(one)


def test_vllm_is_told_of_adapters_by_a_sidecar_that_alone_may() -> None:
    spec = pod(chat(adapter("poems")))
    engine, sidecar = container(spec, "containers", "engine"), container(spec, "initContainers", "adapters")
    assert engine["args"][5:] == VLLM_FLAGS
    assert engine["env"][:2] == GUARDED
    assert engine["volumeMounts"][:2] == [
        {"name": "adapters", "mountPath": "/adapters", "readOnly": True},
        {"name": "adapters-guard", "mountPath": "/inferfleet-guard", "readOnly": True},
    ]
    assert spec["volumes"][:3] == [
        {"name": "adapters", "emptyDir": {}},
        {"name": "adapters-guard", "emptyDir": {"medium": "Memory"}},
        {"name": "adapters-file", "configMap": {"name": "chat-adapters"}},
    ]
    assert sidecar["command"] == ["python3", "-c", getsource(adapter_loader)]
    assert sidecar["env"][-9:] == [
        {"name": "ADAPTERS_FOLDER", "value": "/adapters"},
        {"name": "ADAPTERS_FILLING", "value": getsource(filling)},
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
        {"name": "ADAPTERS_FILE", "value": "/inferfleet-adapters/adapters.json"},
        {"name": "ADAPTERS_GUARD", "value": "/inferfleet-guard"},
        {"name": "ADAPTERS_GUARD_TEXT", "value": getsource(adapter_guard)},
        {"name": "ADAPTERS_MODEL", "value": "Qwen/Qwen3-8B"},
        {"name": "ADAPTERS_ENGINE", "value": "8000"},
        {"name": "ADAPTERS_PORT", "value": "8199"},
    ]
    assert sidecar["restartPolicy"] == "Always"
    assert sidecar["readinessProbe"] == {"httpGet": {"path": "/ready", "port": 8199}, "periodSeconds": 2}


def test_no_text_that_a_kubelet_replaces_is_in_a_program() -> None:
    programs = (getsource(program) for program in (adapter_loader, adapter_guard, filling))
    assert not any("$(" in text or "$$" in text for text in programs)


def test_pods_stay_as_they_are_when_adapters_change() -> None:
    assert pod(chat(adapter("poems"))) == pod(chat(adapter("poems"), adapter("jokes")))


def test_a_config_map_says_what_pods_serve() -> None:
    found = made(chat(adapter("poems"), adapter("tales", cache="tales")), cache("tales"), cluster("east"))
    listed = find(found, "ConfigMap", "east/ml/chat-adapters")
    assert json.loads(listed.manifest["data"]["adapters.json"]) == [
        {"name": "chat:poems", "label": "poems", "repository": "acme/poems", "revision": COMMIT},
        {"name": "chat:tales", "label": "tales", "path": "/cached-adapters/tales"},
    ]
    assert after(found, "ConfigMap", "east/ml/chat-adapters") == {"Namespace east/ml"}


def test_adapters_of_caches_are_mounted_and_waited_for() -> None:
    spec = pod(chat(adapter("tales", cache="tales")), cache("tales"))
    engine, gate = (
        container(spec, "containers", "engine"),
        container(spec, "initContainers", "wait-for-weights-tales"),
    )
    mount = {
        "name": "weights-tales",
        "mountPath": "/cached-adapters/tales",
        "readOnly": True,
        "subPath": "model",
    }
    assert engine["volumeMounts"][0] == mount
    assert gate["volumeMounts"] == [
        {"name": "weights-tales", "mountPath": "/weights-volume", "readOnly": True}
    ]


def test_sglang_is_told_of_adapters_by_flags() -> None:
    spec = pod(chat(adapter("poems"), type="SGLang"))
    engine, fetcher = (
        container(spec, "containers", "engine"),
        container(spec, "initContainers", "fetch-adapters"),
    )
    assert engine["args"][5:] == [
        "--enable-lora",
        "--max-loras-per-batch=4",
        "--max-loaded-loras=16",
        "--max-lora-rank=16",
        "--lora-paths",
        f"poems=/adapters/poems/{COMMIT}/model",
    ]
    once = [{"name": "poems", "label": "poems", "repository": "acme/poems", "revision": COMMIT}]
    assert fetcher["env"][-1] == {"name": "ADAPTERS_ONCE", "value": json.dumps(once)}


def test_the_picker_scores_pods_by_adapter() -> None:
    found = made(chat(adapter("poems")), cluster("east"))
    args = find(found, "Deployment", "east/ml/chat-epp").manifest["spec"]["template"]["spec"]["containers"][
        0
    ]["args"]
    (text,) = (arg.partition("=")[2] for arg in args if arg.startswith("--config-text="))
    assert yaml.safe_load(text)["schedulingProfiles"] == [
        {
            "name": "default",
            "plugins": [
                {"pluginRef": "queue-scorer", "weight": 2},
                {"pluginRef": "kv-cache-utilization-scorer", "weight": 2},
                {"pluginRef": "prefix-cache-scorer", "weight": 3},
                {"pluginRef": "lora-affinity-scorer", "weight": 3},
            ],
        }
    ]


# What is wrong with them, with the lines of a file.

DOCUMENT = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: chat, namespace: ml}
spec:
  replicas: 1
  engine:
    model: Qwen/Qwen3-8B
    servedNames: [chat, talk]
    maxAdapterRank: 8
    maxCpuAdapters: 2
    maxAdapters: 1
    adapters:
    - {name: poems, source: {repository: acme/poems, revision: COMMIT}, rank: 8}
    - {name: jokes, source: {repository: acme/jokes, revision: COMMIT}, rank: 8}
  workers: {topology: {tensor: 1}}
"""


def problems(tmp_path: Path, *changes: tuple[str, str]) -> list[str]:
    text = DOCUMENT.replace("COMMIT", COMMIT)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "chat.yaml").write_text(text)
    documents = load(
        [tmp_path], settings=Settings(stack="test"), catalogue=None, base=tmp_path, root=tmp_path
    )
    return [str(one) for one in documents.located(adapter_problems(documents, "ml/chat", {}))]


def test_a_sound_document_has_no_problems(tmp_path: Path) -> None:
    assert problems(tmp_path) == []


def test_a_rank_above_the_largest_is_an_error_with_both_lines(tmp_path: Path) -> None:
    assert problems(tmp_path, ("rank: 8}", "rank: 16}")) == [
        "chat.yaml:13: spec.engine.adapters[0].rank: adapter poems has rank 16, and engines take up to "
        "maxAdapterRank 8 (chat.yaml:9). Raise maxAdapterRank, which is a roll of the pods, or leave the "
        "adapter out"
    ]


def test_two_of_one_name_are_an_error_with_both_lines(tmp_path: Path) -> None:
    assert problems(tmp_path, ("name: jokes", "name: poems")) == [
        "chat.yaml:14: spec.engine.adapters[1].name: a second adapter is named poems, as the one at "
        "chat.yaml:13: engines load one under a name. Rename or remove one of the two"
    ]


def test_more_than_pods_hold_are_an_error_with_both_lines(tmp_path: Path) -> None:
    assert problems(tmp_path, ("maxCpuAdapters: 2", "maxCpuAdapters: 1")) == [
        "chat.yaml:14: spec.engine.adapters[1]: there are 2 adapters, and a pod holds maxCpuAdapters 1 in "
        "memory (chat.yaml:10). Raise maxCpuAdapters, which is a roll of the pods, or list fewer"
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("model: Qwen/Qwen3-8B", "type: TensorRT-LLM\n    model: a/b"),
            "told to engines of type vLLM and SGLang",
        ),
        (("{tensor: 1}", "{tensor: 1, data: 2}"), "have 2 pods and 2 copies"),
        (("maxAdapters: 1", "maxAdapters: 3"), "maxAdapters is 3, and a pod holds maxCpuAdapters 2"),
        (
            (
                "{tensor: 1}}",
                "{tensor: 1}, template: {spec: {containers: [{name: engine, image: a, command: [vllm]}]}}}",
            ),
            "engines whose command line inferfleet writes",
        ),
        (
            (
                "{tensor: 1}}",
                "{tensor: 1}, template: {spec: {containers: [{name: engine, image: a, "
                "env: [{name: PYTHONPATH, value: /a}]}]}}}",
            ),
            "the template sets PYTHONPATH",
        ),
    ],
)
def test_what_engines_cannot_be_told_is_an_error(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    [problem] = problems(tmp_path, change)
    assert said in problem


def test_an_adapter_is_named_after_its_model(tmp_path: Path) -> None:
    problems(tmp_path)
    documents = load(
        [tmp_path], settings=Settings(stack="test"), catalogue=None, base=tmp_path, root=tmp_path
    )
    assert model_names(documents.deployments["ml/chat"]) == ("chat", "talk", "chat:poems", "chat:jokes")
