"""Where Google's APIs are, overridden as for `gcloud`."""

from collections.abc import Mapping
from dataclasses import dataclass

# gcloud's settings api_endpoint_overrides/* as variables; each takes the place of the whole address:
# https://cloud.google.com/sdk/gcloud/reference/topic/configurations
_OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"


@dataclass(frozen=True)
class Addresses:
    """Without slashes at their ends."""

    container: str = "https://container.googleapis.com"
    compute: str = "https://compute.googleapis.com/compute/v1"
    quotas: str = "https://cloudquotas.googleapis.com"


GOOGLE = Addresses()


def addresses(environment: Mapping[str, str]) -> Addresses:
    """Google's own, where the environment names no others."""

    def of(name: str, default: str) -> str:
        return (environment.get(f"{_OVERRIDE}{name}") or default).rstrip("/")

    return Addresses(
        of("CONTAINER", GOOGLE.container), of("COMPUTE", GOOGLE.compute), of("CLOUDQUOTAS", GOOGLE.quotas)
    )
