"""A deployment's endpoint picker (EPP) on one cluster, with the InferencePool among whose pods it chooses.

Here are the objects of both, the picker's command line, the EndpointPickerConfig by which it scores pods, and
how it ends.

A deployment's own config is used unchanged, and flags of documents are passed on as they are written.

One picker keeps its names: its Deployment starts the next pod, and ends the old one once the next is ready.

Of several replicas the elected leader alone is ready, and their Lease is named after their InferencePool. A
leader that ends gives its Lease back last (engageStopProcedure in pkg/manager/internal.go of
controller-runtime v0.23.3), unless its release serves on: under the same name nobody would choose pods
meanwhile. So several replicas have an edition, a part of the names of their objects and the pool.
"""

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any

import yaml

from inferfleet.documents.kinds.base import Toleration
from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment, Prefill
from inferfleet.documents.quantity import go_seconds
from inferfleet.fleet import names
from inferfleet.fleet.adapters import loads_while_serving
from inferfleet.fleet.decisions import ExposedPath
from inferfleet.fleet.picker_size import picker_resources
from inferfleet.fleet.roles import DECODE, PREFILL, connector, is_disaggregated, target_ports
from inferfleet.serving.metadata import SKIP_AWAIT, WAIT_FOR, metadata
from inferfleet.serving.programs import Value, pull_secrets, text, tracing_variables, variable_of_pod
from inferfleet.tables.devices import ACCELERATED_NODE_LABELS
from inferfleet.tables.engines import engine
from inferfleet.tables.pickers import Phases, Profile
from inferfleet.tables.pickers import picker as picker_row

POOL = "InferencePool"
CONTAINER = "epp"
# The names of the ports of a picker's container, and of its Service.
GRPC, METRICS = "grpc-ext-proc", "http-metrics"
# A lost node has its pods for as long as they tolerate it, by default 300 s
# (plugin/pkg/admission/defaulttolerationseconds/admission.go of Kubernetes), and gateways send to no pod
# without a picker. A node that is back within this time keeps it.
_LOST_NODE_SECONDS = 20
# A picker says it is healthy before it has made the key of its certificate, and listens to gateways only
# then: a request that is sent there in between fails.
_STARTUP_SECONDS = 60
# Until gateways know that a picker ends.
_LEAST_SLEEP_SECONDS = 5
# Between the end of its last stream, or of the time for it, and the end of its process.
_RESERVE_SECONDS = 5
# Pulumi waits ten minutes for a deletion (pkg/await/await.go of pulumi-kubernetes 4.25).
_LONGEST_GRACE_SECONDS = 570
_RBAC = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_POOLS, _OBJECTIVES = ["inferencepools"], ["inferenceobjectives", "inferencemodelrewrites"]
# strconv.ParseBool, which pflag asks: https://pkg.go.dev/strconv#ParseBool.
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
# Probes, Services and NetworkPolicies have them too.
HEALTH_PORT, METRICS_PORT = "grpc-health-port", "metrics-port"
# The files of metrics over TLS.
_FOLDER, _CLIENTS = "metrics-cert-dir", "metrics-client-ca-file"
# Scorers and weights as in the charts of Gateway API Inference Extension and llm-d-router.
_SCORERS = {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}
# Where prefill is apart, as in deploy/config/pd-epp-config.yaml of llm-d's scheduler and of its router.
# The scorer takes the size of blocks from a metric of the engine (autoTune).
_SCORERS_APART = {"prefix-cache-scorer": 2, "queue-scorer": 1}
# Where an adapter is in hand, the others of a batch do not wait for it to be loaded onto the GPUs. vLLM alone
# says in its metrics which those are (pkg/epp/framework/plugins/scheduling/scorer of both releases).
_OF_ADAPTERS = {"lora-affinity-scorer": 3}
CONFIG = "EndpointPickerConfig"
HANDLER = "disagg-profile-handler"
PREFIX_DECIDER, ALWAYS_DECIDER = "prefix-based-pd-decider", "always-disagg-pd-decider"
FILTERS = {PREFILL: "prefill-filter", DECODE: "decode-filter"}
SOURCE, _DETECTOR = "metrics-data-source", "utilization-detector"
# Pickers add it by themselves where no plugin picks, so that profiles may refer to it all the same.
PICKER = "max-score-picker"
# Tokens that llm-d's sample asks for.
_NON_CACHED_TOKENS = 16


