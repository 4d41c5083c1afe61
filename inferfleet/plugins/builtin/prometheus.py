"""Plugin prometheus: annotations by which a Prometheus that looks at pods scrapes the engine.

The annotations are a convention of scrape configs, not of Prometheus itself: a monitoring that is set up by
PodMonitor objects does not look at them. Port and path are those of the engine. SGLang serves metrics with
`--enable-metrics` alone, which is added; TensorRT-LLM serves Prometheus text only with `return_perf_metrics`
in its options file, which no pod template shows, so `explain` says it.

Sources: prometheus/prometheus documentation/examples/prometheus-kubernetes.yml and the chart
prometheus-community/prometheus (values.yaml, job kubernetes-pods) for the annotations; ports and paths of
engines as in inferfleet/tables/engines.py: vLLM docs/usage/metrics.md, SGLang
docs/references/production_metrics.md (--enable-metrics), TensorRT-LLM tensorrt_llm/serve/openai_server.py,
Triton docs/user_guide/metrics.md (port 8002, --metrics-port).
"""

from typing import Annotated

from pydantic import Field

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Edited,
    Plugin,
    PodTemplate,
    Request,
    TextRule,
    add_args,
    engine,
    engine_defaults,
    mapping,
    put_field,
)

_REMARKS = {
    "TensorRT-LLM": "TensorRT-LLM serves these metrics only with return_perf_metrics: true in the file that "
    "--extra_llm_api_options names",
    "Other": "metrics of an engine of type Other are expected on its own port; set port and path if they "
    "are elsewhere",
}


class Config(api.Config):
    """Fields that are not set follow from the engine."""

    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Port that serves metrics. Default: the engine's own, for Triton 8002."""
    path: Annotated[str, TextRule(r"/[^\s?#]*", "a path such as /metrics")] | None = None
    """Path of the metrics. Default: `/metrics`, for TensorRT-LLM `/prometheus/metrics`."""
    scrape: bool = True
    """Whether the pods are scraped: false with `override: true` takes pods out of a chain that is for all."""


def edit(template: PodTemplate, request: Request, config: Config) -> Edited:
    """Let a Prometheus that goes by annotations of pods scrape the engine's metrics."""
    if not config.scrape:
        # Not with put_field: the chain of all has written "true".
        mapping(template, "metadata", "annotations")["prometheus.io/scrape"] = "false"
        return Edited(template)
    kind = request.deployment.engine
    defaults = engine_defaults(kind)
    wanted = {
        "scrape": "true",
        "port": str(config.port or defaults.metrics_port or request.deployment.port),
        "path": config.path or defaults.metrics_path,
    }
    for name, value in wanted.items():
        put_field(template, "metadata", "annotations", f"prometheus.io/{name}", value=value)
    if kind == "SGLang":
        return Edited(template, remarks=add_args(engine(template), "--enable-metrics"))
    return Edited(template, remarks=(_REMARKS[kind],) if kind in _REMARKS else ())


PLUGIN = Plugin("prometheus", Config, edit, version="1.0.0")
