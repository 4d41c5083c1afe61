"""The interface of one version of the serving software: images, API groups, flags, ports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

# `text` is one line of anything; a `duration` is Go's (150ms, 5s, 1m30s), a `level` one of controller-runtime
# (pkg/log/zap/flags.go), which holds numbers in eight bits.
FlagKind = Literal["bool", "int", "duration", "level", "text"]


@dataclass(frozen=True)
class Resources:
    """Requests and limits by resource name, as Kubernetes quantities."""

    requests: Mapping[str, str]
    limits: Mapping[str, str]


@dataclass(frozen=True)
class ProxyTable:
    """One version of the proxy.

    `engine_port_flag` names the engine's port; `connectors` are the values of `--kv-connector` by the words
    of documents; `flags` are set unless a document overrides them. `known_flags` are those that documents may
    set, `own_flags` follow from documents, with where they say it, and `refused_flags` cannot work here, with
    the reason and what to do instead. Without a `tracing_flag` it always traces; without a
    `mooncake_port_flag` it does not know Mooncake.
    """

    image: str
    engine_port_flag: str
    connectors: Mapping[str, str]
    flags: Mapping[str, str]
    known_flags: Mapping[str, FlagKind]
    own_flags: Mapping[str, str]
    refused_flags: Mapping[str, tuple[str, str]]
    tracing_flag: str | None = None
    mooncake_port_flag: str | None = None


@dataclass(frozen=True)
class Phases:
    """How a picker learns to have prompts read by prefill pods.

    Of `headers_handlers` a config needs one, the first by preference; none where the profile handler names
    the prefill pod itself. `gates` are feature gates that prefix-based-pd-decider needs, and `producers`
    plugins that know what is cached where they are not the scorer itself.
    """

    headers_handlers: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    producers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """One row of the table. A file of its name in `pickers/` says what a config may hold.

    `flags` are set unless a document overrides them. `known_flags` are all flags of the picker, with the type
    of their values; `rejected_flags` are those with which it exits, with what to do instead.
    """

    name: str
    epp_image: str
    # API versions of EndpointPickerConfig: first the one to write, then others that the picker reads.
    config_api_versions: tuple[str, ...]
    config_kind: str
    pool_group: str
    pool_api_version: str
    # Both InferenceObjective and InferenceModelRewrite live in each of these groups. Pickers ask at their
    # start which of them are served, and do without (pkg/epp/server/controller_config.go of every version in
    # the table).
    objective_groups: tuple[str, ...]
    flags: Mapping[str, str]
    known_flags: Mapping[str, FlagKind]
    rejected_flags: Mapping[str, str]
    grpc_port: int
    health_port: int
    metrics_port: int
    # gRPC health service names the probes ask for: without and with leader election.
    probe_service: str
    liveness_service: str
    readiness_service: str
    # The pod label from which the picker's metrics reader takes the engine's type by default.
    engine_label: str
    # The flag that names another port for engine metrics; None: it is a parameter of metrics-data-source.
    engine_metrics_port_flag: str | None
    # What follows `epp-<namespace>-<pool>` in the name of the Lease by which replicas elect a leader.
    lease_suffix: str
    # The routing proxy that goes with the picker: what one writes into a request, the other reads. None: this
    # picker does not know prefill and decode apart.
    proxy: ProxyTable | None
    # The plugin that reads the metrics of engines, and the gate without which it is not asked (None: always).
    extractor: str = "core-metrics-extractor"
    metrics_gate: str | None = None
    # Parsers of requests that are configured, in their order; (): the picker's own.
    parsers: tuple[str, ...] = ()
    # The one parser that takes requests of any form, for engines whose protocol the default one refuses.
    parser_of_any: str | None = None
    # Age at which metrics of a pod count as old, so that it counts as full; None: the picker's 200ms.
    metrics_stale_after: str | None = None
    # The shortest interval at which metrics of engines are read; None: as short as the flag says.
    least_scrape: str | None = None
    # What tls-cipher-suites may name, where the picker has that flag.
    cipher_suites: tuple[str, ...] = ()
    # Gauges of an InferencePool, whose name is their label `name`: averages over its pods.
    pool_metrics: tuple[str, ...] = ()
    # None: this picker does not know prefill and decode apart.
    phases: Phases | None = None
    # Whether it traces requests also where --tracing is false.
    always_traces: bool = False
    # Seconds that a picker gives its streams once it is told to end: the GracefulShutdownTimeout of
    # controller-runtime v0.23.3 (pkg/manager/internal.go), which no flag of GIE changes; --drain-timeout of
    # llm-d-router has the same default.
    stop_seconds: int = 30
    # Whether a picker that is told to end gives its Lease back at once and takes new streams for those
    # seconds, choosing among the pods that it knew by then, and waits for its streams without limit after
    # them (runWithGracefulShutdown in cmd/epp/runner/runner.go of llm-d-router v0.10.0, and serveGRPC in
    # internal/runnable/grpc.go). Otherwise it takes none, and ends with them or after those seconds.
    serves_on: bool = False
