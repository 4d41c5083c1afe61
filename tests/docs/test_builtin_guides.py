"""The guides to built-in plugins: each plugin is shown, and what is shown works."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from one_request import NO_CHECK, REQUEST
from random_pods import generated_pod

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.plugins.chain import run
from inferfleet.plugins.link import Link, bind
from inferfleet.plugins.put import engine
from inferfleet.plugins.registry import builtin

GUIDES = Path(__file__).parent.parent.parent / "docs/guides"
PAGES = [GUIDES / "plugins.md", *sorted(GUIDES.glob("builtin-plugins*.md"))]
_CHAIN = re.compile(r"^```yaml\n(plugins:\n.*?)^```$", re.MULTILINE | re.DOTALL)
CHAINS = [(page.name, body) for page in PAGES for body in _CHAIN.findall(page.read_text())]

# A pod with all GPUs of a node of GKE that has a network between GPUs.
ON_GKE = replace(
    REQUEST,
    gpus=8,
    cluster=replace(REQUEST.cluster, source="GKE"),
    pool=replace(REQUEST.pool, fabric="TCPXO", networks=tuple(f"tcpxo-{number}" for number in range(8))),
)


def links(body: str) -> list[Link]:
    specs: list[dict[str, Any]] = yaml.safe_load(body)["plugins"]
    return [Link(PluginSpec(**spec), "deployment", "ModelDeployment", "ml/web") for spec in specs]


def test_every_built_in_plugin_has_a_section_of_its_own() -> None:
    sections = {
        title for page in PAGES for title in re.findall(r"^## (\S+)$", page.read_text(), re.MULTILINE)
    }
    assert [name for name in builtin().names if name not in sections] == []


@pytest.mark.parametrize("body", [body for _, body in CHAINS])
def test_every_chain_that_is_shown_works(body: str) -> None:
    bound, problems = bind(links(body), builtin(), roles=(REQUEST.role,))
    assert problems == ()
    template = generated_pod(1)
    # Kubernetes takes huge pages only beside cores or memory.
    engine(template)["resources"].setdefault("requests", {})["memory"] = "16Gi"
    request = ON_GKE if "network-fabric" in body and "fabric:" not in body else REQUEST
    assert run(template, request, bound, NO_CHECK).link_problems == ()
