"""Zones and machine types, as Google has them, against what pools of a cluster ask for."""

from typing import Any

import pytest
from fake_google import FakeGoogle
from small_clouds import clouds, cluster, made, pool
from small_gke import at

from inferfleet.clusters.connections.google import ComputeApi, GoogleLogin
from inferfleet.clusters.preflight.check import Check
from inferfleet.clusters.preflight.projects import ZONES, zone_checks

PROJECT = "/compute/v1/projects/acme-ml"


def looked(google: FakeGoogle, *pools: dict[str, Any], **gke: Any) -> tuple[Check, ...]:
    compute = ComputeApi(at(google), GoogleLogin(), seconds=300)
    documents = clouds(cluster("east", *pools, **gke))
    return zone_checks(documents, made(documents), compute)


def has(google: FakeGoogle, **types: str) -> None:
    """Google has zones a to c in us-east5, and in each of `types` these machine types, apart by blanks."""
    google.clusters[f"{PROJECT}/regions/us-east5"] = (
        200,
        {"zones": [f"https://g/zones/us-east5-{x}" for x in "abc"]},
    )
    for letter, names in types.items():
        for name in names.split():
            google.clusters[f"{PROJECT}/zones/us-east5-{letter}/machineTypes/{name}"] = 200, {"name": name}


def told(checks: tuple[Check, ...]) -> list[tuple[str, str | None]]:
    return [(check.problem.what, check.problem.path) for check in checks if check.problem]


def test_zones_with_the_machines_of_all_pools_are_fine(google: FakeGoogle) -> None:
    has(google, a="e2-standard-16 g2-standard-48")
    assert looked(google, pool(zones=["us-east5-a"]), zones=["us-east5-a"]) == (Check("cluster east", ZONES),)


def test_a_zone_that_google_does_not_have_is_wrong(google: FakeGoogle) -> None:
    has(google, a="e2-standard-16 g2-standard-48")
    checks = looked(google, pool(zones=["us-east5-a", "us-east5-z"]), zones=["us-east5-a"])
    assert [check.verdict for check in checks] == ["wrong"]
    assert told(checks) == [
        ("there is no zone us-east5-z, which pool l4 of cluster east names", "spec.nodePools[0].zones")
    ]
    assert checks[0].problem
    assert checks[0].problem.next_step == "Name others: us-east5 has us-east5-a, us-east5-b, us-east5-c"


def test_a_machine_type_that_a_zone_lacks_is_wrong(google: FakeGoogle) -> None:
    has(google, a="e2-standard-16", b="g2-standard-48")
    checks = looked(google, pool(zones=["us-east5-a", "us-east5-b"]), zones=["us-east5-b"])
    assert told(checks) == [
        (
            "Google has no e2-standard-16 in us-east5-b, which the system pool of cluster east asks for",
            "spec.cluster.gke.zones",
        ),
        (
            "Google has no g2-standard-48 in us-east5-a, which pool l4 of cluster east asks for",
            "spec.nodePools[0].zones",
        ),
    ]


def test_where_google_chooses_the_zones_one_with_the_machines_is_enough(google: FakeGoogle) -> None:
    has(google, b="e2-standard-16", c="g2-standard-48")
    assert looked(google, pool()) == (Check("cluster east", ZONES),)
    assert told(looked(google, pool(), pool("h", "h100", zones=["us-east5-c"])))[0][0] == (
        "Google has no a3-highgpu-8g in us-east5-c, which pool h of cluster east asks for"
    )


@pytest.mark.parametrize("answer", [(200, {}), (404, {"error": {"code": 404, "message": "no"}})])
def test_what_google_does_not_say_is_not_seen(google: FakeGoogle, answer: tuple[int, Any]) -> None:
    google.clusters[f"{PROJECT}/regions/us-east5"] = answer
    assert [check.verdict for check in looked(google, pool())] == ["unseen"]
