"""Flags of an endpoint picker: the profile's, overridden by the cluster's, then by the deployment's."""

from collections.abc import Iterator, Mapping
from math import ceil

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import listing, one_of, shown
from inferfleet.fleet import names
from inferfleet.manifests.picker.config import config_text, picker_config
from inferfleet.manifests.picker.parameters import seconds
from inferfleet.manifests.programs import Value, flag_mistakes, text
from inferfleet.profiles.engines import engine
from inferfleet.profiles.profile import Profile

# Flags that repeat what a document or a name says elsewhere, with the place where it is said.
_SYSTEM = {
    "pool-name": "it follows from the deployment's name",
    "pool-namespace": "it follows from the deployment's namespace",
    "pool-group": "it follows from the profile",
    "endpoint-selector": "endpoints come from the deployment's InferencePool",
    "endpoint-target-ports": "endpoints come from the deployment's InferencePool",
    "config-file": "write spec.endpointPicker.config instead",
    "config-text": "write spec.endpointPicker.config instead",
    "grpc-port": "write spec.endpointPicker.port instead",
    "ha-enable-leader-election": "it follows from spec.endpointPicker.replicas",
    "metrics-endpoint-auth": "write serving.metricsAuth of the cluster instead",
    "tracing": "write serving.tracing of the cluster instead",
}
# Upper and lower case are the same to it: pkg/log/zap/flags.go of controller-runtime v0.23.3.
_CHOICES = {
    "zap-encoder": ("json", "console"),
    "zap-stacktrace-level": ("info", "error", "panic"),
    "zap-time-encoding": ("epoch", "millis", "nanos", "iso8601", "rfc3339", "rfc3339nano"),
}
# `Validate` in pkg/epp/server/options.go of GIE v1.5.0; `parseTLSVersion` in that of llm-d-router v0.10.0.
_EXACT = {
    "model-server-metrics-scheme": ("http", "https"),
    "tls-min-version": ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"),
}
# `parseCipherSuites` beside it.
_SUITES = "tls-cipher-suites"
# The files of metrics over TLS.
_FOLDER, _CLIENTS = "metrics-cert-dir", "metrics-client-ca-file"
# "panic: non-positive interval for NewTicker", of the first in all pickers as they start
# (pkg/epp/datalayer/logger/logger.go), of the second with the first pod where metrics are read without the
# data layer (pkg/epp/backend/metrics/pod_metrics.go of GIE v1.4.0); with it, 50ms count.
_TICKERS, _READ = ("refresh-prometheus-metrics-interval",), "refresh-metrics-interval"
# "address 70000: invalid port", and 0 is a port that nobody knows.
_PORTS, _LAST_PORT = ("metrics-port", "grpc-health-port"), 65_535


def flags(*, deployment: ModelDeployment, serving: Serving, profile: Profile) -> dict[str, str]:
    """Return every flag but those that inferfleet sets itself, sorted by name."""
    merged: dict[str, Value] = dict(profile.flags)
    metrics_port = engine(deployment.spec.engine.type).metrics_port
    if metrics_port and profile.engine_metrics_port_flag:
        merged[profile.engine_metrics_port_flag] = metrics_port
    if not serving.metrics_auth:
        # Profiles of memory and goroutines are served beside the metrics, to whoever reaches those.
        merged["enable-pprof"] = False
    merged |= serving.epp_flags | deployment.spec.endpoint_picker.flags
    return {name: text(value, profile.known_flags.get(name)) for name, value in sorted(merged.items())}


def args(*, deployment: ModelDeployment, serving: Serving, profile: Profile, revision: str) -> list[str]:
    """Return the picker's whole command line, one item per flag.

    Its configuration is one of them and no file of a ConfigMap: that would change under pods that run, which
    read it anew when their container starts again, or have another name with each change, and on a cluster
    that is lost nothing can be made or deleted.
    """
    picker = deployment.spec.endpoint_picker
    system = {
        "pool-name": names.inference_pool(deployment.metadata.key, revision),
        "pool-namespace": deployment.metadata.namespace,
        "pool-group": profile.pool_group,
        "config-text": _unexpanded(config_text(picker_config(deployment=deployment, profile=profile))),
        "grpc-port": str(grpc_port(deployment, profile)),
        **({"ha-enable-leader-election": "true"} if picker.replicas > 1 else {}),
        "tracing": text(serving.tracing is not None),
        "metrics-endpoint-auth": text(serving.metrics_auth),
    }
    chosen = flags(deployment=deployment, serving=serving, profile=profile)
    return [f"--{name}={value}" for name, value in {**system, **chosen}.items()]


def _unexpanded(text: str) -> str:
    """Return the text of which a kubelet, which replaces `$(NAME)` in arguments, makes the given one."""
    return text.replace("$", "$$")


def grpc_port(deployment: ModelDeployment, profile: Profile) -> int:
    """Return the port where gateways reach the picker."""
    return deployment.spec.endpoint_picker.port or profile.grpc_port


def health_port(chosen: Mapping[str, str], profile: Profile) -> int:
    return int(chosen.get("grpc-health-port", profile.health_port))


def metrics_port(chosen: Mapping[str, str], profile: Profile) -> int:
    return int(chosen.get("metrics-port", profile.metrics_port))


def metrics_are_secure(chosen: Mapping[str, str]) -> bool:
    """Return whether the picker serves its metrics over TLS (ConfigureMetricsTLS in pkg/epp/server/options.go
    of llm-d-router v0.10.0; others never do).
    """
    return bool(chosen.get(_FOLDER) or chosen.get(_CLIENTS))


