"""What is wrong with pods for what they serve and where: as written, generated and edited by plugins."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.pods.resources import fractions
from inferfleet.api.pods.template import template_mistakes
from inferfleet.api.problems import Mistake, Problem
from inferfleet.api.wording import below
from inferfleet.fleet.engines.ports import serving_ports
from inferfleet.fleet.names import LWS
from inferfleet.fleet.requests import requests
from inferfleet.fleet.roles import listening_port, path_of_image, proxied_port
from inferfleet.fleet.shapes import has_accelerators
from inferfleet.manifests.pod.contradictions import contradictions
from inferfleet.manifests.pod.disaggregated.check import proxy_mistakes, proxy_problems
from inferfleet.manifests.pod.disaggregated.contradictions import disaggregated_contradictions
from inferfleet.manifests.pod.parts import Contradiction, containers
from inferfleet.manifests.pod.ports import port_contradictions, scraped
from inferfleet.manifests.pod.stand import Stand
from inferfleet.plugins.calling import packed_mistakes
from inferfleet.plugins.diff import place
from inferfleet.plugins.plain import packed


def document_contradictions(stand: Stand) -> Iterator[Problem]:
    """Yield every contradiction in what the team wrote, with both values."""
    metadata = stand.written.metadata
    written = {"metadata": {"labels": metadata.labels, "annotations": metadata.annotations}}
    for mistake in (*scraped(written, stand), *_of_controller(written, stand)):
        yield _problem(mistake, mistake.at, stand)
    yield from _no_image(stand)
    yield from proxy_problems(stand)
    for contradiction in _contradictions(stand.written.spec, stand):
        yield _problem(contradiction, contradiction.at, stand)


def _problem(wrong: Mistake | Contradiction, at: Sequence[str | int], stand: Stand) -> Problem:
    """Return what is wrong at a place of the template, at its line."""
    return Problem(
        wrong.what,
        wrong.next_step,
        stand.field(at),
        kind="ModelDeployment",
        key=stand.deployment.metadata.key,
    )


def _no_image(stand: Stand) -> Iterator[Problem]:
    """Yield an engine for which neither its template nor its cluster names an image."""
    if stand.image or "image" in stand.written.engine:
        return
    cluster, kind = stand.spot.cluster, stand.engine.type
    yield Problem(
        f"the engine has no image, and serving.images.engine of cluster {cluster} has none for {kind}",
        f"Write engine.image, or serving: {{images: {{engine: {{{kind}: <image>}}}}}} in the cluster, or "
        "leave it out by clusterSelector",
        path_of_image(stand.deployment, stand.role),
        kind="ModelDeployment",
        key=stand.deployment.metadata.key,
    )


def template_check(stand: Stand) -> Callable[[dict[str, Any]], Iterator[Mistake]]:
    """Return the function that yields what an edited template contradicts: placement, port and topology.

    These are the checks of `document_contradictions`. Places are as those of a difference, with containers by
    name.
    """

    def check(template: dict[str, Any]) -> Iterator[Mistake]:
        spec = template["spec"]
        for contradiction in _contradictions(spec, stand):
            yield Mistake(contradiction.what, contradiction.next_step, (place(template, contradiction.at),))
        others = (
            *scraped(template, stand),
            *_of_controller(template, stand),
            *proxy_mistakes(template, stand),
        )
        for mistake in others:
            yield Mistake(mistake.what, mistake.next_step, (place(template, mistake.at),))

    return check


def _contradictions(spec: dict[str, Any], stand: Stand) -> Iterator[Contradiction]:
    behind = proxied_port(stand.deployment, stand.role)
    yield from contradictions(
        spec,
        port=listening_port(stand.deployment, stand.role),
        field="spec.prefill.proxy.enginePort" if behind else "spec.engine.port",
        hardware=stand.hardware,
        pool=stand.spot.pool(stand.role),
        cluster=stand.spot.cluster,
        proxied=serving_ports(stand.deployment, stand.role, stand.shape) if stand.has_proxy else (),
    )
    yield from port_contradictions(spec, stand)
    yield from disaggregated_contradictions(spec, stand)


def _of_controller(template: Mapping[str, Any], stand: Stand) -> Iterator[Mistake]:
    """Yield labels and annotations by which the controller of LeaderWorkerSets knows pods of its groups.

    A group's number or key that a pod already has stays (pkg/webhooks/pod_webhook.go), so that pods of
    several groups would count as one, and `exclusive-topology` takes nodes that the plan gives to others.
    """
    if stand.shape.pods == 1:
        return
    for kind in ("labels", "annotations"):
        for key in template.get("metadata", {}).get(kind, {}):
            if key.startswith(LWS):
                yield Mistake(
                    f"the {kind[:-1]} {key} is one that the controller of LeaderWorkerSets sets on pods of "
                    f"workers, and these workers have {stand.shape.pods} pods",
                    "Remove it, or use a prefix of your own",
                    ("metadata", kind, key),
                )


def api_server_refusals(template: dict[str, Any], stand: Stand) -> Iterator[Problem]:
    """Yield what the API server would refuse of a generated template.

    What the team wrote was checked before: this is about what was added to it, and so is seldom anything.
    """
    try:
        mistakes = packed_mistakes(packed(template))
    except ValueError:  # a value that is none of JSON, such as a date
        mistakes = tuple(template_mistakes(template))
    for mistake in mistakes:
        steps = [step for step in mistake.at if isinstance(step, str)]
        yield Problem(
            mistake.what.replace("{field}", steps[-1] if steps else "it"),
            mistake.next_step,
            stand.field(mistake.at),
            kind="ModelDeployment",
            key=stand.deployment.metadata.key,
        )


def fractional_bytes(stand: Stand) -> Iterator[Problem]:
    """Yield a warning for each amount of memory that is no whole number of bytes: `512m` is half a byte."""
    for at, container in containers(stand.written.spec):
        for part, resource, written in fractions(container.get("resources", {})):
            meant = f"{written.removesuffix('m')}Mi" if written.endswith("m") else "a whole number of bytes"
            yield Problem(
                f"container {container['name']}: {resource} {written} is no whole number of bytes",
                f"Write {meant}",
                below(f"{stand.field(at)}.resources.{part}", resource),
                kind="ModelDeployment",
                key=stand.deployment.metadata.key,
                severity="warning",
            )


def without_requests(template: Mapping[str, Any], stand: Stand) -> Iterator[Problem]:
    """Yield a warning for a pod without accelerators whose template requests neither cores nor memory."""
    spec = template["spec"]
    if has_accelerators(stand.deployment) or requests(spec, "cpu") or requests(spec, "memory"):
        return
    place, _ = engine_container(stand.written.spec)
    yield Problem(
        "the pods have accelerator: None and request neither cpu nor memory, so the plan puts as many on a "
        "node as it may run",
        "Write resources.requests with cpu and memory",
        stand.field(("spec", "containers", place, "resources")),
        kind="ModelDeployment",
        key=stand.deployment.metadata.key,
        severity="warning",
    )
