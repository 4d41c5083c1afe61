"""The page about OtterScale says of every field of a ModelService what inferfleet renders instead."""

import json
import re
from typing import Any

import model_service_objects
import pytest
import yaml
from disaggregated_service_objects import disaggregated
from test_pages import CATALOGUE, ROOT, documents

from inferfleet.desired import desired
from inferfleet.documents import load
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock

PAGE = ROOT / "docs/explanation/otterscale.md"
Leaves = dict[str, Any]
GPUS = {"nvidia.com/gpu": "2"}
SERVICES: dict[str, model_service_objects.Objects] = {
    "qwen3": model_service_objects.made(
        "qwen3",
        "llm",
        model="registry.example.com/models/qwen3:v1",
        image="ghcr.io/llm-d/llm-d-cuda:v0.5.1",
        served="Qwen/Qwen3-32B-AWQ",
        replicas=2,
        tensor=2,
        resources={"requests": {"cpu": "8", "memory": "64Gi", **GPUS}, "limits": GPUS},
        pull_secret="registry",
        gateway=("inference", "gateways"),
        hostnames=["qwen.example.com"],
        failure_mode="FailOpen",
    ),
    "embed": model_service_objects.made(
        "embed",
        "llm",
        model="registry.example.com/models/embed:v1",
        image="ghcr.io/llm-d/llm-d-cuda:v0.5.1",
        served="embed",
        replicas=1,
        tensor=1,
        resources={"requests": {"cpu": "8", "memory": "16Gi"}},
        pull_secret=None,
        gateway=("inference", "gateways"),
        hostnames=[],
        failure_mode="FailClose",
    ),
    "split": disaggregated(
        "split",
        "llm",
        decode={
            "replicas": 2,
            "tensor": 2,
            "resources": {"requests": {"cpu": "8", "memory": "64Gi", **GPUS}, "limits": GPUS},
            "annotations": {"example.com/owner": "search"},
        },
        prefill={
            "replicas": 5,
            "tensor": 1,
            "resources": {
                "requests": {"cpu": "4", "memory": "32Gi", "nvidia.com/gpu": "1"},
                "limits": {"memory": "48Gi", "nvidia.com/gpu": "1"},
            },
            "annotations": {"example.com/owner": "search"},
            "nodeSelector": {"example.com/disk": "nvme"},
            "tolerations": [{"key": "example.com/prefill", "operator": "Exists"}],
        },
        proxy_image="ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1",
        model="registry.example.com/models/qwen3:v1",
        image="ghcr.io/llm-d/llm-d-cuda:v0.5.1",
        served="Qwen/Qwen3-32B-AWQ",
        pull_secret="registry",
        gateway=("inference", "gateways"),
        hostnames=["split.example.com"],
        failure_mode="FailOpen",
    ),
}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, model_service_objects.Objects]:
    """What the documents of the page become, by deployment and by what the objects of OtterScale are."""
    (text,) = documents(PAGE)
    file = tmp_path_factory.mktemp("page") / "stack.yaml"
    file.write_text(text)
    read = load([file], settings=Settings(stack="prod"), catalogue=CATALOGUE)
    (cluster,) = desired(read, Lock(stack="prod")).clusters
    made: dict[str, model_service_objects.Objects] = {name: {} for name in SERVICES}
    for one in cluster.objects:
        for name, objects in made.items():
            if one.kubernetes_name.removeprefix("inferfleet:llm:").startswith(name):
                objects[_title(one.kind, one.kubernetes_name)] = _without_revision(one.manifest)
    for name, objects in made.items():
        (picker,) = objects["Picker"]["spec"]["template"]["spec"]["containers"]
        flag = "--config-text="
        (config,) = (arg.removeprefix(flag) for arg in picker["args"] if arg.startswith(flag))
        file = "pd-config.yaml" if name == "split" else "default-plugins.yaml"
        # Compared with what the file of theirs means; there is no ConfigMap.
        objects["ConfigMap"] = {"data": {file: yaml.safe_load(config)}}
    return made


