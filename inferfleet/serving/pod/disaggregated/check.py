"""What the routing proxy of decode pods contradicts: in documents, and after edits of plugins.

And images by which pods that serve together may run engines of two versions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.documents.pods.template import ENGINE, ROUTING_PROXY, engine_container
from inferfleet.documents.problems import Mistake, Problem, cluster_problem
from inferfleet.documents.wording import path_of, shown
from inferfleet.fleet.roles import (
    connector,
    declared_image,
    engine_ports,
    is_disaggregated,
    path_of_image,
    picker_of,
    serving_ports,
    serving_roles,
)
from inferfleet.serving.pod.disaggregated.proxy import document_of, image_of_cluster, own_flags, table_of
from inferfleet.serving.pod.stand import Stand
from inferfleet.serving.programs import resource_mistakes
from inferfleet.tables.engines import CONNECTORS
from inferfleet.tables.images import reference_of
from inferfleet.tables.pickers import ProxyTable, names, profile

_GIVEN = "inferfleet adds the routing proxy to decode pods, and requests come in there"
_LEAVE = "Leave it as it is; spec.prefill.proxy has image, port, resources and flags of the proxy"
# What a flag is that a command line does not have.
_DEFAULTS = {"data-parallel-size": "1", "tracing": "false"}


def proxy_problems(stand: Stand) -> Iterator[Problem]:
    """Yield what the document says of the proxy that does not go with its version on the pods' cluster."""
    if not stand.has_proxy:
        return
    document, table, deployment = document_of(stand), table_of(stand), stand.deployment
    if (chosen := connector(deployment)) not in table.connectors:
        yield _problem(stand, "spec.prefill.connector", *_no_connector(stand, chosen, table))
    of_cluster = stand.serving.images.proxy if stand.serving else None
    if of_cluster and not document.image and image_of_cluster(stand) is None:
        what = f"{_program(stand)} is another image than serving.images.proxy in cluster {stand.spot.cluster}"
        step = f"Write spec.prefill.proxy.image, as {table.image} is called there"
        yield _problem(stand, "spec.profile", what, step)
    for name in document.flags:
        if name in table.own_flags:
            step = f"Remove it: {table.own_flags[name]}"
            yield _problem(
                stand, f"spec.prefill.proxy.flags.{name}", f"flag {name} is set by inferfleet", step
            )
    for mistake in resource_mistakes(document.resources):
        path = path_of(("spec", "prefill", "proxy", "resources", *mistake.at))
        yield _problem(stand, path, mistake.what, mistake.next_step)
    for mistake in _probed(stand.written.spec, stand):
        yield _problem(stand, stand.field(mistake.at), mistake.what, mistake.next_step)


def _no_connector(stand: Stand, chosen: str, table: ProxyTable) -> tuple[str, str]:
    """Return that the proxy does not know the connector, and which ones and which profiles there are."""
    own_profile = stand.deployment.spec.profile
    whose = "this deployment" if own_profile else f"cluster {stand.spot.cluster}"
    kind = stand.engine.type
    instead = [f"connector {name}" for name in table.connectors if name in CONNECTORS.get(kind, ())]
    field = "spec.profile" if own_profile else f"serving.profile of cluster {stand.spot.cluster}"
    knowing = [name for name in names() if (row := profile(name).proxy) and chosen in row.connectors]
    instead += [f"{knowing[0]} in {field}"] if knowing else []
    return (
        f"{_program(stand)}, the profile of {whose}, does not know connector {chosen}",
        f"Write {' or '.join(instead)}"
        if instead
        else f"Prefill apart from decode is not offered for {kind} with this profile",
    )


def changing_image(stand: Stand) -> Iterator[Problem]:
    """Yield a warning for an engine of both roles whose image may be another one when its next pod starts."""
    deployment, own = stand.deployment, stand.written.engine.get("image")
    image = own or stand.image or ""
    if (
        not is_disaggregated(deployment)
        or stand.role not in serving_roles(deployment)
        or not reference_of(image).may_change
    ):
        return
    what = (
        f"image {shown(image)!r} has no version, and pods that start later may run another one than those "
        "with which they exchange KV caches"
    )
    step = "Write a tag with a version, or a digest"
    if own:
        place, _ = engine_container(stand.written.spec)
        path = f"{stand.path}.spec.containers[{place}].image"
        yield replace(_problem(stand, path, what, step), severity="warning")
    elif declared_image(deployment, stand.role):
        path = path_of_image(deployment, stand.role)
        yield replace(_problem(stand, path, what, step), severity="warning")
    else:
        path = f"spec.serving.images.engine.{stand.engine.type}"
        yield cluster_problem(stand.spot.cluster, what, step, path, severity="warning")


def proxy_mistakes(template: Mapping[str, Any], stand: Stand) -> Iterator[Mistake]:
    """Yield what plugins did to the proxy that requests do not survive. Places are steps of the template."""
    if not stand.has_proxy:
        return
    spec = template["spec"]
    yield from _probed(spec, stand)
    place, proxy = next(
        (
            (place, each)
            for place, each in enumerate(spec.get("initContainers", []))
            if each["name"] == ROUTING_PROXY
        ),
        (None, None),
    )
    if place is None or proxy is None:
        yield Mistake(
            f"the pod has no init container {ROUTING_PROXY}, but {_GIVEN}", _LEAVE, ("spec", "initContainers")
        )
        return
    at = ("spec", "initContainers", place)
    if proxy.get("restartPolicy") != "Always":
        what = f"without restartPolicy: Always {ROUTING_PROXY} has to end before the engine starts"
        yield Mistake(what, _LEAVE, (*at, "restartPolicy"))
    written = _written(proxy)
    for name, value in own_flags(stand).items():
        given = written.get(name, _DEFAULTS.get(name))
        if given != value:
            has = f"has no --{name}" if given is None else f"has --{name} {given}"
            what = f"{ROUTING_PROXY} {has}, and by the documents it is {value}"
            yield Mistake(what, _LEAVE, (*at, "args"))


def _probed(spec: Mapping[str, Any], stand: Stand) -> Iterator[Mistake]:
    """Yield probes of the engine that ask the proxy: pods would get requests before the engine can answer."""
    proxied = serving_ports(stand.deployment, stand.role, stand.shape)
    own = engine_ports(stand.deployment, stand.role, stand.shape)
    place, engine = engine_container(spec)
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        for way in ("httpGet", "tcpSocket"):
            if (asked := engine.get(probe, {}).get(way, {}).get("port")) in proxied:
                yield Mistake(
                    f"{probe} of container {ENGINE!r} asks port {asked}, but the routing proxy listens "
                    "there, and answers whatever the engine does",
                    f"Ask port {own[proxied.index(asked)]} of the engine itself, or name it http",
                    ("spec", "containers", place, probe, way, "port"),
                )


def _written(proxy: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags of its command line by their names; the last of a name counts."""
    words = [*proxy.get("command", []), *proxy.get("args", [])]
    found = {}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name] = value if equals else following
    return found


def _program(stand: Stand) -> str:
    version = picker_of(stand.deployment, stand.serving).name if stand.serving else ""
    return f"the routing proxy of {version}"


def _problem(stand: Stand, path: str, what: str, next_step: str) -> Problem:
    return Problem(what, next_step, path, kind="ModelDeployment", key=stand.deployment.metadata.key)