@dataclass(frozen=True)
class Picker:
    """A deployment's endpoint picker on a cluster."""

    deployment: ModelDeployment
    serving: Serving
    """What the cluster says of serving."""
    profile: Profile
    """The row of the table for the release that it runs."""
    stack: str
    replicas: int
    """Replicas of the deployment on the cluster."""
    drain: int
    """Seconds that pods of the deployment's engines have to end: streams run through the gateway on the
    word of the picker that they began with.
    """
    revision: str = ""
    """Revision of the pods among which it chooses, of a deployment whose prefill is apart."""
    edition: str = ""
    """What `edition` returns, of a picker with several replicas."""
    paths: tuple[ExposedPath, ...] = ()
    """Paths of the engine that routes expose."""

    @property
    def revised(self) -> str:
        """Return the part of the names of its objects that changes with revision and edition."""
        return names.revised(self.revision, self.edition)

    @property
    def name(self) -> str:
        return names.epp(self.deployment.metadata.key, self.revised)

    @property
    def pool(self) -> str:
        """Return the name of its InferencePool."""
        return names.inference_pool(self.deployment.metadata.key, self.revised)

    @property
    def is_replicated(self) -> bool:
        """Return whether it has several replicas, of which one leads."""
        return self.deployment.spec.endpoint_picker.replicas > 1

    @property
    def selector(self) -> dict[str, str]:
        """Return the labels of its pods, which no pool and no workload of the deployment selects."""
        return {names.PICKER: self.name}

    @property
    def flags(self) -> dict[str, str]:
        """Return every flag but those that inferfleet sets itself, sorted by name."""
        merged: dict[str, Value] = dict(self.profile.flags)
        metrics_port = engine(self.deployment.spec.engine.type).metrics_port
        if metrics_port and self.profile.engine_metrics_port_flag:
            merged[self.profile.engine_metrics_port_flag] = metrics_port
        if not self.serving.metrics_auth:
            # Profiles of memory and goroutines are served beside the metrics, to whoever reaches those.
            merged["enable-pprof"] = False
        merged |= self.serving.epp_flags | self.deployment.spec.endpoint_picker.flags
        return {name: text(value) for name, value in sorted(merged.items())}

    @property
    def node_selector(self) -> Mapping[str, str]:
        """Return the labels of the nodes that it runs on."""
        declared = self.deployment.spec.endpoint_picker.node_selector
        return self.serving.endpoint_picker.node_selector if declared is None else declared

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """Return the taints of nodes that it tolerates beside those of lost nodes."""
        declared = self.deployment.spec.endpoint_picker.tolerations
        return self.serving.endpoint_picker.tolerations if declared is None else declared

    @property
    def grpc_port(self) -> int:
        """Return the port where gateways reach it."""
        return self.deployment.spec.endpoint_picker.port or self.profile.grpc_port

    @property
    def health_port(self) -> int:
        return int(self.flags.get(HEALTH_PORT, self.profile.health_port))

    @property
    def metrics_port(self) -> int:
        return int(self.flags.get(METRICS_PORT, self.profile.metrics_port))

    @property
    def metrics_are_secure(self) -> bool:
        """Return whether it serves its metrics over TLS (ConfigureMetricsTLS in pkg/epp/server/options.go of
        llm-d-router v0.10.0; others never do).
        """
        return bool(self.flags.get(_FOLDER) or self.flags.get(_CLIENTS))

    @property
    def unparsed_paths(self) -> tuple[ExposedPath, ...]:
        """Return the paths whose requests the parser of prompts refuses; of a picker with several parsers
        none is refused.
        """
        parsed = self.profile.parsed_paths
        unparsed = tuple(each for each in self.paths if not parsed.fullmatch(each.path)) if parsed else ()
        # A list of models is asked for without a body. Alone, they are asked for answers there, as by
        # TensorFlow Serving.
        lists = tuple(each for each in self.paths if each.path.endswith("/models"))
        return lists if parsed and lists and lists == self.paths else unparsed

    @property
    def ending(self) -> "Ending":
        return ending(self.drain, self.profile, self.flags)

    def metadata(self, name: str | None = None, **others: Any) -> dict[str, Any]:
        """Return the metadata of an object of the picker in its namespace, by default with its name."""
        own = self.deployment.metadata
        return metadata(
            name or self.name, stack=self.stack, namespace=own.namespace, deployment=own.key, **others
        )


