"""What cannot change in place is read from the field table, and pools are named after it."""

from hypothesis import given
from hypothesis import strategies as st

from inferfleet.cloud.gke.facts import schema
from inferfleet.cloud.gke.facts.create_only import (
    ALSO,
    CLUSTER,
    NODE_POOL,
    NOT,
    create_only,
    digest,
    recreating,
)

GPU = {
    "count": 8,
    "type": "nvidia-h100-mega-80gb",
    "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
    "gpuSharingConfig": None,
}
POOL = {
    "name": "h100-1a2b3c",
    "cluster": "east-1a2b3c",
    "location": "us-east5",
    "project": "acme-ml",
    "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 6},
    "nodeConfig": {
        "guestAccelerators": [GPU],
        "machineType": "a3-megagpu-8g",
        "bootDisk": {"sizeGb": 200},
        "labels": {"tier": "prod"},
        "metadata": {"b": "2", "a": "1"},
        "oauthScopes": ["z", "a"],
        "spot": None,
    },
    "nodeLocations": ["us-east5-b", "us-east5-a"],
    "networkConfig": {"additionalNodeNetworkConfigs": [{"network": "n1"}, {"network": "n0"}]},
    "placementPolicy": {"type": "COMPACT"},
    "queuedProvisioning": {"enabled": True},
}


def test_the_leaves_that_replace_are_found_with_their_places_and_without_nulls_and_names() -> None:
    assert create_only(NODE_POOL, POOL) == {
        "networkConfig.additionalNodeNetworkConfigs[0].network": "n1",
        "networkConfig.additionalNodeNetworkConfigs[1].network": "n0",
        "nodeConfig.guestAccelerators[0].count": 8,
        "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion": "LATEST",
        "nodeConfig.guestAccelerators[0].type": "nvidia-h100-mega-80gb",
        "nodeConfig.metadata": {"a": "1", "b": "2"},
        "nodeConfig.oauthScopes": ["a", "z"],
        "placementPolicy.type": "COMPACT",
        "queuedProvisioning.enabled": True,
    }


def test_a_block_that_comes_and_goes_as_a_whole_counts_though_none_of_its_fields_does() -> None:
    disabled = {"ipAllocationPolicy": {"podCidrOverprovisionConfig": {"disabled": True}}}
    assert create_only(CLUSTER, disabled) == {"ipAllocationPolicy.podCidrOverprovisionConfig": True}


def test_what_makes_nodes_anew_is_told_apart_from_what_makes_the_pool_anew() -> None:
    assert recreating(POOL) == {
        "nodeConfig.bootDisk.sizeGb": 200,
        "nodeConfig.machineType": "a3-megagpu-8g",
        "nodeLocations": ["us-east5-a", "us-east5-b"],
    }


def test_every_correction_of_the_table_is_of_a_field_it_has_and_says_otherwise() -> None:
    assert [at for at in ALSO if schema.resource(at[0]) is None or _force_new(at)] == []
    assert [at for at in NOT if not _force_new(at)] == []


def _force_new(at: tuple[str, str]) -> bool:
    found = schema.at(*at)
    assert found is not None, at
    return found.force_new


def test_a_digest_is_six_hex_digits_and_pinned() -> None:
    assert [digest({}), digest(create_only(NODE_POOL, POOL))] == ["44136f", "33f1ec"]


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.booleans() | st.text(max_size=5), max_size=4))
def test_digests_do_not_depend_on_order(settings: dict[str, int | bool | str]) -> None:
    assert digest(settings) == digest(dict(reversed(settings.items())))
