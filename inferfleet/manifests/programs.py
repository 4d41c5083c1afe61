"""Programs that inferfleet starts itself, pickers and routing proxies: flags, resources, variables.

Both are programs in Go. Flags with which a proxy would end are refused, in the line of the document: a decode
pod would wait for it, with engines that hold GPUs. Those of pickers are passed on.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.kinds.inference_cluster import Tracing
from inferfleet.api.kinds.pod_template import ResourceRequirements
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import one_of, shown
from inferfleet.profiles.devices import ACCELERATOR_DOMAINS
from inferfleet.profiles.profile import FlagKind

Value = str | int | float | bool

_DURATION = re.compile(r"^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$")
_RULE: dict[FlagKind, str] = {
    "bool": "true or false",
    "int": "a whole number, not negative",
    "duration": "a duration such as 150ms or 5s",
    "level": "one of debug, info, error and panic, or a number from 1 to 127",
    "text": "text of one line, without control characters",
}
# strconv.ParseBool, which pflag asks: https://pkg.go.dev/strconv#ParseBool.
_BOOL = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), "true"),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), "false"),
}
_LEVELS = ("debug", "info", "error", "panic")
# What containers may ask for by a name without a domain, beside hugepages-<size>.
_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_EXTENDED = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def text(value: Value, kind: FlagKind | None = None) -> str:
    """Return the value of a flag as its program reads it, that of the kind bool in one spelling."""
    written = str(value).lower() if isinstance(value, bool) else str(value)
    return _BOOL.get(written, written) if kind == "bool" else written


def flag_mistakes(
    written: Mapping[str, Value],
    program: str,
    *,
    known: Mapping[str, FlagKind],
    own: Mapping[str, str],
    refused: Mapping[str, tuple[str, str]],
) -> Iterator[Mistake]:
    """Yield what is wrong with the flags that a document gives to a program, which messages call `program`.

    `known` are the flags that it has; `own` are those that inferfleet sets, with the place where a document
    says the same; `refused` have what is against them, and the next step.
    """
    for name, value in written.items():
        if wrong := _wrong(name, value, program, known=known, own=own, refused=refused):
            yield Mistake(*wrong, at=(name,))


def _wrong(
    name: str,
    value: Value,
    program: str,
    *,
    known: Mapping[str, FlagKind],
    own: Mapping[str, str],
    refused: Mapping[str, tuple[str, str]],
) -> tuple[str, str] | None:
    if name.startswith("-"):
        return (
            f"flag {shown(name)} has dashes",
            f"Write {shown(name.lstrip('-'))}: flags are written without them here",
        )
    if name in refused:
        return refused[name]
    if name in own:
        return f"flag {name} is set by inferfleet", f"Remove it: {own[name]}"
    kind = known.get(name)
    if kind is None:
        return f"{program} has no flag {shown(name)}", one_of(name, known, "Known flags")
    if not _is(value, kind):
        return f"{name} is {shown(text(value))!r}", f"Give it {_RULE[kind]}"
    return None


def _is(value: Value, kind: FlagKind) -> bool:
    if kind == "bool":
        return text(value) in _BOOL
    if kind == "int":
        return not isinstance(value, bool) and re.fullmatch(r"[0-9]{1,10}", text(value)) is not None
    if kind == "level":
        word = text(value).lower()
        return word in _LEVELS or (re.fullmatch(r"[0-9]{1,3}", word) is not None and 1 <= int(word) <= 127)
    if kind == "text":
        return text(value).isprintable()
    return _DURATION.fullmatch(text(value)) is not None


def resource_mistakes(resources: ResourceRequirements | None) -> Iterator[Mistake]:
    """Yield what the API server refuses: unknown names, requests above limits, amounts that must not differ;
    and devices, which the plan gives to engines alone.
    """
    if resources is None:
        return
    limits = resources.limits
    for kind, amounts in (("requests", resources.requests), ("limits", limits)):
        for name in amounts:
            if not _is_resource(name):
                what = f"a container has no resource {shown(name)!r}"
                yield Mistake(what, one_of(name, _RESOURCES, "Known resources"), (kind, name))
            elif name.partition("/")[0] in ACCELERATOR_DOMAINS:
                what = f"it asks for {amounts[name]} {name}, and the plan counts the devices of engines alone"
                step = "Remove it: only engines get devices, those of their topology"
                yield Mistake(what, step, (kind, name))
    for name, requested in resources.requests.items():
        if not _is_resource(name) or name.partition("/")[0] in ACCELERATOR_DOMAINS:
            continue
        limit = limits.get(name)
        whole = name not in _RESOURCES
        if whole and (limit is None or parse_quantity(limit) != parse_quantity(requested)):
            what = f"it requests {requested} of {name}, and of such resources the limit must be the same"
            yield Mistake(what, f"Write limits: {{{name}: {requested}}} too", ("requests", name))
        elif limit is not None and parse_quantity(requested) > parse_quantity(limit):
            what = f"it requests {requested} of {name}, which is more than its limit of {limit}"
            yield Mistake(what, "Lower the request or raise the limit", ("requests", name))


def resources_of(own: ResourceRequirements) -> dict[str, Any]:
    """Return what a document says of a container's resources, as Kubernetes takes it."""
    both = {"requests": dict(own.requests), "limits": dict(own.limits)}
    return {kind: amounts for kind, amounts in both.items() if amounts}


def tracing_variables(tracing: Tracing, service: str) -> list[dict[str, Any]]:
    """Return the variables by which a program sends its traces; it has NAMESPACE and POD_NAME besides."""
    pairs = "k8s.namespace.name=$(NAMESPACE),k8s.node.name=$(NODE_NAME),k8s.pod.name=$(POD_NAME)"
    return [
        variable_of_pod("NODE_NAME", "spec.nodeName"),
        {"name": "OTEL_SERVICE_NAME", "value": service},
        {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": tracing.endpoint},
        {"name": "OTEL_TRACES_EXPORTER", "value": "otlp"},
        {"name": "OTEL_TRACES_SAMPLER", "value": tracing.sampler},
        {"name": "OTEL_TRACES_SAMPLER_ARG", "value": tracing.sampler_arg},
        {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": pairs},
    ]


def variable_of_pod(name: str, path: str) -> dict[str, Any]:
    """Return a variable with a field of the pod itself."""
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _is_resource(name: str) -> bool:
    return name in _RESOURCES or name.startswith("hugepages-") or _EXTENDED.fullmatch(name) is not None
