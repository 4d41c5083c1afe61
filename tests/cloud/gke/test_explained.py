"""What is said of the settings of a pool: the fields behind each, and what another value would do."""

from small_clouds import clouds, cluster, made, pool

from inferfleet.cloud.gke.changes import pool_settings
from inferfleet.cloud.gke.facts.change_table import Effect


def test_a_setting_has_its_fields_and_what_the_mildest_of_them_can_do_where_it_changes_in_place() -> None:
    found = made(clouds(cluster("east", pool(capacity={"model": "Spot"}, upgradeSettings={"maxSurge": 1}))))
    said = {setting.path: (setting.names, setting.effect) for setting in pool_settings(found, "l4")}
    assert {
        path: said[path]
        for path in (
            "upgradeSettings.maxSurge",
            "nodeConfig.spot",
            "nodeConfig.gcfsConfig.enabled",
            "nodeConfig.imageType",
        )
    } == {
        "upgradeSettings.maxSurge": (("capacity.model", "upgradeSettings"), Effect.IN_PLACE),
        "nodeConfig.spot": (("capacity.model",), Effect.REPLACES),
        "nodeConfig.gcfsConfig.enabled": (("imageStreaming",), Effect.NODES),
        "nodeConfig.imageType": ((), None),
    }
