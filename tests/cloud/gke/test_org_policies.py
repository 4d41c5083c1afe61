"""Which effective policies of a project refuse what of a cluster that is to come."""

from typing import Any

import pytest
from small_clouds import clouds, cluster, made, pool, recipe

from inferfleet.cloud.gke.org_policies import (
    KEYS,
    LOAD_BALANCERS,
    PUBLIC_ADDRESSES,
    SHIELDED,
    policy_problems,
    policy_uses,
)
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem

KEY = "projects/keys/locations/us-east5/keyRings/gke/cryptoKeys/nodes"
PROJECT = "acme-ml"
BOTH_KEYS = {"databaseEncryption": KEY, "bootDiskKmsKey": KEY}
EXTERNAL = {"gateway": {"className": "gke-l7-regional-external-managed", "provider": "gke"}}
INTERNAL = {"gateway": {"className": "gke-l7-rilb", "provider": "gke"}}


def asked(documents: Documents) -> list[str]:
    return [use.constraint for use in policy_uses(documents, [made(documents)])]


def told(documents: Documents, constraint: str, *rules: dict[str, Any]) -> list[Problem]:
    uses = policy_uses(documents, [made(documents)])
    return list(policy_problems(uses, {(PROJECT, constraint): {"spec": {"rules": list(rules)}}}))


def fields(documents: Documents, constraint: str, *rules: dict[str, Any]) -> list[str]:
    return [one.path for one in told(documents, constraint, *rules)]


def values(**listed: list[str]) -> dict[str, Any]:
    return {"values": listed}


def test_only_policies_that_may_refuse_something_are_asked_about() -> None:
    other = {"gateway": {"className": "envoy"}}
    assert asked(clouds(cluster("east", serving=other, **BOTH_KEYS))) == []
    assert asked(clouds(cluster("east", serving=EXTERNAL, privateNodes=False))) == [
        KEYS,
        KEYS,
        LOAD_BALANCERS,
        PUBLIC_ADDRESSES,
    ]


def test_a_driver_that_others_install_has_no_secure_boot() -> None:
    own = recipe("own", "g2-standard-48", "nvidia-l4", 4, driver="INSTALLATION_DISABLED")
    documents = clouds(cluster("east", pool("a", "own"), pool("b")), classes=(own,))
    assert told(documents, SHIELDED, {"enforce": True}) == [
        Problem(
            "class own has driver INSTALLATION_DISABLED, whose nodes have no Secure Boot, so policy "
            "compute.requireShieldedVm of project acme-ml refuses pool a of cluster east (Google, "
            "organization policy constraints, 2026-11-28: "
            "https://docs.cloud.google.com/organization-policy/reference/org-policy-constraints)",
            "Write another driver, or have somebody who keeps policies of the organisation except the "
            "project from compute.requireShieldedVm",
            "spec.provisioning.gke.driver",
            kind="InferenceClass",
            key="own",
        )
    ]
    assert told(documents, SHIELDED, {"enforce": False}) == []


DATABASE, DISKS = "spec.cluster.gke.databaseEncryption", "spec.cluster.gke.bootDiskKmsKey"


@pytest.mark.parametrize(
    ("gke", "denied", "lacking"),
    [
        ({}, ["container.googleapis.com", "compute.googleapis.com"], [DATABASE, DISKS]),
        ({}, ["is:compute.googleapis.com"], [DISKS]),
        ({}, ["storage.googleapis.com"], []),
        (BOTH_KEYS, ["container.googleapis.com", "compute.googleapis.com"], []),
        ({"bootDiskKmsKey": KEY}, ["container.googleapis.com", "compute.googleapis.com"], [DATABASE]),
    ],
)
def test_services_that_take_keys_alone_refuse_what_has_none(
    gke: dict[str, Any], denied: list[str], lacking: list[str]
) -> None:
    assert fields(clouds(cluster("east", **gke)), KEYS, values(deniedValues=denied)) == lacking


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ({"allowAll": True}, []),
        ({"denyAll": True}, ["external", "internal"]),
        (values(deniedValues=["in:EXTERNAL"]), ["external"]),
        (values(deniedValues=["EXTERNAL_MANAGED_HTTP_HTTPS"]), ["external"]),
        (values(deniedValues=["GLOBAL_EXTERNAL_MANAGED_HTTP_HTTPS"]), []),
        (values(allowedValues=["in:INTERNAL"]), ["external"]),
        (values(allowedValues=["INTERNAL_TCP_UDP"]), ["external", "internal"]),
        (values(allowedValues=["INTERNAL_HTTP_HTTPS", "is:EXTERNAL_MANAGED_HTTP_HTTPS"]), []),
    ],
)
def test_a_gateway_is_a_load_balancer_of_a_type_that_a_policy_lists(
    rule: dict[str, Any], refused: list[str]
) -> None:
    by_kind = {"external": EXTERNAL, "internal": INTERNAL}
    found = {
        kind: fields(clouds(cluster("east", serving=serving)), LOAD_BALANCERS, rule)
        for kind, serving in by_kind.items()
    }
    path = "spec.serving.gateway.className"
    assert found == {kind: [path] if kind in refused else [] for kind in by_kind}


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ({"allowAll": True}, False),
        ({"denyAll": True}, True),
        (values(allowedValues=["projects/acme-ml/zones/us-east5-a/instances/bastion"]), True),
        (values(allowedValues=["under:folders/7"]), False),
        (values(deniedValues=["projects/acme-ml/zones/us-east5-a/instances/bastion"]), False),
    ],
)
def test_nodes_with_public_addresses_are_on_no_list_of_machines(rule: dict[str, Any], refused: bool) -> None:
    expected = ["spec.cluster.gke.privateNodes"] if refused else []
    assert fields(clouds(cluster("east", privateNodes=False)), PUBLIC_ADDRESSES, rule) == expected
    assert fields(clouds(cluster("east")), PUBLIC_ADDRESSES, rule) == []
