"""What is wrong with a pod where it was placed: what a team wrote, and what plugins made of it.

The same rules are for both, so that neither may do what the other may not, and an equal value contradicts
nothing. They see a spec whose types are right. Labels cannot contradict: documents must not set labels of the
domains that are generated, and plugins must not change them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.documents.kinds.workers import fraction_mistakes
from inferfleet.documents.pods.diff import field_path
from inferfleet.documents.pods.plain import packed
from inferfleet.documents.pods.template import (
    ENGINE,
    ROUTING_PROXY,
    engine_container,
    packed_mistakes,
    resource_amounts,
    template_mistakes,
)
from inferfleet.documents.problems import Mistake, Problem, cluster_problem
from inferfleet.documents.wording import path_of, shown
from inferfleet.fleet.accelerators import has_accelerators
from inferfleet.fleet.names import LWS
from inferfleet.fleet.node_conditions import (
    REQUIRED,
    MatchingNodes,
    NodeConditions,
    conditions_of,
    label_match,
)
from inferfleet.fleet.roles import (
    connector,
    declared_image,
    engine_ports,
    is_disaggregated,
    path_of_engine,
    path_of_image,
    picker_of,
    serving_ports,
    serving_roles,
)
from inferfleet.fleet.shapes import requests
from inferfleet.serving.pod.hardware import Hardware, generated_claims
from inferfleet.serving.pod.template import (
    PROBES,
    PlacedPod,
    Spec,
    cluster_proxy_image,
    declared_proxy,
    is_port,
    names_of_ports,
    own_proxy_flags,
    proxy_table,
)
from inferfleet.serving.programs import resource_mistakes
from inferfleet.tables.devices import NVIDIA_DRIVERS, is_accelerator, vendor_of
from inferfleet.tables.engines import CONNECTORS
from inferfleet.tables.images import reference_of
from inferfleet.tables.pickers import ProxyTable, names, profile

# What lets pods have devices again.
_WITHOUT = "accelerator: None of the deployment"
_HARDWARE = "Remove it, and say by spec.nodeSelector or spec.clusterSelector which hardware you mean"


_GIVEN = "inferfleet adds the routing proxy to decode pods, and requests come in there"
_LEAVE = "Leave it as it is; spec.prefill.proxy has image, port, resources and flags of the proxy"
# What a flag is that a command line does not have.
_DEFAULTS = {"data-parallel-size": "1", "tracing": "false"}


def document_problems(pod: PlacedPod) -> Iterator[Problem]:
    """Yield what is wrong with what the team wrote where the pod was placed, with both values."""
    written = pod.written.manifest
    if not pod.image and "image" not in pod.written.engine:
        cluster, kind = pod.spot.cluster, pod.worker.engine.type
        yield _problem(
            pod,
            path_of_image(pod.deployment, pod.role),
            f"the engine has no image, and serving.images.engine of cluster {cluster} has none for {kind}",
            # That of a cluster is for its engines on accelerators of every vendor.
            "Write engine.image, for the vendor of these accelerators"
            if pod.hardware.resource and not _is_nvidias(pod.hardware.resource)
            else f"Write engine.image, or serving: {{images: {{engine: {{{kind}: <image>}}}}}} in the "
            "cluster, or leave it out by clusterSelector",
        )
    yield from proxy_problems(pod)
    yield from _encrypted_probe_problems(pod)
    for mistake in (*_group_mistakes(written, pod), *_place_mistakes(written["spec"], pod)):
        yield _problem(pod, pod.field(mistake.field_path), mistake.what, mistake.next_step)


def _is_nvidias(resource: str) -> bool:
    vendor = vendor_of(resource)
    return vendor is not None and vendor.driver in NVIDIA_DRIVERS


def template_check(pod: PlacedPod) -> Callable[[dict[str, Any]], Iterator[Mistake]]:
    """Return the function that yields what an edited template contradicts.

    These are the checks of `document_problems`, of what documents say before the plan, and what plugins ask
    of nodes. Places are as those of a difference, with containers by name.
    """

    def template_mistakes(template: dict[str, Any]) -> Iterator[Mistake]:
        where = f"pool {pod.spot.pool(pod.role)} of cluster {pod.spot.cluster}"
        mistakes = (
            *_device_mistakes(template["spec"], pod),
            *_place_mistakes(template["spec"], pod),
            *_node_mistakes(template["spec"], pod.hardware, where),
            *_fraction_mistakes(template),
            *_group_mistakes(template, pod),
            *proxy_mistakes(template, pod),
        )
        for mistake in mistakes:
            yield replace(mistake, field_path=(field_path(template, mistake.field_path),))

    return template_mistakes


def _place_mistakes(spec: Spec, pod: PlacedPod) -> Iterator[Mistake]:
    yield from _claim_mistakes(spec, pod.hardware)
    yield from _pinned_mistakes(spec)


def _fraction_mistakes(template: Mapping[str, Any]) -> Iterator[Mistake]:
    annotations = template.get("metadata", {}).get("annotations", {})
    for mistake in fraction_mistakes(annotations):
        yield replace(mistake, field_path=("metadata", "annotations", *mistake.field_path))


def _device_mistakes(spec: Spec, pod: PlacedPod) -> Iterator[Mistake]:
    """Yield what a pod has of accelerators and of their vendors beside those of its engine, and its class
    does not describe.

    What templates of documents ask for was judged before the pool was chosen, so this is said of plugins. A
    chain refuses another number of those that were generated.
    """
    hardware, cluster = pod.hardware, pod.spot.cluster
    given = f"{hardware.gpus} {hardware.resource} in the engine" if hardware.resource else "no accelerators"
    if hardware.allocation == "DRA":
        given = f"{hardware.gpus} accelerators by DRA claims"
    for container, resource, amount, path in resource_amounts(spec):
        generated = resource == hardware.resource and hardware.allocation == "DevicePlugin"
        if (
            (vendor_of(resource) is None and resource != hardware.resource)
            or resource in hardware.others
            or (generated and container == ENGINE)
        ):
            continue
        step = "Remove it: the deployment says which accelerators its pods have"
        if not is_accelerator(resource) and resource != hardware.resource:
            step += (
                "; if nodes have it besides, describe it in the class as a device with claim: Synthetic and "
                f"driver: {resource}"
            )
        yield Mistake(
            f"container {container!r} asks for {amount} {resource}, but pods on pool "
            f"{pod.spot.pool(pod.role)} of cluster {cluster} have {given} alone",
            step,
            path,
        )


def _claim_mistakes(spec: Spec, hardware: Hardware) -> Iterator[Mistake]:
    """Yield claims that a team or a plugin wrote, whatever they are for.

    What one takes stands in an object on the cluster that may be another tomorrow. The plan would count
    places for pods that no node has devices for, and a claim that is named directly binds all replicas to the
    node that it was given.
    """
    ours = generated_claims(hardware)
    if any(claim not in ours for claim in spec.get("resourceClaims", [])):
        by = (
            "claims of the topology"
            if hardware.allocation == "DRA"
            else hardware.resource or "cores and memory"
        )
        yield Mistake(
            f"the pod claims devices of its own, but replicas are placed by {by}, and the plan does not see "
            "what a claim takes",
            "Remove it: the engine gets the devices of its topology"
            if hardware.resource
            else f"Remove it, or remove {_WITHOUT}",
            ("spec", "resourceClaims"),
        )


def _node_mistakes(spec: Spec, hardware: Hardware, pool: str) -> Iterator[Mistake]:
    """Yield labels of nodes that a pod asks for and that nodes of its pool do not have.

    What templates of documents ask for was judged before the pool was chosen, so this is said of plugins.
    """
    conditions = conditions_of(spec)
    if conditions is None:
        return
    known = hardware.node_labels
    for requirement in conditions.selector:
        alone = label_match(NodeConditions((requirement,), None), known)
        if alone.nodes == MatchingNodes.NONE:
            what = (
                f"it is {requirement.values[0]!r}, but nodes of {pool}, where it was placed, have {alone.has}"
            )
            yield Mistake(what, _HARDWARE, ("spec", "nodeSelector", requirement.key))
    # What the selector asks for, the affinity can rely on, also where the selector itself is wrong.
    relied = {requirement.key: requirement.values for requirement in conditions.selector}
    of_affinity = label_match(NodeConditions((), conditions.terms), relied | dict(known))
    if of_affinity.nodes == MatchingNodes.NONE:
        needs = "; or ".join(of_affinity.needs)
        what = f"it requires {needs}, but nodes of {pool}, where it was placed, have {of_affinity.has}"
        yield Mistake(what, _HARDWARE, ("spec", "affinity", "nodeAffinity", REQUIRED))


def _pinned_mistakes(spec: Spec) -> Iterator[Mistake]:
    """Yield that the pods are pinned to a node by its name."""
    if spec.get("nodeName"):
        node = spec["nodeName"]
        what = f"it pins every replica to node {node!r}, but inferfleet places replicas by pool"
        yield Mistake(what, _HARDWARE, ("spec", "nodeName"))


def _group_mistakes(template: Mapping[str, Any], pod: PlacedPod) -> Iterator[Mistake]:
    """Yield labels and annotations by which the controller of LeaderWorkerSets knows pods of its groups.

    A group's number or key that a pod already has stays (pkg/webhooks/pod_webhook.go), so that pods of
    several groups would count as one, and `exclusive-topology` takes nodes that the plan gives to others.
    """
    if pod.shape.pods == 1:
        return
    for kind in ("labels", "annotations"):
        for key in template.get("metadata", {}).get(kind, {}):
            if key.startswith(LWS):
                yield Mistake(
                    f"the {kind[:-1]} {key} is one that the controller of LeaderWorkerSets sets on pods of "
                    f"workers, and these workers have {pod.shape.pods} pods",
                    "Remove it, or use a prefix of your own",
                    ("metadata", kind, key),
                )


def template_problems(template: dict[str, Any], pod: PlacedPod) -> Iterator[Problem]:
    """Yield what is wrong with types, names and mounts of a generated template.

    What the team wrote was checked before: this is about what was added to it, and so is seldom anything.
    """
    try:
        mistakes = packed_mistakes(packed(template))
    except ValueError:  # a value that is none of JSON, such as a date
        mistakes = tuple(template_mistakes(template))
    for mistake in mistakes:
        steps = [step for step in mistake.field_path if isinstance(step, str)]
        what = mistake.what.replace("{field}", steps[-1] if steps else "it")
        yield _problem(pod, pod.field(mistake.field_path), what, mistake.next_step)


def missing_request_problems(template: Mapping[str, Any], pod: PlacedPod) -> Iterator[Problem]:
    """Yield a warning for a pod without accelerators whose template requests neither cores nor memory."""
    spec = template["spec"]
    if has_accelerators(pod.deployment, pod.role) or requests(spec, "cpu") or requests(spec, "memory"):
        return
    place, _ = engine_container(pod.written.spec)
    yield Problem(
        "the pods have accelerator: None and request neither cpu nor memory, so the plan puts as many on a "
        "node as it may run",
        "Write resources.requests with cpu and memory",
        pod.field(("spec", "containers", place, "resources")),
        kind="ModelDeployment",
        key=pod.deployment.metadata.key,
        severity="warning",
    )


def proxy_problems(pod: PlacedPod) -> Iterator[Problem]:
    """Yield what the document says of the proxy that does not go with its version on the pods' cluster."""
    if not pod.has_proxy:
        return
    document, table, deployment = declared_proxy(pod), proxy_table(pod), pod.deployment
    if (chosen := connector(deployment)) not in table.connectors:
        yield _problem(pod, "spec.prefill.connector", *_no_connector(pod, chosen, table))
    of_cluster = pod.serving.images.proxy if pod.serving else None
    if of_cluster and not document.image and cluster_proxy_image(pod) is None:
        what = (
            f"{_proxy_in_words(pod)} is another image than serving.images.proxy in cluster {pod.spot.cluster}"
        )
        step = f"Write spec.prefill.proxy.image, as {table.image} is called there"
        yield _problem(pod, "spec.profile", what, step)
    for name in document.flags:
        if name in table.own_flags:
            step = f"Remove it: {table.own_flags[name]}"
            yield _problem(pod, f"spec.prefill.proxy.flags.{name}", f"flag {name} is set by inferfleet", step)
    for mistake in resource_mistakes(document.resources):
        path = path_of(("spec", "prefill", "proxy", "resources", *mistake.field_path))
        yield _problem(pod, path, mistake.what, mistake.next_step)
    for mistake in _probe_mistakes(pod.written.spec, pod):
        yield _problem(pod, pod.field(mistake.field_path), mistake.what, mistake.next_step)


