"""Plugin tracing: where an engine sends its traces (OTLP), and what they say about the pod.

The variables are OpenTelemetry's own. Besides, each engine has to be told by its command line. vLLM, SGLang
and TensorRT-LLM take the protocol from OTEL_EXPORTER_OTLP_TRACES_PROTOCOL alone, and hand the endpoint to the
exporter as it is, so with HTTP it ends in /v1/traces. Triton sends over HTTP alone and samples by a rate of
its own. An engine of type Other gets the variables alone.

No document says which version an engine has, so this is for those who choose the image:

* vLLM ends at once where it gets the flag and has no packages of OpenTelemetry. It requires them, and its
  images have them, from 0.17.0 on, and from 0.8.4 to 0.9.1: in between add them to the image.
* SGLang has them as the extra `tracing`, which belongs to `all` from 0.5.9 on. Without them it logs a
  warning and serves without traces up to 0.5.9, and ends at once from 0.5.10 on.
* TensorRT-LLM does not require them. Without them it logs an error, serves, and no trace comes: add them to
  the image.
* SGLang spells the flag so from 0.5.4.post2 on. From 0.5.3 to 0.5.4.post1 it is `--oltp-traces-endpoint`,
  and the other one ends the engine: set `engineFlags: false`, and write the flags into the template. The
  service has SGLang's own name there; 0.5.23 takes OTEL_SERVICE_NAME.

Sources: requirements of the vllm packages 0.8.3 to 0.17.0; in the sglang packages 0.5.3 to 0.5.23 METADATA,
srt/server_args.py, and `process_tracing_init` in srt/tracing/trace.py, later srt/observability/trace.py;
opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables and
.../protocol/exporter; vLLM vllm/config/observability.py at 046be82 (`--otlp-traces-endpoint`) and
examples/observability/opentelemetry; SGLang python/sglang/srt/tracing/trace.py at 021a892 and
docs/references/production_request_trace.md (`--enable-trace`, `--otlp-traces-endpoint`); TensorRT-LLM
tensorrt_llm/llmapi/tracing.py at 0fb7f75, tensorrt_llm/commands/serve.py (`--otlp_traces_endpoint`), and
examples/opentelemetry/README.md at 5643c69 (packages to install);
Triton docs/user_guide/trace.md of triton-inference-server/server at 024377a (`--trace-config`).
"""

from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Edited,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    TextRule,
    add_args,
    engine,
    put_env,
)

ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES"
# Attributes of OpenTelemetry's conventions for Kubernetes, by the field of the pod that has them.
POD_FIELDS = {
    "k8s.pod.name": ("OTEL_K8S_POD_NAME", "metadata.name"),
    "k8s.pod.uid": ("OTEL_K8S_POD_UID", "metadata.uid"),
    "k8s.namespace.name": ("OTEL_K8S_NAMESPACE_NAME", "metadata.namespace"),
    "k8s.node.name": ("OTEL_K8S_NODE_NAME", "spec.nodeName"),
}
_PATH = "/v1/traces"

Endpoint = Annotated[
    str,
    TextRule(
        r"https?://[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?",
        "the URL of a collector without a path, such as http://collector.monitoring:4317",
    ),
]


class Config(api.Config):
    """Where traces go, and how many."""

    endpoint: Endpoint
    """URL of the collector, such as `http://collector.monitoring:4317`; `https` encrypts."""
    protocol: Literal["grpc", "http/protobuf"] = "grpc"
    """How the collector is spoken to: gRPC is usually on port 4317, HTTP on 4318."""
    service_name: Annotated[str, Field(min_length=1)] | None = None
    """Name of the service in traces. Default: the deployment's."""
    sample_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    """Part of the requests that is traced, unless the caller decided. Default: the engine's."""
    resource_attributes: dict[Annotated[str, Field(min_length=1)], str] = {}
    """What all traces say, besides cluster, workload, namespace, node and pod, and the attributes of the
    template's OTEL_RESOURCE_ATTRIBUTES, which come first. Another value of one of those is refused."""
    engine_flags: bool = True
    """Whether the engine is told by its command line. False where its options file does that, or its version
    spells the flags in another way."""


