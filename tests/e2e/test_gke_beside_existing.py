"""A cluster of Google's and one that exists, in one stack, and how one of them becomes another."""

from collections.abc import Iterator

import pytest
from asking import serving, url
from documents import Document, cluster, model, service
from gke_fleet import Fleet, fleet, gke, l4

STACK = "beside"
REFUSED = "cluster far has 1 replica and would be replaced by another: "


def existing(name: str) -> Document:
    return cluster(name, stack=STACK, pools={"l4": ("nvidia-l4-4x", 1)})


def far(region: str = "us-central1", **more: str) -> Document:
    return gke("far", region, l4(nodeCount=1, zones=[f"{region}-a"]), **more)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    models = [model("both", on=None, replicas=2), service("chat", both=1)]
    root = tmp_path_factory.mktemp(STACK)
    with fleet(root, STACK, near=[existing("near")], far=[far()], models=models) as made:
        made.up()
        yield made


def test_one_service_answers_on_a_cluster_of_googles_and_on_one_that_exists(two: Fleet) -> None:
    pods = [_engines(two, name) for name in ("near", "far")]
    assert [len(one) for one in pods] == [1, 1]
    assert [serving(url(two, name, "ml/chat"), requests=3) for name in ("near", "far")] == pods


@pytest.mark.parametrize(
    ("edited", "told"),
    [
        (far("us-east4"), "region (location us-central1 -> us-east4)"),
        (far(project="another-project"), "project inferfleet-test -> another-project"),
        (existing("far"), "source GKE -> Existing"),
    ],
)
def test_a_cluster_with_replicas_cannot_become_another_one(two: Fleet, edited: Document, told: str) -> None:
    two.project.write("far", edited)
    refused = two.project.preview()
    assert (refused.code != 0, refused.operations) == (True, {})
    assert f"{REFUSED}{told}. Move them first: change it back, set state: drained, run pulumi up" in (
        refused.output
    )


def test_a_drained_cluster_becomes_one_in_another_region_before_the_old_one_ends(two: Fleet) -> None:
    two.project.write("far", far(state="drained"))
    two.up()
    assert _engines(two, "far") == set()
    assert serving(url(two, "near", "ml/chat"), requests=10) == _engines(two, "near")

    two.project.write("far", far("us-east4", state="drained"))
    done = two.up()
    assert done.operations == dict.fromkeys(
        (
            "Network far/network",
            "Subnetwork far/nodes",
            "Subnetwork far/proxies",
            "Router far/nat",
            "RouterNat far/nat",
            "Cluster far",
            "NodePool far/system",
            "NodePool far/l4",
            "kubernetes far",
            "Namespace far/inferfleet-system",
            "Gateway far/inferfleet-system/inferfleet",
            "GCPGatewayPolicy far/inferfleet-system/inferfleet",
        ),
        "replace",
    )
    regions = {one.state.get("location") or one.state.get("region") for one in two.records()}
    assert regions == {"us-east4", None}
    assert [one["metadata"]["name"] for one in two.items("far", "gateways")] == ["inferfleet"]


def test_a_drained_cluster_of_googles_becomes_one_that_exists_on_which_everything_is_made(two: Fleet) -> None:
    two.project.write("far", existing("far"))
    two.project.write("more", model("there", on="far"), service("talk", there=1))
    two.mend()
    done = two.up()
    assert done.operations["Deployment far/ml/there-decode-l4"] == "create"
    assert two.left() == ([], [], [])
    assert serving(url(two, "far", "ml/talk"), requests=2) == _engines(two, "far")
    assert two.preview().operations == {}


def _engines(two: Fleet, cluster: str) -> set[str]:
    """The pods that serve a model."""
    pods = two.items(cluster, "pods", "-l", "inferfleet.dev/serves=true")
    return {f"ml/{one['metadata']['name']}" for one in pods}
