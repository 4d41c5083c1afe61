"""ModelService: one address over endpoints, by weight; and the block `route`, which deployments have too."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.documents.kinds.base import (
    API_VERSION,
    HOSTNAME,
    Duration,
    LabelSelector,
    NamespacedMetadata,
    RefusedField,
    StrictModel,
)
from inferfleet.documents.problems import Mistake, Mistaken
from inferfleet.documents.wording import shown

Hostname = Annotated[str, HOSTNAME]
# Paths as the CRD of HTTPRoute takes them, without a slash at their end, which says nothing more:
# https://gateway-api.sigs.k8s.io/reference/spec/#httppathmatch (2026-11-24).
_PATH = re.compile(r"/|(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
# Each path is a rule of the HTTPRoute, which has 16 at most. https://gateway-api.sigs.k8s.io/reference/spec/#httproutespec
PATH_LIMIT = 16
# Names of models as values of a header.
_MODEL = re.compile(r"[!-~]{1,256}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")


def _check_headers(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers. Raises Mistaken for those that an HTTPRoute cannot match:
    https://gateway-api.sigs.k8s.io/reference/spec/#httpheadermatch.
    """
    mistakes = []
    seen: set[str] = set()
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            what = f"{shown(name)!r} is not a header name"
            mistakes.append(Mistake(what, "Write it like x-model", (name,)))
        if name.lower() in seen:
            what = f"header {shown(name)} is there twice: upper and lower case make no difference"
            mistakes.append(Mistake(what, "Keep one of the two: a gateway looks at the first only", (name,)))
        seen.add(name.lower())
        if not 1 <= len(value) <= 4096:
            what = f"header {shown(name)} must have 1 to 4096 characters, not {len(value)}"
            mistakes.append(Mistake(what, "Change it", (name,)))
    if len(headers) > 16:
        mistakes.append(Mistake(f"a route matches at most 16 headers, not {len(headers)}", "Remove some"))
    if mistakes:
        raise Mistaken(*mistakes)
    return headers


def _repeat_mistakes(called: str, texts: tuple[str, ...]) -> list[Mistake]:
    """Return a mistake for each text that stands before too."""
    return [
        Mistake(f"{called} {shown(text)} is there twice", "Keep one of the two", (index,))
        for index, text in enumerate(texts)
        if text in texts[:index]
    ]


