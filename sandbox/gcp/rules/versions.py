"""Versions of GKE: what each channel offers to new clusters, and which of them a cluster gets.

The lists are made up, as real ones change every week: of each minor version that a channel has one late
patch, and on EXTENDED early ones besides, of before something came.
"""

from typing import Any

from sandbox.gcp.rules.errors import bad_request
from sandbox.toolchain.parts import KUBERNETES

Values = dict[str, Any]
# The version of the sandbox's API servers, written as GKE writes it.
VERSION = f"{KUBERNETES}-gke.1000000"
_NEWEST = int(KUBERNETES.split(".")[1])
_EARLY = ("1.34.0-gke.1626000", "1.34.0-gke.1000000", "1.32.2-gke.1652000", "1.32.2-gke.1297000")


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: (1, 34, 0, 1626000) for `1.34.0-gke.1626000`."""
    return tuple(int(number) for number in version.replace("-gke", "").split("."))


def _late(oldest: int) -> tuple[str, ...]:
    return (VERSION, *(f"1.{number}.9-gke.1000000" for number in range(_NEWEST - 1, oldest - 1, -1)))


# Channels have minor versions for 14 months, EXTENDED for 24, which left these two when the lists were made:
# https://cloud.google.com/kubernetes-engine/docs/concepts/release-channels
CHANNELS: dict[str, tuple[str, ...]] = {
    "RAPID": _late(33),
    "REGULAR": _late(33),
    "STABLE": _late(33),
    "EXTENDED": tuple(sorted((*_late(30), *_EARLY), key=numbers, reverse=True)),
}


def version_of(state: Values) -> str:
    """Return the version of a cluster's control plane; raise ApiError where its channel does not offer it.

    Of `1.34` GKE takes the newest patch, of a new cluster that names none the sandbox's. The provider asks
    for no upgrade to a version that is lower than the cluster's (resource_container_cluster.go). The API
    server is the sandbox's nevertheless; what differs is what GKE brings along.
    """
    asked, has = state.get("minMasterVersion"), state.get("masterVersion")
    if asked in (None, "", "latest", "-"):
        return has or VERSION
    wanted = _parsed(asked)
    if has and wanted <= numbers(has)[: len(wanted)]:
        return str(has)
    channel = (state.get("releaseChannel") or {}).get("channel") or "REGULAR"
    offered = CHANNELS[channel]
    fitting = [version for version in offered if numbers(version)[: len(wanted)] == wanted]
    if fitting:
        return fitting[0]
    # https://github.com/terraform-google-modules/terraform-docs-samples/pull/829 has the words for a minor
    # version, https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/2177
    # those for a patch.
    if len(wanted) == 2:
        raise bad_request(f'No valid versions with the prefix "{asked}" found.')
    listed = ", ".join(reversed(offered))
    raise bad_request(f'Master version must be one of "{channel}" channel supported versions [{listed}].')


def _parsed(version: str) -> tuple[int, ...]:
    try:
        return numbers(version)
    except ValueError:
        raise bad_request(f'Master version "{version}" is unsupported') from None


def server_config() -> Values:
    """Return what getServerConfig answers, which is the same in every region here."""
    return {
        "defaultClusterVersion": VERSION,
        "validMasterVersions": list(CHANNELS["EXTENDED"]),
        "validNodeVersions": list(CHANNELS["EXTENDED"]),
        "channels": [
            {"channel": channel, "defaultVersion": offered[0], "validVersions": list(offered)}
            for channel, offered in CHANNELS.items()
        ],
    }