def _title(kind: str, name: str) -> str:
    """What an object is of its service, as in the objects of OtterScale."""
    if kind == "Deployment":
        return "Picker" if name.endswith("-epp") else f"{kind}{' of prefill' if '-prefill-' in name else ''}"
    return kind


def _without_revision(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest without the revision, which the names of a deployment with prefill end in."""
    plain: dict[str, Any] = json.loads(re.sub(r"\bsplit-[0-9a-f]{6}\b", "split", json.dumps(manifest)))
    return plain


def leaves(value: Any, at: str = "") -> Leaves:
    """Values by their paths; entries of lists by their names, where all have one, and flags of programs."""
    if at.endswith("[routing-proxy].args"):
        value = _flags(value)
    elif at.endswith("[engine].args"):
        value = {"model": value[0]} | _flags(value[1:])
    if isinstance(value, dict) and value:
        found: Leaves = {}
        for key, inner in value.items():
            found |= leaves(inner, f"{at}.{key}" if at else key)
        return found
    if (
        isinstance(value, list)
        and value
        and all(isinstance(entry, dict) and "name" in entry for entry in value)
    ):
        found = {}
        for entry in value:
            found |= leaves(entry, f"{at}[{'engine' if entry['name'] == 'vllm' else entry['name']}]")
        return found
    return {at: value}


def _flags(args: list[str]) -> dict[str, str]:
    """Flags with their values, which stand in the same word or in the next."""
    words = iter(word for arg in args for word in arg.split("=", 1))
    return {flag.removeprefix("--"): next(words) for flag in words}


def compared(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, str]:
    """By path: equal; added, where inferfleet alone has a value; else differs."""
    there, here = leaves(theirs), leaves(ours) if ours else {}
    said = {path: "equal" if here.get(path) == value else "differs" for path, value in there.items()}
    return said | {path: "added" for path in here if path not in there}


def rows() -> dict[str, dict[str, str]]:
    """What the page says, by object and path: the first word of the second cell."""
    found: dict[str, dict[str, str]] = {}
    for section in PAGE.read_text().split("\n### ")[1:]:
        title = section.partition("\n")[0]
        for paths, claim in re.findall(r"^\| (`.*?`) \| (\w+)", section, re.MULTILINE):
            found.setdefault(title, {}).update(dict.fromkeys(re.findall(r"`([^`]+)`", paths), claim))
    return found


def covering(path: str, known: dict[str, str]) -> str | None:
    """The longest row that a path is at or below."""
    return max(
        (row for row in known if path == row or path.startswith((f"{row}.", f"{row}["))),
        key=len,
        default=None,
    )


def test_every_field_has_a_row_that_says_what_is_true(
    rendered: dict[str, model_service_objects.Objects],
) -> None:
    """A row that says `differs` may be of fields some of which are equal, such as names of variables."""
    said = rows()
    everywhere = said.pop("Every object")
    told: dict[tuple[str, str], set[str]] = {}
    silent = []
    for name, theirs in SERVICES.items():
        for title, manifest in theirs.items():
            section = title.partition(" of ")[0]
            for path, status in compared(manifest, rendered[name].get(title, {})).items():
                own = covering(path, said.get(section, {}))
                row = (section, own) if own else ("Every object", covering(path, everywhere))
                if row[1] is None:
                    silent.append(f"{name} {title} {path} {status}")
                else:
                    told.setdefault((row[0], row[1]), set()).add(status)
    assert silent == []
    claims = {(title, row): claim for title, of in said.items() for row, claim in of.items()}
    claims |= {("Every object", row): claim for row, claim in everywhere.items()}
    assert claims.keys() == told.keys()
    exact = {row: {claim} for row, claim in claims.items() if claim != "differs"}
    assert {row: told[row] for row in exact} == exact
    assert [row for row in claims if row not in exact and "differs" not in told[row]] == []
