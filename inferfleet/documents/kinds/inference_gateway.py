"""InferenceGateway: one address for services on many clusters, with keys, model names and failover."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.documents.kinds.base import (
    API_VERSION,
    ClusterName,
    Dns1035,
    Duration,
    Metadata,
    Name,
    RefusedField,
    StrictModel,
)
from inferfleet.documents.kinds.inference_cluster import ServiceAnnotations, ServiceType
from inferfleet.documents.pods.texts import SUBDOMAIN, SUBDOMAIN_PATTERN, TextRule
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.documents.wording import shown

# Names of objects are `front-<gateway>.<namespace>.<service>`, and the router's Service has at most 63
# characters.
GATEWAY_LIMIT = 24
# So many callers of a gateway may have limits. Envoy Gateway takes 256 rules; a caller has one.
LIMITED_CALLERS = 128
ADDRESS_PATTERN = rf"{SUBDOMAIN_PATTERN}:[1-9][0-9]{{0,4}}"


class GatewayMetadata(Metadata):
    """Name and labels of an InferenceGateway."""

    name: Annotated[str, Dns1035(GATEWAY_LIMIT)]
    """The name by which services name the gateway, and of its Kubernetes objects. Another name is another
    gateway, with another address.
    """


class Certificate(StrictModel):
    """The certificate of a listener."""

    secret_ref: Annotated[str, SUBDOMAIN]
    """Name of a Secret of type `kubernetes.io/tls` in the namespace `inferfleet-system` of each of the
    gateway's clusters: one that cert-manager or somebody else keeps there.
    """


class Https(StrictModel):
    """A listener for HTTPS."""

    certificate: Certificate
    """The certificate that clients are shown."""
    port: int = Field(default=443, ge=1, le=65_535)
    """TCP port of the listener."""


class Http(StrictModel):
    """A listener for plain HTTP."""

    port: int = Field(default=80, ge=1, le=65_535)
    """TCP port of the listener."""


class Listeners(StrictModel):
    """Where the gateway listens. One of the fields is required."""

    https: Https | None = None
    """HTTPS, with a certificate. Default: none."""
    http: Http | None = None
    """Plain HTTP, on which keys and prompts can be read on their way: `http: {}` asks for it. Default: none.
    """

    @model_validator(mode="after")
    def _check_listens(self) -> "Listeners":
        if self.https is None and self.http is None:
            raise mistaken(
                "a gateway listens for https or http", "Add https: {certificate: {secretRef: ...}}"
            )
        return self


class KeyRef(StrictModel):
    """An entry of a Secret in the namespace `inferfleet-system`."""

    name: Annotated[str, SUBDOMAIN]
    """Name of the Secret: one that the stack holds, as `inferfleet-system/<name>` of `inferfleet:secrets`, or
    one that exists on each of the gateway's clusters.
    """
    key: Annotated[str, Field(min_length=1, max_length=253)]
    """The entry: the caller's name, or for its further keys that name with a number, such as `team-a.2`."""


class CallerKey(StrictModel):
    """A key of a caller."""

    secret_ref: KeyRef
    """Where the key is. Its value is what clients send, without a newline at its end."""


class Caller(StrictModel):
    """Somebody who may send requests, by keys of his own."""

    name: Name
    """Name of the caller in rights, logs and metrics."""
    keys: Annotated[tuple[CallerKey, ...], Field(min_length=1, max_length=8)]
    """Keys of the caller, which clients send as `Authorization: Bearer <key>` or `x-api-key: <key>`. During a
    rotation there are two.
    """
    services: tuple[str, ...] = ()
    """Services that the caller may use, as `<namespace>/<name>`. Default: all of the gateway."""
    requests_per_minute: int | None = Field(default=None, ge=1, le=100_000_000)
    """Requests of the caller in a minute, over all of his keys and all services of the gateway, counted in
    the Redis of `limits`; more are answered with 429. Default: no limit.
    """

    @model_validator(mode="after")
    def _check_entries(self) -> "Caller":
        entry = re.compile(rf"{re.escape(self.name)}(\.[0-9]+)?")
        mistakes = [
            Mistake(
                f"key {shown(key.secret_ref.key)!r} is not of caller {self.name}: a gateway knows callers by "
                "the entries of Secrets",
                f"Call the entry {self.name}, and further ones {self.name}.2 and so on, in the Secret too",
                ("keys", index, "secretRef", "key"),
            )
            for index, key in enumerate(self.keys)
            if not entry.fullmatch(key.secret_ref.key)
        ]
        if mistakes:
            raise Mistaken(*mistakes)
        return self

    @property
    def entries(self) -> tuple[str, ...]:
        """Return by which names a gateway knows the caller."""
        return tuple(dict.fromkeys(key.secret_ref.key for key in self.keys))


def _check_callers(callers: tuple[Caller, ...]) -> tuple[Caller, ...]:
    """Return the callers. Raises Mistaken where two have a name or an entry, for gateways take one of them
    without a word.
    """
    mistakes = [
        Mistake(f"a second caller is named {caller.name}", "Rename one", (index, "name"))
        for index, caller in enumerate(callers)
        if caller.name in [other.name for other in callers[:index]]
    ]
    entries = [
        (index, position, key.secret_ref.key)
        for index, caller in enumerate(callers)
        for position, key in enumerate(caller.keys)
    ]
    for place, (index, position, entry) in enumerate(entries):
        if entry in [earlier for _, _, earlier in entries[:place]]:
            what = f"entry {entry} is there twice, and gateways take the first of two keys under one name"
            step = "Give each key an entry of its own, such as team-a.2"
            mistakes.append(Mistake(what, step, (index, "keys", position, "secretRef", "key")))
    limited = sum(caller.requests_per_minute is not None for caller in callers)
    if limited > LIMITED_CALLERS:
        what = f"{limited} callers have requestsPerMinute, and a gateway counts for at most {LIMITED_CALLERS}"
        mistakes.append(Mistake(what, "Use several gateways"))
    if mistakes:
        raise Mistaken(*mistakes)
    return callers


