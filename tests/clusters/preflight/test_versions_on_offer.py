"""What `inferfleet doctor` says of the version with which a new cluster is to begin."""

import pytest
from fake_google import PATH, PLAN, FakeGoogle

from inferfleet.clusters.connections.google import ContainerApi
from inferfleet.clusters.preflight.check import Check, problems
from inferfleet.clusters.preflight.projects import version_check
from inferfleet.documents.kinds.inference_cluster import InferenceCluster

CONFIG = "/v1/projects/acme/locations/us-east5/serverConfig"
OFFERED = ["1.36.1-gke.1200000", "1.35.6-gke.1100000", "1.35.4-gke.1000000"]


def checked(google: FakeGoogle, version: str | None) -> tuple[Check, ...]:
    gke = {"project": "acme-prod", "region": "us-east5", "minVersion": version}
    spec = {
        "cluster": {"source": "GKE", "gke": gke},
        "nodePools": [{"name": "l4", "className": "l4", "nodeCount": 1}],
    }
    document = InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})
    channels = [
        {"channel": "RAPID", "validVersions": ["1.37.0-gke.1000000"]},
        {"channel": "REGULAR", "validVersions": OFFERED},
    ]
    google.clusters.setdefault(CONFIG, (200, {"channels": channels}))
    return version_check(document, PLAN, ContainerApi(google.address), seconds=300)


@pytest.mark.parametrize("version", ["1.35", "1.35.4", "1.35.4-gke.1000000"])
def test_a_version_that_the_channel_has_in_the_region_is_fine(google: FakeGoogle, version: str) -> None:
    assert checked(google, version) == (Check("cluster east", "minVersion"),)


@pytest.mark.parametrize("version", ["1.34", "1.37", "1.35.5", "1.35.4-gke.1000001"])
def test_a_version_that_it_has_not_is_named_with_those_that_it_has(google: FakeGoogle, version: str) -> None:
    (problem,) = problems(checked(google, version))
    assert (problem.severity, problem.path, problem.what, problem.next_step) == (
        "error",
        "spec.cluster.gke.minVersion",
        f"cluster 'east' is to begin with GKE {version}, which Google does not offer to channel REGULAR in "
        f"us-east5; it offers {', '.join(OFFERED)}",
        'Write minVersion: "1.35" or "1.36"',
    )


def test_of_a_cluster_that_is_there_or_names_no_version_nothing_is_said(google: FakeGoogle) -> None:
    assert checked(google, None) == ()
    google.clusters[PATH] = 200, {"status": "RUNNING"}
    assert checked(google, "1.34") == ()


def test_what_google_does_not_answer_is_not_seen(google: FakeGoogle) -> None:
    google.clusters[CONFIG] = 500, {}
    assert [check.verdict for check in checked(google, "1.34")] == ["unseen"]