def _encrypted_probe_problems(pod: PlacedPod) -> Iterator[Problem]:
    """Yield probes that ask the engine by HTTPS where gateways, pickers and proxies send plain HTTP."""
    if not pod.worker.serves:
        return
    place, engine = engine_container(pod.written.spec)
    numbers = engine_ports(pod.deployment, pod.role, pod.shape)
    ports = {*numbers, *names_of_ports(engine, numbers).values()}
    for probe in PROBES:
        asks = engine.get(probe, {}).get("httpGet", {})
        if asks.get("scheme") == "HTTPS" and asks.get("port") in ports:
            yield _problem(
                pod,
                pod.field(("spec", "containers", place, probe, "httpGet", "scheme")),
                f"{probe} asks port {asks['port']} by HTTPS, and requests come there by plain HTTP",
                "Remove scheme, and let the engine serve without TLS; a service mesh can encrypt between "
                "pods (plugin istio)",
            )


def other_port_problems(pod: PlacedPod) -> Iterator[Problem]:
    """Yield a warning where an engine lists ports, and none is the one that requests come to by default."""
    _, engine = engine_container(pod.written.spec)
    ports, listed = engine_ports(pod.deployment, pod.role, pod.shape), engine.get("ports", ())
    usual = pod.worker.serves and not pod.has_proxy and pod.worker.engine.port is None
    if not usual or not listed or any(is_port(each, port) for each in listed for port in ports):
        return
    numbers = [each["containerPort"] for each in listed]
    yield replace(
        _problem(
            pod,
            f"{path_of_engine(pod.deployment, pod.role)}.port",
            f"the engine lists port {' and '.join(map(str, numbers))}, and requests come to port {ports[0]}, "
            f"which is that of {pod.worker.engine.type}",
            f"Write engine.port: {numbers[0]}, or whichever it serves on",
        ),
        severity="warning",
    )