def _check_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths. Raises Mistaken for those that an HTTPRoute does not take, and for repeated ones."""
    mistakes = [
        Mistake(f"{shown(path)!r} is no path of an engine", "Write it like /v1 or /generate", (index,))
        for index, path in enumerate(paths)
        if not _PATH.fullmatch(path) or len(path) > 256
    ]
    mistakes += _repeat_mistakes("path", paths)
    if mistakes:
        raise Mistaken(*mistakes)
    return paths


class RouteForm(StrictModel):
    """Which requests a gateway hands on, and whether their paths are rewritten before."""

    refused_fields = {
        "model": RefusedField(
            "Remove model; requests are told apart by path, hostnames and headers",
            why="the name of a model stands in the body of a request, which gateways do not read",
        )
    }

    path: Literal["/"] | None = None
    """`/` takes requests under the engine's own paths, which are not rewritten. Default: they are behind a
    prefix of namespace and name, which the gateway cuts off.
    """
    paths: Annotated[tuple[str, ...], Field(max_length=PATH_LIMIT), AfterValidator(_check_paths)] = ()
    """Paths of the engine that can be asked, with all below them, such as `/rerank`; where they are for
    requests without prompts, a picker may lose affinity to prefixes, which a notice tells. Default: `/v1`,
    for Triton `/v2` too; health and metrics are not among them.
    """
    hostnames: Annotated[tuple[Hostname, ...], Field(max_length=16)] = ()
    """Host names the route answers to. Default: all that the gateway serves."""
    headers: Annotated[dict[str, str], AfterValidator(_check_headers)] = {}
    """HTTP headers and the exact values a request must have for this route. Default: none."""

    @model_validator(mode="after")
    def _check_paths_remain(self) -> "RouteForm":
        if self.path is None and "/" in self.paths:
            what = (
                "paths has /, of which a gateway would have to make an empty path: some send //v1 then, and "
                "GKE's do not support it"
            )
            raise Mistaken(Mistake(what, "Write path: / beside it, or list the engine's paths", ("paths",)))
        return self


class ServiceEndpoints(StrictModel):
    """Endpoints that share one weight."""

    weight: int = Field(default=1, ge=1, le=1_000_000)
    """Share of the traffic, relative to the other entries. On each cluster it is split over the selected
    endpoints in proportion to their replicas there; an entry without endpoints on a cluster gets nothing
    there.
    """
    selector: LabelSelector
    """Selects endpoints of the service's namespace by the labels of their deployment and their cluster.
    `inferfleet.dev/deployment` and `inferfleet.dev/cluster` are among them.
    """


class Timeouts(StrictModel):
    """How long an InferenceGateway waits for the service."""

    request: Duration = 3600
    """For the end of an answer, such as `1h`; the default is in seconds."""
    idle: Duration = 600
    """For the next part of an answer, the first one too, such as `10m`; the default is in seconds."""


def _check_models(models: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names. Raises Mistaken for those that no header can have, and for repeated ones."""
    mistakes = [
        Mistake(f"{shown(name)!r} is no name of a model", "Use printable characters without blanks", (index,))
        for index, name in enumerate(models)
        if not _MODEL.fullmatch(name)
    ]
    mistakes += _repeat_mistakes("name", models)
    if mistakes:
        raise Mistaken(*mistakes)
    return models


class ModelServiceSpec(StrictModel):
    """What a ModelService routes to."""

    endpoints: Annotated[tuple[ServiceEndpoints, ...], Field(min_length=1, max_length=64)]
    """Groups of endpoints and their weights. Each cluster with at least one of them gets a route under
    `/<namespace>/<service>/`, unless `route` says otherwise.
    """
    route: RouteForm = RouteForm()
    """Which requests are for the service. Default: those under `/<namespace>/<service>/` for all hosts, with
    the paths of its deployments' engines.
    """
    gateways: Annotated[tuple[str, ...], Field(max_length=16)] = ()
    """InferenceGateways that lead to the service. Default: none, and it is reached at each cluster's own
    gateway alone.
    """
    models: Annotated[tuple[str, ...], Field(max_length=256), AfterValidator(_check_models)] = ()
    """Names by which requests to these gateways ask for the service in `model`, which all of its deployments
    declare (`engine.servedNames`, and `chat:poems` for an adapter of `engine.adapters`). Default: all such
    names.
    """
    timeouts: Timeouts = Timeouts()
    """How long these gateways wait for the service."""
    prefer: Literal["SameRegion", "Weight"] = "SameRegion"
    """Where these gateways send requests: `SameRegion`: to clusters of their own region by weight, and to
    others when those fail; `Weight`: to all clusters by weight.
    """

    @model_validator(mode="after")
    def _check_fields_of_gateways(self) -> "ModelServiceSpec":
        fields = [name for name in ("models", "timeouts", "prefer") if name in self.model_fields_set]
        if fields and not self.gateways:
            what = f"{fields[0]} is for InferenceGateways, and the service names none"
            raise Mistaken(Mistake(what, f"Add gateways, or remove {fields[0]}", (fields[0],)))
        if twice := [name for index, name in enumerate(self.gateways) if name in self.gateways[:index]]:
            raise Mistaken(Mistake(f"gateway {twice[0]} is there twice", "Keep one", ("gateways",)))
        return self


class ModelService(StrictModel):
    """One address over the endpoints it selects, with traffic split by weight."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["ModelService"] = "ModelService"
    """Kind of the document."""
    metadata: NamespacedMetadata
    """Name, namespace and labels of the service."""
    spec: ModelServiceSpec
    """What the service routes to."""
