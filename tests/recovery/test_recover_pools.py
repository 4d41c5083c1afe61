"""Node pools in status ERROR, as Google tells of them."""

import pytest
from fake_google import PATH, FakeGoogle, error
from own_cluster import GKE, desired_on
from small_state import POOL, Values, resource, state, urn

from inferfleet.documents.problems import Problem
from inferfleet.recovery.state import State
from inferfleet.recovery.survey import BrokenPool, broken_pools

OWN = "projects/acme/locations/us-east5/clusters/east-1a2b3c/nodePools/l4-0a1b2c"
DELETE = "gcloud container node-pools delete l4-0a1b2c --cluster east-1a2b3c --region us-east5 --project acme"


def pool(status: str) -> Values:
    return {"name": "l4-0a1b2c", "status": status, "statusMessage": "stock-out"}


def look(google: FakeGoogle, known: State, **cluster: object) -> list[BrokenPool | Problem]:
    desired = desired_on(**cluster)
    return list(broken_pools(desired, known, stack="prod", container_api=google.address, seconds=300))


def test_a_broken_pool_comes_with_the_command_that_takes_it_away(google: FakeGoogle) -> None:
    google.clusters[PATH] = 200, {"status": "RUNNING", "nodePools": [pool("ERROR")]}
    assert look(google, state()) == [BrokenPool("east", "l4-0a1b2c", "stock-out", False, (DELETE,))]


def test_the_state_forgets_a_broken_pool_by_a_refresh(google: FakeGoogle) -> None:
    google.clusters[PATH] = 200, {"status": "RUNNING", "nodePools": [pool("ERROR")]}
    (broken,) = look(google, state(resource(POOL, "east/l4", OWN)))
    assert isinstance(broken, BrokenPool)
    refresh = f"pulumi refresh --stack prod --target '{urn(POOL, 'east/l4')}'"
    assert (broken.known, broken.commands) == (True, (DELETE, refresh))


@pytest.mark.parametrize("status", ["RUNNING", "PROVISIONING", "RECONCILING", "STOPPING"])
def test_other_pools_are_nothing_to_mend(google: FakeGoogle, status: str) -> None:
    google.clusters[PATH] = 200, {"status": "RUNNING", "nodePools": [pool(status)]}
    assert look(google, state()) == []


def test_a_cluster_that_is_not_there_has_no_pools(google: FakeGoogle) -> None:
    assert look(google, state()) == []


def test_a_cluster_given_up_is_not_asked_about(google: FakeGoogle) -> None:
    assert (look(google, state(), state="lost"), google.asked) == ([], [])


def test_why_google_does_not_tell_is_said(google: FakeGoogle) -> None:
    google.clusters[PATH] = 500, error(500, "INTERNAL", "Internal error.")
    (problem,) = look(google, state())
    assert isinstance(problem, Problem)
    assert (problem.what.startswith("the node pools of cluster 'east' cannot be read: "), problem.path) == (
        True,
        GKE,
    )