def own_command_problems(pod: PlacedPod) -> Iterator[Problem]:
    """Yield a warning for a command of a team's own behind a routing proxy, which takes its usual port."""
    place, engine = engine_container(pod.written.spec)
    field = next((name for name in ("command", "args") if name in engine), None)
    if not pod.has_proxy or field is None:
        return
    port = engine_ports(pod.deployment, pod.role, pod.shape)[0]
    yield replace(
        _problem(
            pod,
            pod.field(("spec", "containers", place, field)),
            f"the engine has a command of its own, and the routing proxy of {pod.role} pods takes its port",
            f"Let the engine listen on port {port}, which it has as INFERFLEET_PORT",
        ),
        severity="warning",
    )


def _no_connector(pod: PlacedPod, chosen: str, table: ProxyTable) -> tuple[str, str]:
    """Return that the proxy does not know the connector, and which ones and which profiles there are."""
    own_profile = pod.deployment.spec.profile
    whose = "this deployment" if own_profile else f"cluster {pod.spot.cluster}"
    kind = pod.worker.engine.type
    instead = [f"connector {name}" for name in table.connectors if name in CONNECTORS.get(kind, ())]
    field = "spec.profile" if own_profile else f"serving.profile of cluster {pod.spot.cluster}"
    knowing = [name for name in names() if (row := profile(name).proxy) and chosen in row.connectors]
    instead += [f"{knowing[0]} in {field}"] if knowing else []
    return (
        f"{_proxy_in_words(pod)}, the profile of {whose}, does not know connector {chosen}",
        f"Write {' or '.join(instead)}"
        if instead
        else f"Prefill apart from decode is not offered for {kind} with this profile",
    )