def scrape_annotations(*, deployment: ModelDeployment, serving: Serving, profile: Profile) -> dict[str, str]:
    """Return annotations by which a Prometheus that looks at pods scrapes a picker, where wanted."""
    if serving.monitoring is None or serving.monitoring.pickers != "Annotations":
        return {}
    chosen = flags(deployment=deployment, serving=serving, profile=profile)
    wanted = {
        "scrape": "true",
        "port": str(metrics_port(chosen, profile)),
        "path": "/metrics",
        **({"scheme": "https"} if metrics_are_secure(chosen) else {}),
    }
    return {f"prometheus.io/{name}": value for name, value in wanted.items()}


def stop_seconds(chosen: Mapping[str, str], profile: Profile) -> int:
    """Return for how many seconds a picker goes on with its streams, once it is told to end."""
    named = seconds(chosen.get("drain-timeout", ""))
    return profile.stop_seconds if named is None else ceil(named)


def is_secure(chosen: Mapping[str, str]) -> bool:
    """Return whether the picker serves TLS, with a self-signed certificate unless it is given another."""
    return chosen.get("secure-serving", "true") == "true"


def mistakes(written: Mapping[str, Value], profile: Profile) -> Iterator[Mistake]:
    """Yield what is wrong with the flags of one document."""
    picker = f"the endpoint picker of {profile.name}"
    own = {name: said for name, said in _SYSTEM.items() if name in profile.known_flags}
    by_name = flag_mistakes(
        written,
        picker,
        known={name: kind for name, kind in profile.known_flags.items() if name not in own},
        own=own,
        refused={
            name: (f"{picker} exits when {name} is set", f"Remove it, and {instead}")
            for name, instead in profile.rejected_flags.items()
        },
    )
    wrong = {mistake.at[0]: mistake for mistake in by_name}
    for name, value in written.items():
        if name in wrong:
            yield wrong[name]
        elif rule := _refused(name, text(value), profile):
            what, next_step = rule
            yield Mistake(f"{name} is {shown(text(value))!r}, {what}", next_step, (name,))


def metrics_mistakes(
    chosen: Mapping[str, str], written: Mapping[str, Value], serving: Serving, *, own_files: bool
) -> Iterator[Mistake]:
    """Yield why a picker ends with its `chosen` flags for metrics over TLS; a deployment has `written` some.

    `Complete` looks for files, which the image or nobody has (`own_files`: the image may), and `Validate` for
    a way to know who asks (pkg/epp/server/options.go of llm-d-router v0.10.0). A cluster's flags alone need
    not be whole, since deployments add to them.
    """
    folder, clients = chosen.get(_FOLDER), chosen.get(_CLIENTS)
    at, of = {}, {}
    for name in (_FOLDER, _CLIENTS):
        at[name] = (name,) if name in written else ()
        of[name] = "" if name in written else " of serving.eppFlags"
    if clients and not folder:
        what = f"{_CLIENTS}{of[_CLIENTS]} is {shown(clients)}, and the picker exits without {_FOLDER}"
        yield Mistake(what, f"Remove it, or write {_FOLDER} too", at[_CLIENTS])
    if not folder:
        return
    is_ = f"{_FOLDER}{of[_FOLDER]} is {shown(folder)}, and the picker exits"
    if not own_files:
        what = f"{is_}, since its image has no tls.crt and tls.key there and nothing is mounted in its pod"
        yield Mistake(what, "Remove it, or use an image of the picker that has both", at[_FOLDER])
    if not clients and not serving.metrics_auth:
        what = f"{is_}, since it would serve metrics over TLS to everybody"
        step = f"Remove it, or write {_CLIENTS} too, or serving.metricsAuth: true in the cluster"
        yield Mistake(what, step, at[_FOLDER])


def _refused(name: str, value: str, profile: Profile) -> tuple[str, str] | None:
    """Return why a picker ends with a flag whose value is of the right form, and what to do."""
    kind = profile.known_flags[name]
    if name in _CHOICES and value.lower() not in _CHOICES[name]:
        return "with which the picker exits", f"Give it one of {listing(_CHOICES[name])}"
    if name in _EXACT and value not in _EXACT[name]:
        return "with which the picker exits", f"Give it one of {listing(_EXACT[name])}"
    if name == _SUITES and (
        unknown := [each for each in _listed(value) if each not in profile.cipher_suites]
    ):
        what = f"and the picker exits, since it does not know {listing(unknown)}"
        return what, one_of(unknown[0], profile.cipher_suites, "Its cipher suites")
    if kind == "duration" and (length := seconds(value)) is None:
        return "which is longer than a duration can be", "Give it a shorter one, such as 5s"
    if kind == "duration" and length == 0 and (name in _TICKERS or (name == _READ and profile.metrics_gate)):
        return (
            "with which the picker ends: it is an interval",
            "Give it a duration of more than 0, such as 5s",
        )
    if name in _PORTS and not 1 <= int(value) <= _LAST_PORT:
        return "which is no port", f"Give it a port from 1 to {_LAST_PORT}"
    return None


def _listed(value: str) -> list[str]:
    """Return the names that a flag lists, as pflag's StringSlice reads a line of CSV, whose fields may stand
    in quotes; spaces around a name and empty ones do not count. No known name has quotes or a comma.
    """
    names = (
        field[1:-1] if len(field) > 1 and field[0] == field[-1] == '"' else field
        for field in value.split(",")
    )
    return [name.strip() for name in names if name.strip()]
