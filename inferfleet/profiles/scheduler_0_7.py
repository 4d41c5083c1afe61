"""llm-d-inference-scheduler 0.7: the endpoint picker that knows prefill and decode, on clusters of gie-1.5.

It is the picker of Gateway API Inference Extension (GIE) 1.4.0 with llm-d's plugins (go.mod and
cmd/epp/main.go of v0.7.1), so its flags, ports, health services and Lease are those of GIE:
pkg/epp/server/options.go, cmd/epp/runner/health.go and pkg/epp/server/controller_manager.go of v1.4.0 say the
same there as those of v1.5.0. Plugin types: pkg/plugins/register.go of v0.7.1, cmd/epp/runner/runner.go of
GIE v1.4.0. Its image runs as user 65532 and writes no file (Dockerfile.epp).
"""

from dataclasses import replace

from inferfleet.profiles.gie_1_5 import GIE_1_5
from inferfleet.profiles.profile import Phases

_OF_GIE_1_4 = """
    destination-endpoint-served-verifier edf-ordering-policy fcfs-ordering-policy
    global-strict-fairness-policy header-based-testing-filter k8s-notification-source
    kv-cache-utilization-scorer lora-affinity-scorer max-score-picker metrics-data-source
    model-server-protocol-metrics predicted-latency-scorer prefix-cache-scorer queue-scorer random-picker
    request-attribute-reporter round-robin-fairness-policy running-requests-size-scorer single-profile-handler
    weighted-random-picker
"""
_OF_LLM_D = """
    active-request-scorer always-disagg-multimodal-decider always-disagg-pd-decider by-label by-label-selector
    context-length-aware data-parallel-profile-handler decode-filter disagg-headers-handler
    disagg-profile-handler encode-filter load-aware-scorer model-server-protocol-models models-data-source
    no-hit-lru-scorer pd-profile-handler precise-prefix-cache-scorer prefill-filter prefill-header-handler
    prefix-based-pd-decider session-affinity-scorer tokenizer
"""

_EXTRACTOR = "model-server-protocol-metrics"

SCHEDULER_0_7 = replace(
    GIE_1_5,
    name="scheduler-0.7",
    epp_image="ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1",
    rejected_flags={
        name: instead.replace(GIE_1_5.extractor, _EXTRACTOR)
        for name, instead in GIE_1_5.rejected_flags.items()
    },
    plugin_types=frozenset((_OF_GIE_1_4 + _OF_LLM_D).split()),
    feature_gates=("dataLayer", "flowControl", "prepareDataPlugins"),
    # pkg/epp/framework/plugins/datalayer/extractor/metrics/factories.go of GIE v1.4.0; without the gate,
    # pkg/epp/backend/metrics reads vLLM's metrics, whatever the engine is.
    extractor=_EXTRACTOR,
    metrics_gate="dataLayer",
    phases=Phases(
        headers_handlers=("disagg-headers-handler", "prefill-header-handler"),
        # What plugins learn of a request before it is scheduled; the decider reads it, and without it sends
        # nothing to prefill (pkg/plugins/profile/prefix_based_pd_decider.go).
        gates=("prepareDataPlugins",),
        decider_first=True,
    ),
    # pkg/telemetry/tracing.go: it traces a tenth of all requests, without a collector too.
    always_traces=True,
    read_only_root_filesystem=True,
)