def changing_image_problems(pod: PlacedPod) -> Iterator[Problem]:
    """Yield a warning for an engine of both roles whose image may be another one when its next pod starts."""
    deployment, template_image = pod.deployment, pod.written.engine.get("image")
    image = template_image or pod.image or ""
    if (
        not is_disaggregated(deployment)
        or pod.role not in serving_roles(deployment)
        or not reference_of(image).may_change
    ):
        return
    what = (
        f"image {shown(image)!r} has no version, and pods that start later may run another one than those "
        "with which they exchange KV caches"
    )
    step = "Write a tag with a version, or a digest"
    if template_image:
        place, _ = engine_container(pod.written.spec)
        path = f"{pod.path}.spec.containers[{place}].image"
        yield replace(_problem(pod, path, what, step), severity="warning")
    elif declared_image(deployment, pod.role):
        path = path_of_image(deployment, pod.role)
        yield replace(_problem(pod, path, what, step), severity="warning")
    else:
        path = f"spec.serving.images.engine.{pod.worker.engine.type}"
        yield cluster_problem(pod.spot.cluster, what, step, path, severity="warning")


def proxy_mistakes(template: Mapping[str, Any], pod: PlacedPod) -> Iterator[Mistake]:
    """Yield what plugins did to the proxy that requests do not survive. Places are steps of the template."""
    if not pod.has_proxy:
        return
    spec = template["spec"]
    yield from _probe_mistakes(spec, pod)
    index, proxy = next(
        (
            (index, each)
            for index, each in enumerate(spec.get("initContainers", []))
            if each["name"] == ROUTING_PROXY
        ),
        (None, None),
    )
    if index is None or proxy is None:
        yield Mistake(
            f"the pod has no init container {ROUTING_PROXY}, but {_GIVEN}", _LEAVE, ("spec", "initContainers")
        )
        return
    at = ("spec", "initContainers", index)
    if proxy.get("restartPolicy") != "Always":
        what = f"without restartPolicy: Always {ROUTING_PROXY} has to end before the engine starts"
        yield Mistake(what, _LEAVE, (*at, "restartPolicy"))
    words_by_flag = _words_by_flag(proxy)
    for name, value in own_proxy_flags(pod).items():
        given = words_by_flag.get(name, _DEFAULTS.get(name))
        if given != value:
            has = f"has no --{name}" if given is None else f"has --{name} {given}"
            what = f"{ROUTING_PROXY} {has}, and by the documents it is {value}"
            yield Mistake(what, _LEAVE, (*at, "args"))


