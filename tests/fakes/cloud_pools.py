"""Pools of a cluster that the stack creates, of which a test knows the names alone."""

from inferfleet.cloud.values import CloudComponent, CloudPool


def cloud_pools(**names: str) -> dict[str, CloudPool]:
    """Pools of L4s on cluster `east`: by the name in the document (`_` for `-`), the name in the cloud."""
    in_cloud = {name.replace("_", "-"): name_there for name, name_there in names.items()}
    return {
        name: CloudPool("east", name, "l4", there, CloudComponent("GpuNodePool", f"east/{name}", ()), {})
        for name, there in in_cloud.items()
    }
