"""tracing shown on whole pods, engine by engine."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from inferfleet.plugins.api import PluginError, Request
from inferfleet.plugins.builtin.tracing import Config, edit

HTTP = {"endpoint": "http://collector.monitoring:4318", "protocol": "http/protobuf"}


def of(request: Request, engine: str) -> Request:
    return replace(request, deployment=replace(request.deployment, engine=engine))


def field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


FIELDS = [
    field("OTEL_K8S_POD_NAME", "metadata.name"),
    field("OTEL_K8S_POD_UID", "metadata.uid"),
    field("OTEL_K8S_NAMESPACE_NAME", "metadata.namespace"),
    field("OTEL_K8S_NODE_NAME", "spec.nodeName"),
]
POD = (
    "k8s.pod.name=$(OTEL_K8S_POD_NAME),k8s.pod.uid=$(OTEL_K8S_POD_UID),"
    "k8s.namespace.name=$(OTEL_K8S_NAMESPACE_NAME),k8s.node.name=$(OTEL_K8S_NODE_NAME),"
    "k8s.cluster.name=east,k8s.deployment.name=web-decode-h100"
)


def variables(endpoint: str, protocol: str, *, service: str = "web", more: str = "") -> list[dict[str, Any]]:
    return [
        {"name": "OTEL_SERVICE_NAME", "value": service},
        {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": POD + more},
        {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": endpoint},
        {"name": "OTEL_EXPORTER_OTLP_PROTOCOL", "value": protocol},
        {"name": "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "value": protocol},
    ]


@pytest.mark.parametrize(
    ("engine", "flags"),
    [
        ("vLLM", ["--otlp-traces-endpoint=https://collector:4317"]),
        ("SGLang", ["--enable-trace", "--otlp-traces-endpoint=https://collector:4317"]),
        ("TensorRT-LLM", ["--otlp_traces_endpoint=https://collector:4317"]),
        ("Other", None),
    ],
)
def test_the_engine_alone_gets_variables_and_its_flags(
    generated: dict[str, Any], pod_request: Request, engine: str, flags: list[str] | None
) -> None:
    expected = copy.deepcopy(generated)
    container = expected["spec"]["containers"][1]
    container["env"] += FIELDS + variables("https://collector:4317", "grpc")
    if flags:
        container["args"] = flags
    assert (
        edit(generated, of(pod_request, engine), Config(endpoint="https://collector:4317")).template
        == expected
    )


def test_triton_is_told_over_http_and_samples_by_a_rate_of_its_own(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["spec"]["containers"][1]["args"] = ["--trace-config", "level=TIMESTAMPS"]
    expected = copy.deepcopy(generated)
    container = expected["spec"]["containers"][1]
    container["env"] += [
        *FIELDS,
        *variables(HTTP["endpoint"], "http/protobuf", service="chat", more=",team=a%2Cb"),
        {"name": "OTEL_TRACES_SAMPLER", "value": "parentbased_traceidratio"},
        {"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0.05"},
    ]
    container["args"] += [
        "--trace-config=mode=opentelemetry",
        "--trace-config=opentelemetry,url=http://collector.monitoring:4318/v1/traces",
        "--trace-config=rate=20",
    ]
    config = Config.model_validate(
        {**HTTP, "serviceName": "chat", "sampleRatio": 0.05, "resourceAttributes": {"team": "a,b"}}
    )
    edited = edit(generated, of(pod_request, "Triton"), config).template
    assert edited == expected
    assert edit(copy.deepcopy(edited), of(pod_request, "Triton"), config).template == expected


def test_triton_without_arguments_gets_all_settings(generated: dict[str, Any], pod_request: Request) -> None:
    edited = edit(generated, of(pod_request, "Triton"), Config.model_validate(HTTP)).template
    assert edited["spec"]["containers"][1]["args"] == [
        "--trace-config=mode=opentelemetry",
        "--trace-config=level=TIMESTAMPS",
        "--trace-config=opentelemetry,url=http://collector.monitoring:4318/v1/traces",
    ]


def test_over_http_the_flag_has_the_whole_path(generated: dict[str, Any], pod_request: Request) -> None:
    edited = edit(generated, pod_request, Config.model_validate(HTTP)).template
    assert edited["spec"]["containers"][1]["args"] == [
        "--otlp-traces-endpoint=http://collector.monitoring:4318/v1/traces"
    ]


def test_attributes_of_the_template_come_first_and_behind_the_variables_that_they_name(
    generated: dict[str, Any], pod_request: Request
) -> None:
    env = generated["spec"]["containers"][1]["env"]
    env.insert(0, {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": "team=a, k8s.cluster.name=mine"})
    config = Config(endpoint="http://collector:4317", resource_attributes={"team": "a", "tier": "gold"})
    edited = edit(generated, pod_request, config).template
    env = edited["spec"]["containers"][1]["env"]
    rest = POD.replace("k8s.cluster.name=east,", "")
    merged = f"team=a,k8s.cluster.name=mine,{rest},tier=gold"
    assert env[-1] == {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": merged}
    assert [variable["name"] for variable in env].count("OTEL_RESOURCE_ATTRIBUTES") == 1
    assert edit(copy.deepcopy(edited), pod_request, config).template == edited


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        (
            {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": "team=b"},
            "resourceAttributes has team a, and the template's OTEL_RESOURCE_ATTRIBUTES another value of it",
        ),
        (
            field("OTEL_RESOURCE_ATTRIBUTES", "metadata.name"),
            "OTEL_RESOURCE_ATTRIBUTES has valueFrom, and cannot be added to",
        ),
        (
            {"name": "OTEL_SERVICE_NAME", "value": "mine"},
            "container engine has OTEL_SERVICE_NAME already, with another value; remove one of the two",
        ),
    ],
)
def test_another_variable_of_the_template_is_refused(
    generated: dict[str, Any], pod_request: Request, variable: dict[str, Any], said: str
) -> None:
    generated["spec"]["containers"][1]["env"].append(variable)
    with pytest.raises(PluginError, match=said):
        edit(generated, pod_request, Config(endpoint="http://c:4317", resource_attributes={"team": "a"}))


def test_without_flags_the_command_line_stays(generated: dict[str, Any], pod_request: Request) -> None:
    config = Config(endpoint="http://collector:4317", engine_flags=False)
    edited = edit(generated, pod_request, config).template
    assert "args" not in edited["spec"]["containers"][1]


@pytest.mark.parametrize(
    ("engine", "container", "config", "said"),
    [
        (
            "Triton",
            {},
            {"endpoint": "http://c:4317"},
            "Triton sends traces over HTTP alone, and protocol is grpc",
        ),
        (
            "Triton",
            {"args": ["--trace-config=mode=triton"]},
            HTTP,
            "has --trace-config=mode=triton already, and not --trace-config=mode=opentelemetry",
        ),
        (
            "vLLM",
            {"args": ["--otlp-traces-endpoint", "http://other:4317"]},
            {"endpoint": "http://c:4317"},
            "has --otlp-traces-endpoint=http://other:4317 already, and not --otlp-traces-endpoint=http://c",
        ),
    ],
)
def test_what_the_engine_cannot_do_or_does_already_is_refused(
    generated: dict[str, Any],
    pod_request: Request,
    engine: str,
    container: dict[str, Any],
    config: dict[str, Any],
    said: str,
) -> None:
    generated["spec"]["containers"][1] |= container
    with pytest.raises(PluginError, match=said):
        edit(generated, of(pod_request, engine), Config.model_validate(config))


@pytest.mark.parametrize("endpoint", ["collector:4317", "http://c:4318/v1/traces", "grpc://c:4317", ""])
def test_an_endpoint_is_a_url_without_a_path(endpoint: str) -> None:
    with pytest.raises(ValidationError, match="must be the URL of a collector without a path"):
        Config(endpoint=endpoint)


def test_a_script_gets_no_flags_and_explain_says_so(generated: dict[str, Any], pod_request: Request) -> None:
    generated["spec"]["containers"][1]["command"] = ["sh", "-c", "vllm serve m"]
    edited = edit(generated, pod_request, Config(endpoint="http://c:4317"))
    assert "args" not in edited.template["spec"]["containers"][1]
    assert edited.remarks == (
        "container engine is started by the script of a shell, which gets no flags; "
        "--otlp-traces-endpoint=http://c:4317 must be in it",
    )