@dataclass(frozen=True)
class PickerObjects:
    """Objects of a picker; `rights` are what its Deployment needs to start: account, roles and bindings."""

    rights: tuple[dict[str, Any], ...]
    deployment: dict[str, Any]
    service: dict[str, Any]


def objects(picker: Picker) -> PickerObjects:
    """Return the objects of a picker."""
    key, namespace = picker.deployment.metadata.key, picker.deployment.metadata.namespace
    subject = {"kind": "ServiceAccount", "name": picker.name, "namespace": namespace}
    rights: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": picker.metadata()},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": picker.metadata(),
            "rules": _rules(picker),
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": picker.metadata(),
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": picker.name},
            "subjects": [subject],
        },
    ]
    if picker.serving.metrics_auth:
        # To check who reads the picker's metrics, and whether they may.
        cluster_scoped_name = names.epp_cluster_scoped(key, picker.revised)
        rights += [
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "ClusterRole",
                "metadata": metadata(cluster_scoped_name, stack=picker.stack, deployment=key),
                "rules": [
                    _rule("authentication.k8s.io", ["tokenreviews"], "create"),
                    _rule("authorization.k8s.io", ["subjectaccessreviews"], "create"),
                ],
            },
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": metadata(cluster_scoped_name, stack=picker.stack, deployment=key),
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": cluster_scoped_name},
                "subjects": [copy.deepcopy(subject)],
            },
        ]
    return PickerObjects(tuple(rights), _deployment(picker), _service(picker))


def edition(picker: Picker) -> str:
    """Return six digits of what several replicas of a picker run, "" where there is one.

    The given one has no edition yet.
    """
    return names.short_hash(6, json.dumps(_template(picker), sort_keys=True)) if picker.is_replicated else ""


def inference_pool(picker: Picker) -> dict[str, Any]:
    """Return the InferencePool of the pods among which a picker chooses.

    Source: gateway-api-inference-extension api/v1/inferencepool_types.go.
    """
    deployment = picker.deployment
    return {
        "apiVersion": picker.profile.pool_api_version,
        "kind": POOL,
        "metadata": picker.metadata(picker.pool),
        "spec": {
            "selector": {"matchLabels": names.pool_selector(deployment.metadata.key, picker.revision)},
            "targetPorts": [{"number": port} for port in target_ports(deployment)],
            "endpointPickerRef": {
                "group": "",
                "kind": "Service",
                "name": picker.name,
                "port": {"number": picker.grpc_port},
                "failureMode": deployment.spec.endpoint_picker.failure_mode,
            },
        },
    }


def _rules(picker: Picker) -> list[dict[str, Any]]:
    """Return the rules of a picker's Role: to read pods, its pool and objectives; with several replicas also
    to elect a leader, which takes a Lease and writes Events.

    Its own pool and Lease are named in `resourceNames`, where RBAC can compare a name. A request to create
    has none, so a picker may create any Lease and Event of its namespace. A list or watch has one if it
    selects by `metadata.name`, as pickers do with their pool (pkg/epp/server/controller_manager.go of all
    releases).
    """
    key, profile = picker.deployment.metadata.key, picker.profile
    rules = [
        _rule("", ["pods"], *_READ),
        _rule(profile.pool_group, _POOLS, *_READ, only=[picker.pool]),
        *(_rule(group, _OBJECTIVES, *_READ) for group in profile.objective_groups),
    ]
    if picker.is_replicated:
        lease = names.epp_lease(key, picker.revised, profile.lease_suffix)
        rules += [
            _rule("coordination.k8s.io", ["leases"], "create"),
            _rule("coordination.k8s.io", ["leases"], "get", "update", only=[lease]),
            _rule("", ["events"], "create", "patch"),
        ]
    return rules


