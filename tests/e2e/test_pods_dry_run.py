"""What we refuse of pod templates the real API server refuses, or a table says why not.

"Refuses" is by a strict dry run of a Deployment: it is created, and applied on the server as Pulumi does it.
"""

import re
from itertools import islice

import pytest
from dry_run import ApiServer, deployment
from everyday import EVERYDAY, Everyday
from pod_values import STRICTER, Template
from pods import templates
from project import ROOT, Project

from inferfleet.documents.pods.template import template_mistakes
from inferfleet.documents.wording import path_of
from sandbox.toolchain.kubernetes_types import table, text_of

SEED, REFUSED = 2026, 100


def _said(template: Template) -> tuple[str, ...]:
    return tuple(f"{path_of(mistake.field_path)}: {mistake.what}" for mistake in template_mistakes(template))


@pytest.fixture(scope="module")
def server(standing: Project) -> ApiServer:
    return ApiServer(standing.root / ".sandbox" / standing.stack / "east.kubeconfig")


def test_the_table_is_that_of_the_pinned_kubernetes(server: ApiServer) -> None:
    path = ROOT / "inferfleet" / "documents" / "pods" / "types.json"
    assert path.read_text() == text_of(table(server.get("/openapi/v2")))


@pytest.mark.parametrize("mistake", EVERYDAY, ids=lambda mistake: mistake.path)
def test_the_api_server_refuses_each_everyday_mistake(server: ApiServer, mistake: Everyday) -> None:
    assert server.refuses(deployment(mistake.template)) != ""


def test_random_templates_that_we_refuse_are_refused(server: ApiServer) -> None:
    refused = islice(((template, said) for template in templates(SEED) if (said := _said(template))), REFUSED)
    taken = [said for template, said in refused if not server.refuses(deployment(template))]
    unexplained = [
        text
        for said in taken
        for text in said
        if not any(re.search(pattern, text) for _, pattern in STRICTER)
    ]
    assert unexplained == []
