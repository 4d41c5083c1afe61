"""llm-d-inference-scheduler 0.7.1: a picker that knows prefill and decode, for the sandbox alone.

The sandbox builds its programs from Go modules, and llm-d-router was none that could be had when that was
tried. On other clusters nobody can pull the image: since September 2026 ghcr.io refuses every tag of it
(https://github.com/kserve/kserve/issues/6215, read on 2026-11-24).

It is the picker of Gateway API Inference Extension (GIE) 1.4.0 with llm-d's plugins (go.mod and
cmd/epp/main.go of v0.7.1), so its flags, ports, health services and Lease are those of GIE:
pkg/epp/server/options.go, cmd/epp/runner/health.go and pkg/epp/server/controller_manager.go of v1.4.0 say the
same there as those of v1.5.0. Its image runs as user 65532 and writes no file (Dockerfile.epp).
"""

from dataclasses import replace

from inferfleet.tables import proxy
from inferfleet.tables.profile import Phases
from inferfleet.tables.releases.gie_1_5 import GIE_1_5

SCHEDULER_0_7 = replace(
    GIE_1_5,
    name="scheduler-0.7",
    epp_image="ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1",
    proxy=proxy.SCHEDULER_0_7,
    # GIE 1.4 has no parsers to choose from.
    parser_of_any=None,
    # pkg/epp/framework/plugins/datalayer/extractor/metrics/factories.go of GIE v1.4.0; without the gate,
    # pkg/epp/backend/metrics reads vLLM's metrics, whatever the engine is.
    extractor="model-server-protocol-metrics",
    metrics_gate="dataLayer",
    phases=Phases(
        # It writes the address of the chosen prefill pod into a header.
        plugins=("disagg-headers-handler",),
        # What plugins learn of a request before it is scheduled; the decider reads it, and without it sends
        # nothing to prefill (pkg/plugins/profile/prefix_based_pd_decider.go).
        gates=("prepareDataPlugins",),
    ),
    # pkg/telemetry/tracing.go: it traces a tenth of all requests, without a collector too.
    always_traces=True,
)
