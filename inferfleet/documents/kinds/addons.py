"""`serving.stack`: which add-ons of a cluster inferfleet installs, and in which versions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from inferfleet.documents.kinds.base import StrictModel
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.documents.wording import named, one_of, shown
from inferfleet.tables.addons import ADDONS, BROUGHT_BY_GKE, NAMES, AddonName

_PROVIDED, _MANAGED = "Provided", "Managed"
_WORDS = (_PROVIDED, _MANAGED)


@dataclass(frozen=True)
class _OrWord:
    """Metadata of a map that a person may also write as one of two words."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(_WORDS), "type": "string"}, handler(schema)]}


class Addon(StrictModel):
    """An add-on that inferfleet installs, written `Managed` where neither field is needed."""

    version: str | None = None
    """Version to install. Default: the one that is rendered already, or else the newest that inferfleet
    knows; another one is an upgrade, which `inferfleet stack render` writes down first.
    """
    values: dict[str, Any] = {}
    """Values of its chart beside those of inferfleet; refused where it has none. Clusters of a stack with one
    version have the same values.
    """


def _addon(written: Any) -> Any:
    if written == _PROVIDED:
        return None
    if written == _MANAGED:
        return {}
    if not isinstance(written, dict):
        words = f"{{field}} {shown(str(written))!r} is neither of {' and '.join(_WORDS)}"
        raise mistaken(words, one_of(str(written), _WORDS, "There are"))
    return written


_Written = BeforeValidator(_addon)


class Addons(StrictModel):
    """The add-ons that inferfleet installs on a cluster, as far as documents need them. Each is `Provided`,
    `Managed`, or a map with a version.
    """

    gateway_api: Annotated[Addon | None, _Written, _OrWord()] = Field(default=None, alias="gatewayAPI")
    """Definitions of Gateway API, of which clusters of source GKE have GKE's own. Default: `Provided`."""
    inference_extension: Annotated[Addon | None, _Written, _OrWord()] = None
    """Definition of InferencePool, of which clusters of source GKE have GKE's own. Default: `Provided`."""
    istio: Annotated[Addon | None, _Written, _OrWord()] = None
    """Istio's definitions and istiod, for a gateway with provider `istio`. Default: `Provided`."""
    envoy_gateway: Annotated[Addon | None, _Written, _OrWord()] = None
    """Envoy Gateway's definitions and its controller, for InferenceGateways. Default: `Provided`."""
    leader_worker_set: Annotated[Addon | None, _Written, _OrWord()] = None
    """LeaderWorkerSet and its controller, for workers of several pods. Default: `Provided`."""

    @model_validator(mode="after")
    def _check_releases(self) -> "Addons":
        mistakes = []
        for name, addon in self.managed(on_gke=False):
            row = ADDONS[name]
            if row.release(addon.version) is None:
                version, known = str(addon.version), [release.version for release in row.releases]
                what = f"{row.project} {shown(version)} is not among the versions to install"
                mistakes.append(Mistake(what, one_of(version, known, "There are"), (name, "version")))
            if addon.values and not row.releases[0].charts:
                what = f"{row.project} has no chart, so there are no values for it"
                mistakes.append(Mistake(what, "Remove them", (name, "values")))
        if mistakes:
            raise Mistaken(*mistakes)
        return self

    def managed(self, *, on_gke: bool) -> Iterator[tuple[AddonName, Addon]]:
        """Yield the add-ons to install, in their order; not those that GKE brings to its own clusters."""
        written: dict[AddonName, Addon | None] = {
            "gatewayAPI": self.gateway_api,
            "inferenceExtension": self.inference_extension,
            "istio": self.istio,
            "envoyGateway": self.envoy_gateway,
            "leaderWorkerSet": self.leader_worker_set,
        }
        for name in NAMES:
            addon = written[name]
            if addon is not None and not (on_gke and name in BROUGHT_BY_GKE):
                yield name, addon


def _addons(written: Any) -> Any:
    if written == _PROVIDED:
        return {}
    if written == _MANAGED:
        return dict.fromkeys(NAMES, _MANAGED)
    if not isinstance(written, dict):
        what = f"{{field}} {named(written)} is neither of {' and '.join(_WORDS)}, nor says so of add-ons"
        raise mistaken(what, one_of(str(written), _WORDS, "There are"))
    return written


Stack = Annotated[Addons, BeforeValidator(_addons), _OrWord()]