def _probe_mistakes(spec: Mapping[str, Any], pod: PlacedPod) -> Iterator[Mistake]:
    """Yield probes of the engine that ask the proxy: pods would get requests before the engine can answer."""
    proxied = serving_ports(pod.deployment, pod.role, pod.shape)
    ports_of_engine = engine_ports(pod.deployment, pod.role, pod.shape)
    place, engine = engine_container(spec)
    for probe in PROBES:
        for way in ("httpGet", "tcpSocket"):
            if (asked := engine.get(probe, {}).get(way, {}).get("port")) in proxied:
                yield Mistake(
                    f"{probe} of container {ENGINE!r} asks port {asked}, but the routing proxy listens "
                    "there, and answers whatever the engine does",
                    f"Ask port {ports_of_engine[proxied.index(asked)]} of the engine itself; a command of "
                    "your own must listen there (INFERFLEET_PORT)",
                    ("spec", "containers", place, probe, way, "port"),
                )


def _words_by_flag(proxy: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags of its command line by their names; the last of a name counts."""
    words = [*proxy.get("command", []), *proxy.get("args", [])]
    found = {}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name] = value if equals else following
    return found


def _proxy_in_words(pod: PlacedPod) -> str:
    version = picker_of(pod.deployment, pod.serving).name if pod.serving else ""
    return f"the routing proxy of {version}"


def _problem(pod: PlacedPod, path: str, what: str, next_step: str) -> Problem:
    return Problem(what, next_step, path, kind="ModelDeployment", key=pod.deployment.metadata.key)