def _rule(group: str, resources: list[str], *verbs: str, only: Sequence[str] = ()) -> dict[str, Any]:
    only_these = {"resourceNames": list(only)} if only else {}
    return {"apiGroups": [group], "resources": resources, **only_these, "verbs": list(verbs)}


def _deployment(picker: Picker) -> dict[str, Any]:
    # Only the elected leader becomes ready, so the Deployment as a whole never does. Another edition is
    # another Deployment, in which nobody is ready before.
    leads = {WAIT_FOR: "jsonpath={.status.readyReplicas}"} if picker.is_replicated else None
    # Several are replaced by hand alone, and a rolling update would wait for followers.
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": picker.metadata(annotations=leads),
        "spec": {
            "replicas": picker.deployment.spec.endpoint_picker.replicas,
            "strategy": {"type": "Recreate"} if picker.is_replicated else rolling,
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": picker.selector},
            "template": _template(picker),
        },
    }


def _template(picker: Picker) -> dict[str, Any]:
    """Return the pod template of a picker, whose labels no pool selects."""
    scraped: dict[str, str] = {}
    if picker.serving.monitoring and picker.serving.monitoring.pickers == "Annotations":
        # By them a Prometheus that looks at pods scrapes it.
        scraped = {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": str(picker.metrics_port),
            "prometheus.io/path": "/metrics",
            **({"prometheus.io/scheme": "https"} if picker.metrics_are_secure else {}),
        }
    # Nodes with GPUs are for others. Not required: a cluster may have no other nodes. Those of GKE have a
    # taint besides, which pickers do not tolerate.
    without_gpus = [{"key": label, "operator": "DoesNotExist"} for label in ACCELERATED_NODE_LABELS]
    preferred = {"weight": 100, "preference": {"matchExpressions": without_gpus}}
    return {
        "metadata": {
            "labels": picker.selector | {names.MANAGED_BY: names.MANAGER},
            **({"annotations": scraped} if scraped else {}),
        },
        "spec": {
            "affinity": {
                "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]},
            },
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{what}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _LOST_NODE_SECONDS,
                }
                for what in ("not-ready", "unreachable")
            ]
            + [toleration.model_dump(exclude_none=True) for toleration in picker.tolerations],
            **({"nodeSelector": dict(picker.node_selector)} if picker.node_selector else {}),
            **pull_secrets(picker.serving),
            "serviceAccountName": picker.name,
            "terminationGracePeriodSeconds": picker.ending.grace,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            **(_spread(picker) if picker.is_replicated else {}),
            "containers": [_container(picker)],
        },
    }


def _spread(picker: Picker) -> dict[str, Any]:
    """Keep replicas off each other's nodes where there are others."""
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": picker.selector},
            }
        ]
    }


def _container(picker: Picker) -> dict[str, Any]:
    """Return the picker's container, whose probes ask each release in its own way."""
    deployment, serving, profile = picker.deployment, picker.serving, picker.profile
    health, grpc = picker.health_port, picker.grpc_port
    tracing: list[dict[str, Any]] = []
    if serving.tracing:
        tracing = tracing_variables(serving.tracing, "endpoint-picker")
    elif profile.always_traces:
        # Otherwise it sends a part of them to a collector beside it, and complains that there is none.
        tracing = [{"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0"}]
    live = profile.liveness_service if picker.is_replicated else profile.probe_service
    ready = profile.readiness_service if picker.is_replicated else profile.probe_service
    return {
        "name": CONTAINER,
        "image": image(picker),
        "imagePullPolicy": "IfNotPresent",
        "args": args(picker),
        "env": [
            variable_of_pod("NAMESPACE", "metadata.namespace"),
            variable_of_pod("POD_NAME", "metadata.name"),
            *tracing,
        ],
        "ports": [
            {"name": GRPC, "containerPort": grpc},
            {"name": "grpc-health", "containerPort": health},
            {"name": METRICS, "containerPort": picker.metrics_port},
        ],
        "startupProbe": {
            "tcpSocket": {"port": grpc},
            "periodSeconds": 1,
            "failureThreshold": _STARTUP_SECONDS,
        },
        "livenessProbe": {
            "grpc": {"port": health, "service": live},
            "initialDelaySeconds": 5,
            "periodSeconds": 10,
        },
        "readinessProbe": {
            "grpc": {"port": health, "service": ready},
            "periodSeconds": 2,
        },
        "resources": picker_resources(deployment, serving, picker.replicas),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            # Pickers write no file, and make their certificate in memory.
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "lifecycle": {"preStop": {"sleep": {"seconds": picker.ending.sleep}}},
    }


