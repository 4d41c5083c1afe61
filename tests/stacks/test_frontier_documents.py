"""The stack `frontier` plans and renders every model in the shape that its guide promises."""

import re
from dataclasses import replace

import pytest
from rendered_frontier import ROOT, SHAPES, documents, frontier, part_of, shape

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.load import load
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from sandbox.engine.settings import settings
from sandbox.engine.steering import Steering

GUIDE = ROOT / "docs" / "guides" / "frontier-models.md"
_ROW = re.compile(r"\| \[[^]]+\]\(\.\./\.\./stacks/frontier/([a-z0-9-]+)\.yaml\) \|(.*)\|")


def rows() -> dict[str, list[str]]:
    """The cells of the guide's table, by the document that a row is about."""
    found = (_ROW.fullmatch(line) for line in GUIDE.read_text().splitlines())
    return {row[1]: [cell.strip() for cell in row[2].split("|")] for row in found if row}


def sizes() -> dict[str, tuple[str, str]]:
    """Pods and GPUs of each model, and the class of its nodes, as the guide writes them."""
    pools = {
        f"{cluster.metadata.name}/{pool.name}": pool.class_name
        for cluster in documents().clusters.values()
        for pool in cluster.spec.node_pools
    }
    return {name: (f"{pods} x {gpus}", f"`{pools[place]}`") for name, (pods, gpus, place) in SHAPES.items()}


def test_every_model_has_a_row_with_its_shape_and_class() -> None:
    assert {name: (cells[1], cells[2]) for name, cells in rows().items()} == sizes()


def test_every_deployment_of_the_stack_has_a_document_of_its_name_and_a_place() -> None:
    assert sorted(key.partition("/")[2] for key in documents().deployments) == sorted(SHAPES)
    folder = ROOT / "stacks" / "frontier"
    assert {name for name in SHAPES if not (folder / f"{name}.yaml").exists()} == set()
    assert (frontier().plan.unplaced, frontier().warnings) == ((), ())


@pytest.mark.parametrize("deployment", SHAPES)
def test_a_model_is_rendered_in_its_shape(deployment: str) -> None:
    assert shape(deployment) == SHAPES[deployment]


def test_every_model_is_behind_a_service_on_its_cluster() -> None:
    routed = {
        (route.cluster, backend.deployment.rpartition("/")[2])
        for route in frontier().plan.services
        for backend in route.backends
    }
    assert routed == {(place.partition("/")[0], name) for name, (_, _, place) in SHAPES.items()}


@pytest.mark.parametrize("deployment", SHAPES)
def test_the_stand_in_engine_reads_each_pod_as_its_part_of_the_worker(deployment: str) -> None:
    """Every pod of a worker starts, knows all of its flags, and together they have each rank once."""
    pods = SHAPES[deployment].pods
    read = [settings(part_of(deployment, index), Steering()) for index in range(pods)]
    notes = [note for one in read for note in one.notes]
    assert [note for note in notes if "may not know" in note or "listens on port" in note] == []
    groups = [one.group for one in read if one.group]
    ranks = [rank for group in groups for rank in range(group.first, group.first + group.count)]
    assert (ranks, {group.size for group in groups}) == (
        (list(range(len(ranks))), {len(ranks)}) if pods > 1 else ([], set())
    )
    assert read[0].answers == "requests"


def test_the_documents_of_models_alone_are_at_home_on_google_clouds_nodes() -> None:
    """As the guide says: they name products, and a stack of one's own brings clusters and classes."""
    pools = {"h200": "gke-h200-8x-rdma", "h100": "gke-h100-mega-8x-tcpxo", "b200": "gke-b200-8x-rdma"}
    cluster = InferenceCluster.model_validate(
        {
            "metadata": {"name": "central"},
            "spec": {
                "cluster": {"source": "GKE", "gke": {"project": "acme-prod", "region": "us-central1"}},
                "nodePools": [
                    {"name": name, "className": kind, "maxNodeCount": 5, "zones": ["us-central1-a"]}
                    for name, kind in {**pools, "gb200": "gke-gb200-4x-rdma"}.items()
                ],
            },
        }
    )
    catalogue = load([], settings=Settings(stack="own")).classes
    own = replace(documents(), classes=catalogue, clusters={"central": cluster})
    planned = plan(own, Lock(stack="own"))
    assert planned.unplaced == ()
    assert {placement.spot.deployment.partition("/")[2] for placement in planned.placements} == set(SHAPES)