class PasswordRef(StrictModel):
    """An entry of a Secret in the namespace of Envoy Gateway, `envoy-gateway-system`."""

    name: Annotated[str, SUBDOMAIN]
    """Name of the Secret, which exists on each of the gateway's clusters."""
    key: Annotated[str, Field(min_length=1, max_length=253)]
    """The entry that has the password."""


class Redis(StrictModel):
    """A Redis in which requests are counted."""

    address: Annotated[str, TextRule(ADDRESS_PATTERN, "<host>:<port>, such as redis.example.com:6379")]
    """Host name or IPv4 address and port, as pods on the gateway's clusters reach it. Gateways of one name
    with one Redis count together.
    """
    secret_ref: PasswordRef | None = None
    """Where its password is. Default: none is asked for."""


class Limits(StrictModel):
    """Where requests of limited callers are counted. Each cluster has one such place, that of its Envoy
    Gateway: a team's own installation must have the same in its configuration.
    """

    redis: Redis
    """Where they are counted."""
    when_gone: Literal["Pass", "Refuse"] = "Pass"
    """What becomes of their requests while Redis, or the service that counts, does not answer: `Pass`: they
    are let in; `Refuse`: they get 500.
    """


class Failover(StrictModel):
    """When a cluster is left out, and where its requests go."""

    eject_after: int = Field(default=5, ge=1, le=100)
    """Answers of a cluster in a row that say it does not serve (502, 503, 504, or none), after which it gets
    no requests.
    """
    eject_for: Duration = 30
    """How long it gets none, such as `30s`; each time longer. The default is in seconds."""
    retries: int = Field(default=2, ge=0, le=10)
    """How often a request is sent again, to another cluster where there is one, after 429, 502, 503, 504 or
    no answer. Nothing is sent again once an answer has begun.
    """


class InferenceGatewaySpec(StrictModel):
    """Where the gateway stands, who may use it, and what it does when a cluster fails."""

    refused_fields = {
        "services": RefusedField("Name the gateway in spec.gateways of each ModelService"),
    }

    clusters: Annotated[tuple[ClusterName, ...], Field(min_length=1, max_length=16)]
    """Clusters of the stack on which the gateway stands, also such without node pools (`nodePools: []`). Each
    has an address of its own; which one a name leads to is up to whoever has the DNS.
    """
    class_name: Annotated[str, SUBDOMAIN] = "eg"
    """Name of the GatewayClass of Envoy Gateway on these clusters."""
    hostname: Annotated[str, TextRule(SUBDOMAIN_PATTERN, "a host name such as ai.example.com")] | None = None
    """Host name that the gateway answers to. Default: all."""
    listeners: Listeners
    """Where the gateway listens: for HTTPS, or for plain HTTP if that is asked for."""
    callers: Annotated[tuple[Caller, ...], AfterValidator(_check_callers)] = ()
    """Who may send requests, by keys. Required unless `open` is true."""
    open_: bool = Field(default=False, alias="open")
    """Whether everybody is let in who reaches the address, without a key."""
    limits: Limits | None = None
    """Where requests are counted, required where a caller has `requestsPerMinute`. Default: nowhere."""
    failover: Failover = Failover()
    """When a cluster is left out, and where its requests go."""
    service_type: ServiceType = "LoadBalancer"
    """How the gateway is reached: `LoadBalancer`: at an address outside, which most clouds make public;
    `Internal`: at an address inside of the cluster's network, which `serviceAnnotations` ask for;
    `ClusterIP`: from inside of the cluster alone.
    """
    service_annotations: ServiceAnnotations = {}
    """Annotations of the gateway's Service, in the words of its cloud. Default: none."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the names of the Secrets that the gateway reads, sorted."""
        https = self.listeners.https
        keys = (key.secret_ref.name for caller in self.callers for key in caller.keys)
        return tuple(sorted({*keys, *([https.certificate.secret_ref] if https else [])}))

    @model_validator(mode="after")
    def _check_limits(self) -> "InferenceGatewaySpec":
        limited = [index for index, caller in enumerate(self.callers) if caller.requests_per_minute]
        if limited and self.limits is None:
            what = (
                f"caller {self.callers[limited[0]].name} has requestsPerMinute, and nothing counts requests"
            )
            step = "Write limits: {redis: {address: ...}} beside callers, or remove it"
            raise Mistaken(Mistake(what, step, ("callers", limited[0], "requestsPerMinute")))
        return self

    @model_validator(mode="after")
    def _check_callers_or_open(self) -> "InferenceGatewaySpec":
        if not self.callers and not self.open_:
            raise mistaken(
                "a gateway has callers, and nobody else enters", "Add callers, or open: true for everybody"
            )
        if self.callers and self.open_:
            raise mistaken("a gateway with open: true asks nobody for a key", "Remove open, or callers")
        if len({*self.clusters}) < len(self.clusters):
            twice = [name for index, name in enumerate(self.clusters) if name in self.clusters[:index]]
            raise Mistaken(Mistake(f"cluster {twice[0]} is there twice", "Keep one", ("clusters",)))
        return self


class InferenceGateway(StrictModel):
    """One address for the services that name it: by model name and by path, with keys, over all clusters."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["InferenceGateway"] = "InferenceGateway"
    """Kind of the document."""
    metadata: GatewayMetadata
    """Name and labels of the gateway."""
    spec: InferenceGatewaySpec
    """Where the gateway stands, who may use it, and what it does when a cluster fails."""
