"""What a provider resource of a program says: the project, and the backend it may not be used with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.gcp.provider.check import Failure
from sandbox.gcp.rules.errors import bad
from sandbox.gcp.rules.resource_types import RESOURCE_TYPES
from sandbox.gcp.store import POOL
from sandbox.places import StackPlaces

Values = dict[str, Any]
# Settings of the real provider, as pulumi_gcp.ProviderArgs has them, that can be taken without an effect.
_TAKEN = {
    *("accessToken", "addPulumiAttributionLabel", "addTerraformAttributionLabel", "batching"),
    *("billingProject", "credentials", "defaultLabels", "disableGlobalProjectWarning"),
    *("impersonateServiceAccount", "impersonateServiceAccountDelegates", "requestReason"),
    *("requestTimeout", "scopes", "universeDomain", "userProjectOverride", "version"),
    *("containerCustomEndpoint", "skipRegionValidation", "pluginDownloadURL"),
}


@dataclass(frozen=True)
class Settings:
    """What the provider is set to where a resource says nothing; "" when it says nothing either."""

    project: str = ""
    region: str = ""
    zone: str = ""

    def completed(self, token: str, inputs: Values) -> Values:
        """The inputs with project and region filled in. Raises ApiError when nobody says them."""
        filled = dict(inputs)
        here = {"project": self.project, "region": self.region, "location": self.region or self.zone}
        for name in ("project", *RESOURCE_TYPES[token].scoped):
            # A pool that names its cluster by its ID has project and location in it.
            if name not in filled and here[name]:
                filled[name] = here[name]
        cluster = str(filled.get("cluster", "")).split("/")
        if token == POOL and len(cluster) == 6:
            filled["project"], filled["location"] = cluster[1], cluster[3]
        for name in ("project", *RESOURCE_TYPES[token].scoped):
            if name not in filled:
                raise bad(f"{name}: required field is not set")
        return filled


def check_settings(values: Mapping[str, Any]) -> tuple[Failure, ...]:
    """A failure for every setting the provider does not have."""
    unknown = [name for name in values if name not in {*_TAKEN, "project", "region", "zone"}]
    return tuple(Failure(name, f"the provider gcp has no setting {name!r}") for name in unknown)


def read_settings(values: Mapping[str, Any]) -> Settings:
    """Of the arguments of a provider resource."""
    return Settings(*(str(values.get(name) or "") for name in ("project", "region", "zone")))


def refusal(places: StackPlaces, environment: Mapping[str, str]) -> str:
    """Why the simulated cloud will not serve an engine in this environment; "" when it will.

    A state elsewhere would hold resources that nobody has, so it serves the sandbox's own backend only.
    """
    backend, home = environment.get("PULUMI_BACKEND_URL", ""), environment.get("PULUMI_HOME", "")
    if backend == f"file://{places.state}" and Path(home or os.sep) == places.pulumi_home:
        return ""
    return (
        f"this provider gcp is simulated and serves the sandbox of stack {places.stack} alone, with its "
        f"backend file://{places.state}, not {backend or 'an unnamed one'}. Use "
        f"`inferfleet sandbox env --stack {places.stack}`, or the real provider."
    )
