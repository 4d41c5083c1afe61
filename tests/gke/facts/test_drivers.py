"""Tables of drivers: what GKE installs, and what images need."""

import re

import pytest

from inferfleet.gke.facts.drivers import installed, needed, sources
from inferfleet.gke.facts.machines import machine


def test_every_row_has_an_address_and_a_date() -> None:
    read = r"20[0-9]{2}-[0-9]{2}-[0-9]{2}"
    lacking = [
        source
        for source in sources()
        if not source.url.startswith("https://") or not re.fullmatch(read, source.date)
    ]
    assert lacking == []


@pytest.mark.parametrize(
    ("of", "choice", "version", "branch"),
    [
        ("g2-standard-8", "DEFAULT", "1.33", 535),
        ("g2-standard-8", "DEFAULT", "1.33.5-gke.2100001", 535),
        ("g2-standard-8", "DEFAULT", "1.34", None),
        ("g2-standard-8", "DEFAULT", None, None),
        ("g2-standard-8", "LATEST", "1.32", 580),
        ("a3-ultragpu-8g", "DEFAULT", None, 550),
        ("a3-ultragpu-8g", "DEFAULT", "1.31.4", None),
        ("a4-highgpu-8g", "DEFAULT", "1.35", 570),
        ("a4-highgpu-8g", "LATEST", "1.33", 580),
        ("a4x-highgpu-4g", "DEFAULT", None, 580),
    ],
)
def test_what_gke_installs(of: str, choice: str, version: str | None, branch: int | None) -> None:
    facts = machine(of)
    assert facts
    row = installed(facts, choice, version)
    assert (row.branch if row else None) == branch


@pytest.mark.parametrize(
    ("image", "branch"),
    [
        ("docker.io/vllm/vllm-openai:v0.30.0", 580),
        ("vllm/vllm-openai:v0.20.0@sha256:0123", 580),
        ("vllm/vllm-openai:v0.30.0-cu129", 525),
        ("vllm/vllm-openai:v0.19.1-cu130", 580),
        ("vllm/vllm-openai:v0.19.1", None),
        ("vllm/vllm-openai:latest", None),
        ("registry.example.com/vllm/vllm-openai:v0.30.0", None),
        ("lmsysorg/sglang:v0.5.9", None),
    ],
)
def test_what_an_image_needs(image: str, branch: int | None) -> None:
    found = needed(image)
    assert (found[1] if found else None) == branch
