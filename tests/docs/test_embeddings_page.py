"""The page about models without prompts: what its documents become is what it says."""

from typing import Any

import pytest
import yaml
from test_pages import CATALOGUE, ROOT, written

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents import load
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock

PAGE = ROOT / "docs/guides/embeddings-and-speech.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Desired:
    folder = written(PAGE, tmp_path_factory.mktemp("page"))
    return desired(load([folder], settings=Settings(stack="page"), catalogue=CATALOGUE), Lock(stack="page"))


def manifest(made: Desired, kind: str, name: str) -> dict[str, Any]:
    [found] = [
        each.manifest
        for each in made.clusters[0].objects
        if each.kind == kind and each.kubernetes_name.startswith(name)
    ]
    return found


def engine(made: Desired, name: str) -> dict[str, Any]:
    [container] = manifest(made, "Deployment", f"{name}-decode")["spec"]["template"]["spec"]["containers"]
    return container  # type: ignore[no-any-return]


def test_whisper_gets_the_command_line_of_any_model(made: Desired) -> None:
    container = engine(made, "whisper")
    assert [*container["command"], *container["args"]] == [
        *("vllm", "serve", "openai/whisper-large-v3", "--served-model-name", "whisper"),
        *("--port=8000", "--shutdown-timeout=90"),
    ]
    assert container["image"] == "registry.example.com/vllm-audio:v0.32.0"


def test_the_server_of_embeddings_is_started_by_its_image(made: Desired) -> None:
    container = engine(made, "bge-m3")
    parts = ("image", "command", "args", "ports", "readinessProbe")
    assert {part: container.get(part) for part in parts} == {
        "image": "ghcr.io/huggingface/text-embeddings-inference:89-1.8",
        "command": None,
        "args": ["--model-id=BAAI/bge-m3", "--port=$(INFERFLEET_PORT)"],
        "ports": [{"containerPort": 8080, "name": "http"}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8080}},
    }
    assert {"name": "INFERFLEET_PORT", "value": "8080"} in container["env"]


@pytest.mark.parametrize(("name", "paths"), [("whisper", ["/v1/audio"]), ("bge-m3", ["/v1/embeddings"])])
def test_requests_come_by_the_paths_that_the_page_names(made: Desired, name: str, paths: list[str]) -> None:
    route = manifest(made, "HTTPRoute", name)
    assert [match["path"]["value"] for rule in route["spec"]["rules"] for match in rule["matches"]] == [
        f"/ml/deployments/{name}{path}" for path in paths
    ]


def test_the_picker_reads_no_prompts_where_there_are_none(made: Desired) -> None:
    parsers = {}
    for name in ("whisper", "bge-m3"):
        [container] = manifest(made, "Deployment", f"{name}-epp")["spec"]["template"]["spec"]["containers"]
        [text] = [arg.partition("=")[2] for arg in container["args"] if arg.startswith("--config-text")]
        parsers[name] = yaml.safe_load(text).get("parser")
    assert parsers == {"whisper": {"pluginRef": "passthrough-parser"}, "bge-m3": None}
    [notice] = made.warnings
    assert (notice.severity, notice.key, notice.path) == ("notice", "ml/whisper", "spec.route.paths")