def edit(template: PodTemplate, request: Request, config: Config) -> Edited:
    """Send traces of the engine to an OpenTelemetry collector, with what they need to be told apart."""
    kind = request.deployment.engine
    if kind == "Triton" and config.protocol != "http/protobuf":
        raise PluginError(
            f"Triton sends traces over HTTP alone, and protocol is {config.protocol}; set protocol: "
            "http/protobuf, and an endpoint of the collector for it"
        )
    container = engine(template)
    _put_variables(container, request, config)
    flags = _flags(kind, config) if config.engine_flags else ()
    return Edited(template, remarks=add_args(container, *flags) if flags else ())


def _put_variables(container: dict[str, Any], request: Request, config: Config) -> None:
    fields = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in POD_FIELDS.values()
    ]
    values = {
        "OTEL_SERVICE_NAME": config.service_name or request.deployment.name,
        ATTRIBUTES: _attributes(container, request, config),
        "OTEL_EXPORTER_OTLP_ENDPOINT": config.endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": config.protocol,
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": config.protocol,
    }
    if config.sample_ratio is not None:
        values["OTEL_TRACES_SAMPLER"] = "parentbased_traceidratio"
        values["OTEL_TRACES_SAMPLER_ARG"] = f"{config.sample_ratio:g}"
    put_env(container, *fields, replace=False)
    for name, value in values.items():
        # The attributes have those of the template in them.
        put_env(container, {"name": name, "value": value}, replace=name == ATTRIBUTES)
    # A variable can refer to those before it alone.
    env = container["env"]
    names = [variable["name"] for variable in env]
    if names.index(ATTRIBUTES) < max(names.index(name) for name, _ in POD_FIELDS.values()):
        env.append(env.pop(names.index(ATTRIBUTES)))


def _attributes(container: dict[str, Any], request: Request, config: Config) -> str:
    """Return the attributes that the template has, and behind them those that it does not have."""
    own: dict[str, Any] = next(
        (variable for variable in container.get("env", []) if variable["name"] == ATTRIBUTES), {}
    )
    if "valueFrom" in own:
        raise PluginError(
            f"{ATTRIBUTES} has valueFrom, and cannot be added to; write its attributes as value"
        )
    there = [pair.strip() for pair in own.get("value", "").split(",") if pair.strip()]
    known = {key.strip(): value.strip() for key, _, value in (pair.partition("=") for pair in there)}
    chosen = {quote(key): quote(value) for key, value in config.resource_attributes.items()}
    for key, value in chosen.items():
        if known.get(key, value) != value:
            raise PluginError(
                f"resourceAttributes has {key} {value}, and the template's {ATTRIBUTES} another value of it; "
                "remove one of the two"
            )
    attributes = {
        **{key: f"$({name})" for key, (name, _) in POD_FIELDS.items() if key not in chosen},
        "k8s.cluster.name": quote(request.cluster.name),
        "k8s.deployment.name": quote(request.workload),
        **chosen,
    }
    return ",".join([*there, *(f"{key}={value}" for key, value in attributes.items() if key not in known)])


def _flags(kind: str, config: Config) -> tuple[str, ...]:
    if kind == "Triton":
        return _flags_of_triton(config)
    endpoint = config.endpoint + (_PATH if config.protocol == "http/protobuf" else "")
    return {
        "vLLM": (f"--otlp-traces-endpoint={endpoint}",),
        # For gRPC it takes host and port; a URL is one to the exporter below it too.
        "SGLang": ("--enable-trace", f"--otlp-traces-endpoint={endpoint}"),
        "TensorRT-LLM": (f"--otlp_traces_endpoint={endpoint}",),
    }.get(kind, ())


def _flags_of_triton(config: Config) -> tuple[str, ...]:
    wanted = {
        "mode": "opentelemetry",
        "level": "TIMESTAMPS",  # without a level nothing is traced
        "opentelemetry,url": config.endpoint + _PATH,
    }
    if config.sample_ratio is not None:
        # Every n-th request; 0 traces those alone whose callers ask for it.
        wanted["rate"] = str(round(1 / config.sample_ratio) if config.sample_ratio else 0)
    return tuple(f"--trace-config={setting}={value}" for setting, value in wanted.items())


PLUGIN = Plugin("tracing", Config, edit, version="1.0.0")