def image(picker: Picker) -> str:
    """Return the image of a picker: the deployment's, the cluster's, or the profile's own."""
    images, profile = picker.serving.images, picker.serving.profile
    of_cluster = images.epp if picker_row(profile, disaggregated=False) is picker.profile else None
    if is_disaggregated(picker.deployment):
        usual = picker_row(profile, disaggregated=True)
        of_cluster = (images.prefill_epp if usual is picker.profile else None) or of_cluster
    return picker.deployment.spec.endpoint_picker.image or of_cluster or picker.profile.epp_image


def _service(picker: Picker) -> dict[str, Any]:
    """Return the Service of a picker, by which gateways reach it.

    It leads to ports of its pods by name: while a picker is replaced by one that listens on others, both are
    reached.
    """
    monitoring = picker.serving.monitoring
    # A ServiceMonitor selects Services as a Service selects pods.
    labels = picker.selector if monitoring and monitoring.pickers == "ServiceMonitor" else None
    return {
        "apiVersion": "v1",
        "kind": "Service",
        # The Deployment is awaited; awaiting its Service too would double the wait.
        "metadata": picker.metadata(labels=labels, annotations={SKIP_AWAIT: "true"}),
        "spec": {
            "type": "ClusterIP",
            "selector": picker.selector,
            "ports": [
                {
                    "name": GRPC,
                    "protocol": "TCP",
                    "port": picker.grpc_port,
                    "targetPort": GRPC,
                    "appProtocol": "kubernetes.io/h2c",
                },
                {
                    "name": METRICS,
                    "protocol": "TCP",
                    "port": picker.metrics_port,
                    "targetPort": METRICS,
                },
            ],
        },
    }


def args(picker: Picker) -> list[str]:
    """Return the picker's whole command line, one item per flag.

    Its configuration is one of them and no file of a ConfigMap: that would change under pods that run, which
    read it anew when their container starts again, or have another name with each change, and on a cluster
    that is lost nothing can be made or deleted.
    """
    deployment, profile = picker.deployment, picker.profile
    config = config_text(picker_config(picker))
    system = {
        "pool-name": picker.pool,
        "pool-namespace": deployment.metadata.namespace,
        "pool-group": profile.pool_group,
        # A kubelet replaces `$(NAME)` in arguments.
        "config-text": config.replace("$", "$$"),
        "grpc-port": str(picker.grpc_port),
        **({"ha-enable-leader-election": "true"} if picker.is_replicated else {}),
        "tracing": text(picker.serving.tracing is not None),
        "metrics-endpoint-auth": text(picker.serving.metrics_auth),
    }
    return [f"--{name}={value}" for name, value in {**system, **picker.flags}.items()]


@dataclass(frozen=True)
class Ending:
    """Seconds for which a picker that ends goes on as before, and then at least with its streams."""

    sleep: int
    stop: int

    @property
    def grace(self) -> int:
        """Seconds after which its pod is killed."""
        return self.sleep + self.stop + _RESERVE_SECONDS


def ending(drain: int, profile: Profile, chosen: Mapping[str, str]) -> Ending:
    """Return how a picker with these flags ends, whose engines have `drain` seconds: together as long.

    Once told to end, most take no new streams, and give those that they have a time of its own, whatever the
    grace period is. So they are told late, and an elected leader that is evicted, which is no longer ready,
    lets nobody else choose pods meanwhile. A shorter sleep would cut the streams that an update leaves to a
    picker that it has replaced.

    One that serves on is told as soon as gateways know, and not before: it learns of no pods from then on.
    Its own time for new streams stays short for the same reason; it waits for those it has in any case.
    """
    whole = min(drain, _LONGEST_GRACE_SECONDS) - _RESERVE_SECONDS
    # For so long it goes on with its streams, once it is told to end.
    drain_timeout = go_seconds(chosen.get("drain-timeout", ""))
    stop = profile.stop_seconds if drain_timeout is None else ceil(drain_timeout)
    if profile.serves_on:
        return Ending(_LEAST_SLEEP_SECONDS, max(stop, whole - _LEAST_SLEEP_SECONDS))
    return Ending(max(_LEAST_SLEEP_SECONDS, whole - stop), stop)


