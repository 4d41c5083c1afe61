"""Whether InferenceGateways let in whom documents say, asked at their addresses at the end of an update.

A gateway without its policy of keys lets everybody in, one with a broken key answers 500 to all, and no
condition of a route says so. Among its keys is one of the stack's own, which no service lets in: with it the
list of models is answered, and every model refused, once by its name and once by its path.
"""

import base64
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import SecretStr

from inferfleet.clusters.chat import COMPLETIONS, MODELS, Gateway, question, unreached
from inferfleet.clusters.connections.api import Api, NoAnswerError, readable
from inferfleet.clusters.connections.questions import in_parallel
from inferfleet.desired.values import DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem
from inferfleet.fleet import names
from inferfleet.fleet.front_door import Door
from inferfleet.serving.front_door import CONFIRMING
from inferfleet.serving.gateway import address_of

# Seconds that proxies have to hear of all that an update made. They hear of it in a second as a rule.
SECONDS = 20.0
_EVERY = 0.5
_REQUEST_SECONDS = 5.0
_NAMED = 3
_PATH = f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/secrets"
_GATEWAYS = f"/apis/gateway.networking.k8s.io/v1/namespaces/{names.SYSTEM_NAMESPACE}/gateways"
_TEXT = "Not to be answered: inferfleet asks whether it is refused."


@dataclass(frozen=True)
class _Expected:
    """A request, in words, and the status of the right answer."""

    words: str
    status: int
    path: str
    body: Mapping[str, Any] | None = None
    with_key: bool = True


def front_door_problems(api: Api, cluster: DesiredCluster, door: Door) -> Iterator[Problem]:
    """Yield an error where a gateway lets in whom it must not, or nobody; and a notice where it cannot be
    asked from here.
    """
    gateway = cluster.front_doors[door.gateway]
    name = f"gateway {door.gateway} on cluster {cluster.connection.cluster!r}"
    address = address_of(readable(api, f"{_GATEWAYS}/{gateway.kubernetes_name}") or {})
    why = "it has no address" if address is None else unreached(address)
    if address is None or why:
        yield _problem(door, f"{name} was not asked whom it lets in: {why}", severity="notice")
        return
    key = _key(api, cluster, door)
    asked = Gateway(address, _hostname(gateway))
    expected = [one for one in _expected(cluster, door) if key or not one.with_key]
    until = time.monotonic() + SECONDS
    while True:
        answers = in_parallel(
            partial(_answer, asked, key), expected, late="no answer", until=time.monotonic() + SECONDS
        )
        wrong = [
            (one, answer) for one, answer in zip(expected, answers, strict=True) if answer != str(one.status)
        ]
        if not wrong or time.monotonic() > until:
            break
        time.sleep(_EVERY)
    if wrong and not any(answer.isdecimal() for answer in answers):
        yield _problem(door, f"{name} was not asked whom it lets in: {wrong[0][1]}", severity="notice")
    elif wrong:
        told = [f"{answer} to {one.words}, where {one.status} is right" for one, answer in wrong[:_NAMED]]
        more = [f"and {len(wrong) - _NAMED} more such answers"] if len(wrong) > _NAMED else []
        yield _problem(door, f"{name} answers {'; '.join([*told, *more])}")


def _problem(door: Door, what: str, *, severity: Any = "error") -> Problem:
    step = (
        f"See what its policies say: kubectl get securitypolicies -n {names.SYSTEM_NAMESPACE} -o yaml. What "
        "was changed by hand comes back with `pulumi up --refresh`"
    )
    if severity == "notice":
        step = f"Ask where it is reached: GET {MODELS} without a key is answered with 401"
    return Problem(what, step, "spec", kind="InferenceGateway", key=door.gateway, severity=severity)


def _hostname(gateway: KubeObject) -> str:
    return str(gateway.manifest["spec"]["listeners"][0].get("hostname", ""))


def _secret(door: Door) -> str:
    return names.of_front_door(door.gateway, "confirming")


def _asks_for_keys(cluster: DesiredCluster, door: Door) -> bool:
    return any((item.kind, item.kubernetes_name) == ("Secret", _secret(door)) for item in cluster.objects)


def _key(api: Api, cluster: DesiredCluster, door: Door) -> SecretStr | None:
    """Return the stack's own key; None where the gateway is open, or the key may not be read."""
    if not _asks_for_keys(cluster, door):
        return None
    data = (readable(api, f"{_PATH}/{_secret(door)}") or {}).get("data") or {}
    return SecretStr(base64.b64decode(data[CONFIRMING]).decode()) if CONFIRMING in data else None


def _expected(cluster: DesiredCluster, door: Door) -> Iterator[_Expected]:
    if not _asks_for_keys(cluster, door):
        yield _Expected("everybody who asks for the models", 200, MODELS, with_key=False)
        return
    yield _Expected("a request without a key", 401, MODELS, with_key=False)
    yield _Expected("the stack's own key, asking for the models", 200, MODELS)
    for route in door.routes:
        for model in route.models if route.backends else ():
            words = f"a key that may not use model {model}"
            yield _Expected(words, 403, COMPLETIONS, question(model, _TEXT))
        for path in route.requests.paths if route.backends else ():
            below = f"{names.service_path(route.service).rstrip('/')}{path.rstrip('/')}"
            yield _Expected(f"a key that may not use {below}", 403, f"{below}/models")


def _answer(gateway: Gateway, key: SecretStr | None, expected: _Expected) -> str:
    asked = Gateway(gateway.address, gateway.host, key=key if expected.with_key else None)
    try:
        answered = asked.ask(expected.path, expected.body, until=time.monotonic() + _REQUEST_SECONDS)
    except NoAnswerError as error:
        return f"no answer ({error})"
    return str(answered.status)
