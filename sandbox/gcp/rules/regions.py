"""Google's regions and their zones, as listed on cloud.google.com/compute/docs/regions-zones (2026-04)."""

# fmt: off
_REGIONS_WITH_ZONES_ABC = [
    "africa-south1",
    "asia-east1", "asia-east2", "asia-northeast1", "asia-northeast2", "asia-northeast3", "asia-south1",
    "asia-south2", "asia-southeast1", "asia-southeast2",
    "australia-southeast1", "australia-southeast2",
    "europe-central2", "europe-north1", "europe-north2", "europe-southwest1", "europe-west2",
    "europe-west3", "europe-west4", "europe-west6", "europe-west8", "europe-west9", "europe-west10",
    "europe-west12",
    "me-central1", "me-central2", "me-west1",
    "northamerica-northeast1", "northamerica-northeast2", "northamerica-south1",
    "southamerica-east1", "southamerica-west1",
    "us-east4", "us-east5", "us-south1", "us-west1", "us-west2", "us-west3", "us-west4",
]
# fmt: on
_LETTERS = {
    **dict.fromkeys(_REGIONS_WITH_ZONES_ABC, "abc"),
    "europe-west1": "bcd",
    "us-central1": "abcf",
    "us-east1": "bcd",
}
# AI zones hold accelerators, and no cluster has one that does not name it. Those two are on
# https://docs.cloud.google.com/compute/docs/regions-zones/ai-zones (2026-11-24), which does not list all.
_AI_ZONES = {"us-central1": ("us-central1-ai1a",), "us-south1": ("us-south1-ai1b",)}
ZONES = {
    region: (*(f"{region}-{letter}" for letter in letters), *_AI_ZONES.get(region, ()))
    for region, letters in _LETTERS.items()
}


def region_of(location: str) -> str:
    """Return the region of a zone, and a region unchanged."""
    return location if location in ZONES else location.rpartition("-")[0]


def exists(location: str) -> bool:
    """Return True for a region or a zone that Google has."""
    return location in ZONES or location in ZONES.get(region_of(location), ())


def default_zones(location: str) -> tuple[str, ...]:
    """Return the zones of a cluster that names none: three of its region, or the zone that it is in."""
    return ZONES[location][:3] if location in ZONES else (location,)