def unled_seconds(drain: int, profile: Profile, chosen: Mapping[str, str]) -> int:
    """Return for how long nobody chooses pods, at most, once the leader of several pickers is evicted.

    It keeps its Lease until its last stream has ended, or the time for that is over (engageStopProcedure in
    pkg/manager/internal.go of controller-runtime v0.23.3); one that serves on gives it back after its sleep.
    """
    ends = ending(drain, profile, chosen)
    return ends.sleep if profile.serves_on else ends.sleep + ends.stop


def is_secure(chosen: Mapping[str, str]) -> bool:
    """Return whether the picker serves TLS, with a self-signed certificate unless it is given another."""
    return chosen.get("secure-serving", "true") in _TRUE


def picker_config(picker: Picker) -> dict[str, Any]:
    """Return the deployment's own config, or the default for its engine and the paths that routes expose."""
    deployment, profile = picker.deployment, picker.profile
    own_config = deployment.spec.endpoint_picker.config
    if own_config is not None:
        return copy.deepcopy(own_config)
    head = {"apiVersion": profile.config_api_version, "kind": CONFIG}
    metrics = _metrics_plugins(deployment, profile)
    scorers = {**_SCORERS, **_of_adapters(deployment)}
    if deployment.spec.prefill and profile.phases:
        body = _apart(deployment, deployment.spec.prefill, profile.phases, metrics, profile)
    else:
        body = {
            "plugins": [*({"type": name} for name in scorers), *metrics],
            "schedulingProfiles": [{"name": "default", "plugins": _weighed(scorers)}],
        }
    if profile.metrics_stale_after:
        limit = {"metricsStalenessThreshold": profile.metrics_stale_after}
        body["plugins"].append({"type": _DETECTOR, "parameters": limit})
    # By what requests are read, where the picker does not add it by itself.
    parsing: dict[str, Any] = {}
    if profile.parsers:
        parsing = {"requestHandler": {"parsers": [{"pluginRef": name} for name in profile.parsers]}}
    elif picker.unparsed_paths and profile.parser_of_any:
        body["plugins"].append({"type": profile.parser_of_any})
        parsing = {"parser": {"pluginRef": profile.parser_of_any}}
    return head | body | parsing


def always(deployment: ModelDeployment) -> bool:
    """Return whether every request of a deployment with prefill apart is prefilled apart.

    SGLang's decode engines answer others with status 400 (handle_generate_request in
    python/sglang/srt/managers/scheduler.py: "received without bootstrap room id").
    """
    prefill = deployment.spec.prefill
    return prefill is not None and (prefill.decider.type == "Always" or connector(deployment) == "SGLang")


def _apart(
    deployment: ModelDeployment,
    prefill: Prefill,
    phases: Phases,
    metrics: list[dict[str, Any]],
    profile: Profile,
) -> dict[str, Any]:
    """Return plugins and a profile for each role: a decode pod is chosen first, then, if the decider says so,
    a prefill pod, whose address goes to the decode pod's proxy in a header.
    """
    decider: dict[str, Any] = {"type": ALWAYS_DECIDER}
    if not always(deployment):
        tokens = prefill.decider.non_cached_tokens or _NON_CACHED_TOKENS
        decider = {"type": PREFIX_DECIDER, "parameters": {"nonCachedTokens": tokens}}
    scorers = {**_SCORERS_APART, **_of_adapters(deployment)}
    types = (*phases.plugins, *scorers, *FILTERS.values(), PICKER)
    reading = [profile.metrics_gate] if metrics and profile.metrics_gate else []
    gates = [*reading, *phases.gates]
    source = {"pluginRef": SOURCE, "extractors": [{"pluginRef": profile.extractor}]}
    return {
        **({"featureGates": gates} if gates else {}),
        "plugins": [
            *({"type": name} for name in types),
            decider,
            {"type": HANDLER, "parameters": {"deciders": {"prefill": decider["type"]}}},
            *metrics,
        ],
        # The names are those that the handler looks for, and the scorer for the cache of prefill pods.
        "schedulingProfiles": [
            {
                "name": role,
                "plugins": [{"pluginRef": name}, {"pluginRef": PICKER}, *_weighed(scorers)],
            }
            for role, name in FILTERS.items()
        ],
        **({"data": {"sources": [source]}} if reading else {}),
    }


