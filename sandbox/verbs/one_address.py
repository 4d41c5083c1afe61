"""Where a service answers at the address of an InferenceGateway, for one of its callers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inferfleet.documents.kinds.inference_gateway import InferenceGateway
from inferfleet.documents.loading.project import StackFiles
from inferfleet.documents.loading.settings import read_config
from inferfleet.fleet import names
from inferfleet.serving.front_door import MODEL
from inferfleet.serving.gateway import address_of, url
from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.objects import Object
from sandbox.places import StackPlaces
from sandbox.toolchain.tools import present_tools
from sandbox.verbs.stack import stack_documents

_KINDS = "gateways.gateway.networking.k8s.io,httproutes.gateway.networking.k8s.io"
# Values of Secrets by the keys of the setting `secrets`, `<namespace>/<name>`.
Secrets = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class OneAddress:
    """A gateway on one of its clusters that answers for a service: by this model, to this caller."""

    gateway: str
    cluster: str
    url: str
    model: str
    host: str = ""
    headers: tuple[tuple[str, str], ...] = ()


def one_addresses(places: StackPlaces, service: str) -> Iterator[OneAddress]:
    """Yield where a service (namespace/name) answers, on gateways that stand and whose keys are readable."""
    documents = stack_documents(places.root, places.stack)
    files = StackFiles(places.root, places.stack)
    secrets = read_config(files.config_file, places.root, places.root).values.get("secrets") or {}
    document, tools = documents.services.get(service), present_tools()
    for name in document.spec.gateways if document and tools else ():
        for hub in documents.gateways[name].spec.clusters:
            cluster = KwokCluster(places, hub)
            if tools and cluster.condition() == "running":
                namespace = names.SYSTEM_NAMESPACE
                objects = cluster.kubectl(tools).items(_KINDS, "-n", namespace, "--request-timeout=10s")
                yield from addresses(documents.gateways[name], hub, service, objects, secrets)


def addresses(
    gateway: InferenceGateway, hub: str, service: str, objects: Iterable[Object], secrets: Secrets
) -> Iterator[OneAddress]:
    """Yield where a service answers by its first model, from the Gateways and HTTPRoutes of a hub."""
    name = gateway.metadata.name
    by_name = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    address = address_of(by_name.get(("Gateway", names.front_door(name)), {}))
    route = by_name.get(("HTTPRoute", names.of_front_door(name, *service.split("/"))))
    key = _key(gateway, service, secrets)
    if address is None or route is None or key is None:
        return
    [match, *_] = route["spec"]["rules"][0]["matches"]
    model = next(header["value"] for header in match["headers"] if header["name"] == MODEL)
    headers = (("authorization", f"Bearer {key}"),) if key else ()
    yield OneAddress(name, hub, url(address, "") or "", model, gateway.spec.hostname or "", headers)


def _key(gateway: InferenceGateway, service: str, secrets: Secrets) -> str | None:
    """Return a key of the first caller who may use a service; "" where nobody needs one, None where none is
    written in plain text.
    """
    if gateway.spec.open_:
        return ""
    for caller in gateway.spec.callers:
        if not caller.services or service in caller.services:
            for key in caller.keys:
                reference = key.secret_ref
                value = secrets.get(f"{names.SYSTEM_NAMESPACE}/{reference.name}", {}).get(reference.key)
                if isinstance(value, str):
                    return value
    return None
