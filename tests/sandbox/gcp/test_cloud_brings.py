"""What a cluster of the simulated cloud has by its version and network, and what former documents lack."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cloud_double import IDS, create, with_cluster
from small_cloud import SUBNET

from sandbox.gcp.nodes.kwok_kubernetes import definitions
from sandbox.gcp.rules.networking import has_proxies

EXTENDED = {"releaseChannel": {"channel": "EXTENDED"}}
NETWORK = "projects/acme/global/networks/net"


@dataclass(frozen=True)
class Tools:
    """Names of the files that the toolchain has."""

    crds: tuple[Path, ...] = tuple(
        map(Path, ("gateway_httproutes", "inference_inferencepools", "leaderworkersets"))
    )
    gke_networks: tuple[Path, ...] = (Path("networks"),)
    gke_autoscaling: tuple[Path, ...] = (Path("requests"),)


def brought(folder: Path, **settings: Any) -> list[str]:
    """The definitions of a cluster with these settings, but for those that every one has."""
    cloud, _ = with_cluster(folder, **settings)
    record = cloud.store.read()[IDS["east"]]
    return [file.name for file in definitions(record, Tools()) if file.name != "crds.yaml"]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["gateway_httproutes", "inference_inferencepools", "requests"]),
        # A stack of before, whose InferencePools nobody defines: "no matches for kind".
        ({"minMasterVersion": "1.33"}, ["gateway_httproutes", "requests"]),
        (
            {"minMasterVersion": "1.34.0-gke.1000000", **EXTENDED},
            ["gateway_httproutes", "requests"],
        ),
        (
            {"minMasterVersion": "1.34.0-gke.1626000", **EXTENDED},
            ["gateway_httproutes", "inference_inferencepools", "requests"],
        ),
        ({"minMasterVersion": "1.32.2-gke.1297000", **EXTENDED}, ["gateway_httproutes"]),
        ({"gatewayApiConfig": None}, ["requests"]),
        (
            {"enableMultiNetworking": True, "datapathProvider": "ADVANCED_DATAPATH"},
            ["gateway_httproutes", "inference_inferencepools", "networks", "requests"],
        ),
    ],
)
def test_gke_brings_what_its_version_and_settings_say(
    tmp_path: Path, settings: dict[str, Any], names: list[str]
) -> None:
    assert brought(tmp_path, **settings) == names


@pytest.mark.parametrize(
    ("more", "active"),
    [
        ({"purpose": "REGIONAL_MANAGED_PROXY", "role": "ACTIVE"}, True),
        ({"purpose": "REGIONAL_MANAGED_PROXY", "role": "BACKUP"}, False),
        ({"purpose": "REGIONAL_MANAGED_PROXY", "role": "ACTIVE", "region": "us-east4"}, False),
        ({}, False),
        (None, False),
    ],
    ids=["active", "backup", "elsewhere", "of nodes", "none"],
)
def test_a_network_has_proxies_by_an_active_subnetwork_for_them_in_the_region(
    tmp_path: Path, more: dict[str, Any] | None, active: bool
) -> None:
    cloud, _ = with_cluster(tmp_path)
    if more is not None:
        place = {"name": "proxies", "project": "acme", "network": NETWORK, "ipCidrRange": "10.9.0.0/23"}
        create(cloud, {"token": SUBNET, "inputs": {**place, "region": "us-east5", **more}})
    records = cloud.store.read()
    assert has_proxies(records[IDS["east"]].state, records) is active
