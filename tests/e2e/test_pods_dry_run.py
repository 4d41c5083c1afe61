"""Pod templates that we take the real API server takes; what we refuse it refuses, or a table says why not.

"Takes" is a strict dry run of the rendered Deployment: it is created, and applied on the server as Pulumi
applies it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dry_run import ApiServer, deployment
from everyday import EVERYDAY, Everyday
from pod_values import STRICTER, Template
from pods import templates
from project import ROOT, Project

from inferfleet.api.kinds.base import API_VERSION
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.loading.validation import validated
from inferfleet.api.pods.template import template_mistakes
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.pod.contradictions import api_server_refusals, document_contradictions
from inferfleet.manifests.pod.hardware import Hardware
from inferfleet.manifests.pod.stand import Stand
from inferfleet.manifests.pod.template import pod_template
from inferfleet.manifests.workload import workload
from sandbox.toolchain.kubernetes_types import tables, text_of

SEED, ACCEPTED, REFUSED = 2026, 150, 100

_SPOT = Spot("ml/web", "east", (("decode", "h100"),))
_HARDWARE = Hardware("nvidia.com/gpu", 1, 8, {"inferfleet.dev/pool": "h100"})


@dataclass
class Comparison:
    """How we and the API server judged templates; `wrong` has those that we should have judged otherwise."""

    accepted: int = 0
    refused: int = 0
    stricter: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def compare(server: ApiServer, *, seed: int, accepted: int, refused: int) -> Comparison:
    """Judge random templates until so many were accepted, and so many refused, by us."""
    result = Comparison()
    for template in templates(seed):
        if result.accepted >= accepted and result.refused >= refused:
            return result
        rendered, said = judged(template)
        if rendered is not None and result.accepted < accepted:
            result.accepted += 1
            if why := server.refuses(rendered):
                result.wrong.append(f"taken by us alone: {why} {json.dumps(template)}")
        elif said and result.refused < refused:
            result.refused += 1
            if not server.refuses(deployment(template)):
                _explain(result, said)
    raise AssertionError("templates are endless")


def judged(template: Template) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """Return the Deployment that we render, or None and what we say; neither where serving contradicts it."""
    if said := tuple(_said(template)):
        return None, said
    document, problems = validated(ModelDeployment, _document(template))
    if document is None:
        return None, tuple(f"{problem.path}: {problem.what}" for problem in problems)
    stand = Stand(document, _SPOT, "decode", "Entry", Shape(1, 2), _HARDWARE)
    if list(document_contradictions(stand)):
        return None, ()
    generated = pod_template(stand)
    if problems := list(api_server_refusals(generated, stand)):
        return None, ()
    manifest = workload(
        deployment=document,
        spot=_SPOT,
        role="decode",
        replicas=1,
        template=generated,
        deadline=900,
        stack="test",
    )
    return manifest | {"metadata": manifest["metadata"] | {"namespace": "default"}}, ()


def _said(template: Template) -> Iterator[str]:
    for mistake in template_mistakes(template):
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in mistake.at)
        yield f"{place.removeprefix('.')}: {mistake.what}"


def _document(template: Template) -> dict[str, Any]:
    workers = {"topology": {"tensor": 1}, "template": template}
    return {
        "apiVersion": API_VERSION,
        "kind": "ModelDeployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"replicas": 1, "workers": workers},
    }


def _explain(result: Comparison, said: tuple[str, ...]) -> None:
    for text in said:
        rule = next((rule for rule, pattern in STRICTER if re.search(pattern, text)), None)
        if rule is None:
            result.wrong.append(f"refused by us alone: {text}")
        else:
            result.stricter[rule] = result.stricter.get(rule, 0) + 1


@pytest.fixture(scope="module")
def server(standing: Project) -> ApiServer:
    return ApiServer(standing.root / ".sandbox" / standing.stack / "east.kubeconfig")


def test_the_tables_are_those_of_the_pinned_kubernetes(server: ApiServer) -> None:
    folder = ROOT / "inferfleet" / "api" / "pods"
    made = {name: text_of(table) for name, table in tables(server.get("/openapi/v2")).items()}
    assert {name: Path(folder, name).read_text() for name in made} == made


@pytest.mark.parametrize("mistake", EVERYDAY, ids=lambda mistake: mistake.path)
def test_the_api_server_refuses_each_everyday_mistake(server: ApiServer, mistake: Everyday) -> None:
    assert server.refuses(deployment(mistake.template)) != ""


@pytest.mark.parametrize("field", [{"priority": 3600}, {"preemptionPolicy": "Never"}])
def test_a_priority_that_no_class_says_is_refused_of_each_pod(
    server: ApiServer, field: dict[str, Any]
) -> None:
    spec = {"containers": [{"name": "engine", "image": "some/engine"}], **field}
    template = {"metadata": {}, "spec": spec}
    assert server.refuses(deployment(template)) == ""
    assert "priority admission controller" in server.refuses_pod("default", template)
    assert list(template_mistakes(template)) != []


def test_random_templates_are_judged_as_the_api_server_judges_them(server: ApiServer) -> None:
    result = compare(server, seed=SEED, accepted=ACCEPTED, refused=REFUSED)
    assert (result.accepted, result.refused, result.wrong) == (ACCEPTED, REFUSED, [])
