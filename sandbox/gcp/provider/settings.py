"""The settings of a provider resource, and the engines that the simulated provider refuses to serve."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferfleet.cloud.gke.facts.schema import resource
from sandbox.gcp.provider.check import Failure
from sandbox.gcp.rules.errors import bad_request
from sandbox.gcp.rules.names import cluster_path
from sandbox.gcp.rules.resource_types import RESOURCE_TYPES
from sandbox.gcp.store import POOL
from sandbox.places import StackPlaces

Values = dict[str, Any]
# Settings of the real provider, as pulumi_gcp.ProviderArgs has them, that are accepted and have no effect.
_WITHOUT_EFFECT = {
    *("accessToken", "addPulumiAttributionLabel", "addTerraformAttributionLabel", "batching"),
    *("billingProject", "credentials", "defaultLabels", "disableGlobalProjectWarning"),
    *("impersonateServiceAccount", "impersonateServiceAccountDelegates", "requestReason"),
    *("requestTimeout", "scopes", "universeDomain", "userProjectOverride", "version"),
    *("containerCustomEndpoint", "skipRegionValidation", "pluginDownloadURL"),
}


@dataclass(frozen=True)
class Settings:
    """What the provider fills into resources that do not say it themselves; "" for nothing."""

    project: str = ""
    region: str = ""
    zone: str = ""

    def completed(self, token: str, inputs: Values) -> Values:
        """Return the inputs with project and region or location. Raises ApiError when one is not set."""
        completed = dict(inputs)
        own = {"project": self.project, "region": self.region, "location": self.region or self.zone}
        scope = [name for name in ("project", *RESOURCE_TYPES[token].scoped) if name in resource(token)]
        for name in scope:
            if name not in completed and own[name]:
                completed[name] = own[name]
        cluster = str(completed.get("cluster", ""))
        # A pool that names its cluster by its ID takes project and location from it.
        if token == POOL and cluster.count("/") == 5:
            completed["project"], completed["location"], _ = cluster_path(cluster)
        for name in scope:
            if name not in completed:
                raise bad_request(f"{name}: required field is not set")
        return completed


def check_settings(values: Mapping[str, Any]) -> tuple[Failure, ...]:
    """Return a failure for every setting that the provider does not have."""
    unknown = [name for name in values if name not in {*_WITHOUT_EFFECT, "project", "region", "zone"}]
    return tuple(Failure(name, f"the provider gcp has no setting {name!r}") for name in unknown)


def read_settings(values: Mapping[str, Any]) -> Settings:
    """Return the settings that the arguments of a provider resource give."""
    return Settings(*(str(values.get(name) or "") for name in ("project", "region", "zone")))


def refusal(places: StackPlaces, environment: Mapping[str, str]) -> str:
    """Return why the simulated cloud does not serve an engine in this environment; "" when it does.

    It serves only the sandbox's own backend: the state in another one would list resources that do not exist.
    """
    backend, home = environment.get("PULUMI_BACKEND_URL", ""), environment.get("PULUMI_HOME", "")
    if backend == f"file://{places.state}" and Path(home or os.sep) == places.pulumi_home:
        return ""
    return (
        f"this provider gcp is simulated and serves the sandbox of stack {places.stack} alone, with its "
        f"backend file://{places.state}, not {backend or 'an unnamed one'}. Use "
        f"`inferfleet sandbox env --stack {places.stack}`, or the real provider."
    )
