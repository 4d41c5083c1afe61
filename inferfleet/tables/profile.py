"""The interface of one version of the serving software: images, API groups, flags, ports."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ProxyTable:
    """One version of the proxy.

    `engine_port_flag` names the engine's port; `connectors` are the values of `--kv-connector` by the words
    of documents; `flags` are set unless a document overrides them; `own_flags` follow from documents, with
    where they say it. Without a `tracing_flag` it always traces; without a `mooncake_port_flag` it does not
    know Mooncake.
    """

    image: str
    engine_port_flag: str
    connectors: Mapping[str, str]
    flags: Mapping[str, str]
    own_flags: Mapping[str, str]
    tracing_flag: str | None = None
    mooncake_port_flag: str | None = None


@dataclass(frozen=True)
class Phases:
    """What a config needs besides so that prompts are read by prefill pods: first `plugins`, and feature
    `gates`.
    """

    plugins: tuple[str, ...]
    gates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """One row of the table. `flags` are set unless a document overrides them."""

    name: str
    epp_image: str
    # The API version of the EndpointPickerConfig that is written for it.
    config_api_version: str
    pool_group: str
    pool_api_version: str
    # Both InferenceObjective and InferenceModelRewrite live in each of these groups. Pickers ask at their
    # start which of them are served, and do without (pkg/epp/server/controller_config.go of every version in
    # the table).
    objective_groups: tuple[str, ...]
    flags: Mapping[str, str]
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