def _of_adapters(deployment: ModelDeployment) -> Mapping[str, int]:
    return _OF_ADAPTERS if loads_while_serving(deployment.spec.engine) else {}


def _weighed(scorers: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"pluginRef": name, "weight": weight} for name, weight in scorers.items()]


def metrics_source(deployment: ModelDeployment, profile: Profile) -> dict[str, Any]:
    """Return what a reader of the engine's metrics has to be told: an unusual path or port."""
    defaults = engine(deployment.spec.engine.type)
    source: dict[str, Any] = {}
    if defaults.metrics_path != "/metrics":
        source["path"] = defaults.metrics_path
    if defaults.metrics_port and not profile.engine_metrics_port_flag:
        source["port"] = defaults.metrics_port
    return source


def _metrics_plugins(deployment: ModelDeployment, profile: Profile) -> list[dict[str, Any]]:
    """Return the two readers of engine metrics, each only if its defaults do not fit.

    Pickers add them by themselves when they are absent, with defaults that do not know this path and label.
    """
    defaults, source = engine(deployment.spec.engine.type), metrics_source(deployment, profile)
    extractor = {"type": profile.extractor, "parameters": {"engineLabelKey": names.LLM_D_ENGINE}}
    plugins: list[dict[str, Any]] = []
    if profile.metrics_gate:
        # Without the gate it reads vLLM's metrics by itself; with it, it adds no reader.
        reader = {"type": SOURCE, **({"parameters": source} if source else {})}
        return [] if defaults.label == "vllm" else [reader, extractor]
    if source:
        plugins.append({"type": SOURCE, "parameters": source})
    if profile.engine_label != names.LLM_D_ENGINE:
        plugins.append(extractor)
    return plugins


class _Plain(yaml.SafeDumper):
    """YAML as pickers read it."""


# Texts that PyYAML takes for texts, and pickers (go.yaml.in/yaml/v2, resolve.go) for numbers and booleans.
_Plain.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^(?:[yYnN]|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+|0o[0-7]+)$"),
    list("yYnN-+.0123456789"),
)


def config_text(config: dict[str, Any]) -> str:
    """Return a config as the text that a picker reads."""
    return _dumped(json.dumps(config))


# Most deployments have the same one, and writing YAML takes as long as all else that is made of them.
@lru_cache(maxsize=256)
def _dumped(config: str) -> str:
    """Return the JSON text `config` as YAML, from a cache. By way of JSON nothing in it has an anchor, which
    pickers would refuse.
    """
    return yaml.dump(json.loads(config), Dumper=_Plain, sort_keys=False, allow_unicode=True)


def deployment_of(workload: Mapping[str, Any]) -> str | None:
    """Return the deployment whose picker a workload is, None for others."""
    metadata, template = workload["metadata"], (workload.get("spec") or {}).get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or ()
    deployment = (metadata.get("labels") or {}).get(names.DEPLOYMENT)
    is_picker = any(container.get("name") == CONTAINER for container in containers)
    return f"{metadata['namespace']}/{deployment}" if deployment and is_picker else None


def pool_of(role: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return group and name of the InferencePool that a picker with this role reads, None for others."""
    for rule in role.get("rules") or ():
        if rule.get("resources") == _POOLS and rule.get("resourceNames"):
            return rule["apiGroups"][0], rule["resourceNames"][0]
    return None


def objective_groups(role: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the API groups in which a picker with this role looks for objectives, in its order."""
    rules = role.get("rules") or ()
    return tuple(rule["apiGroups"][0] for rule in rules if rule.get("resources") == _OBJECTIVES)
