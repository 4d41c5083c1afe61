"""Ask many clusters at the same time, with one deadline for all, and say why one did not answer.

The `kubernetes` package takes a second to import, so it is imported where it is first used.
"""

import base64
import binascii
import importlib
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote

from pydantic import SecretStr

from inferfleet.clusters.connections.api import Api, NoAnswerError, RefusedError
from inferfleet.clusters.connections.exec_command import CommandError, credentials
from inferfleet.clusters.connections.gke import NotThere, Reached, path_of, reach
from inferfleet.clusters.connections.google import ContainerApi, preload
from inferfleet.clusters.connections.kubeconfig import (
    Access,
    KubeconfigError,
    access,
    problem,
    read_token,
    urlsplit_or_none,
)
from inferfleet.clusters.connections.questions import Questions
from inferfleet.desired.values import Connection, Desired
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.problems import Problem, cluster_problem

T = TypeVar("T")
# The part of its time that a question gives a command for credentials, so that what it said is told.
_OF_COMMANDS = 0.8
_GIVE_UP = (
    "write `state: lost` into its document to go on without touching it, or `state: abandoned` to give it up "
    "and place its replicas elsewhere"
)


def ask(
    desired: Desired,
    kubeconfigs: Mapping[str, str],
    question: Callable[[Connection, Api], T],
    *,
    container_api: str,
    seconds: float,
) -> dict[str, T | Problem | NotThere]:
    """Return by cluster its answer to the question, or why there is none, within `seconds`.

    Lost and abandoned clusters are not asked. Of the others those are that have a text in `kubeconfigs`, and
    those that the stack creates: the Container API at the address `container_api` says where these are.
    """
    connections = {
        cluster.connection.cluster: cluster.connection
        for cluster in desired.clusters
        if cluster.connection.state not in GIVEN_UP
        and (cluster.connection.cluster in kubeconfigs or cluster.connection.cloud)
    }
    google = ContainerApi(container_api)
    ways = {name: Reached(text, private=False) for name, text in kubeconfigs.items()}
    # The import takes a second or more on a busy machine, and must not count as the clusters' delay.
    if connections:
        importlib.import_module("kubernetes.config")
    if any(connection.cloud for connection in connections.values()):
        preload()
    deadline = time.monotonic() + seconds

    def answer_of(connection: Connection) -> T | Problem | NotThere:
        if connection.cloud:
            way = reach(google, connection, connection.cloud, seconds=deadline - time.monotonic())
            if not isinstance(way, Reached):
                return way
            ways[connection.cluster] = way
        return _answer(connection, ways[connection.cluster], question, deadline - time.monotonic())

    questions = {name: partial(answer_of, connection) for name, connection in connections.items()}
    # One second more than the threads have: a thread knows better than we do why nothing came.
    answers = Questions(questions).answers(until=deadline + 1)
    for name in connections.keys() - answers.keys():
        why = f"nothing came within {seconds:.0f} s"
        way = ways.get(name)
        answers[name] = (
            _no_answer(connections[name], way, why)
            if way
            else unlocated(connections[name], google.address, why)
        )
    return answers


def _answer(
    connection: Connection, way: Reached, question: Callable[[Connection, Api], T], seconds: float
) -> T | Problem:
    try:
        return question(connection, connect(connection, way.kubeconfig, seconds=seconds))
    except KubeconfigError as error:
        return unusable(connection, error)
    except CommandError as error:
        return no_credentials(connection, error)
    except NoAnswerError as error:
        return _no_answer(connection, way, str(error))
    except RefusedError as error:
        return refusal(connection, error)


def _no_answer(connection: Connection, way: Reached, why: str) -> Problem:
    server = access(way.kubeconfig, connection.context).server
    return no_answer(connection, server, why, private=way.private)


def no_answer(connection: Connection, server: str, why: str, *, private: bool = False) -> Problem:
    """Return the problem of a server that did not answer. A `private` one answers in its network only."""
    step = "Fix the connection"
    if private:
        step = (
            "Its endpoint answers only inside its network: run this there, name a proxy on the way "
            "(connection.proxyUrl), or write controlPlaneAccess: Public"
        )
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r} does not answer at {server}: {why}",
        f"{step}, or {_GIVE_UP}",
        path_of(connection),
    )


def unlocated(connection: Connection, address: str, why: str) -> Problem:
    """Return the problem of a cluster when Google did not say where its API server is."""
    return cluster_problem(
        connection.cluster,
        f"it is not known where cluster {connection.cluster!r} is: the Container API at {address} does not "
        f"answer: {why}",
        f"Fix the connection to Google Cloud, or {_GIVE_UP}",
        path_of(connection),
    )


def unusable(connection: Connection, error: KubeconfigError) -> Problem:
    """Return the problem of a cluster whose kubeconfig cannot be used."""
    found = problem(connection, error)
    return replace(found, path=path_of(connection)) if connection.cloud else found


def no_credentials(connection: Connection, error: CommandError) -> Problem:
    """Return the problem of a cluster whose credential command gave no credentials."""
    again = "Run `gcloud auth login`" if connection.cloud else "Run it by hand to see why"
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r}: its credential command {error.command!r} {error.why}",
        error.hint or f"{again}, or {_GIVE_UP}",
        path_of(connection),
    )


def refusal(connection: Connection, error: RefusedError) -> Problem:
    """Return the problem of an API server that answered a request with an error."""
    plan = connection.cloud
    if error.status == 401:
        why = "it does not accept the credentials"
        step = "Run `gcloud auth login`" if plan else "Renew the credentials in its kubeconfig"
    elif error.status == 403 and error.method != "GET":
        why, step = "the credentials may not create this", "Give them the right to create it"
    elif error.status == 403:
        why, step = "the credentials may not read this", "Give them the right to read and write it"
        if plan:
            step += f" (role roles/container.admin in project {plan.project})"
    elif error.status // 100 == 3:
        why = "it sends requests on to another address, and credentials do not follow"
        step = "Write the address of the API server itself into its kubeconfig"
    else:
        why, step = "the API server failed", "Check the health of the API server, then try again"
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r} refused {error.method} {error.path} ({error.status}): {why}",
        step,
        path_of(connection),
    )


def connect(connection: Connection, text: str, *, seconds: float) -> Api:
    """Return a client for the cluster of a kubeconfig's text, whose requests all end within `seconds`.

    Raises KubeconfigError, NoAnswerError, or CommandError when its credential command fails.
    """
    from kubernetes.client import ApiClient, Configuration
    from kubernetes.config import ConfigException
    from kubernetes.config.kube_config import KubeConfigLoader

    deadline = time.monotonic() + seconds
    chosen = access(text, connection.context)
    configuration = Configuration()
    # urllib3 tries three times by default; a cluster that is gone would take three times as long to report.
    # It also keeps requests, and the credentials in them, from following a redirect.
    configuration.retries = False
    try:
        loader = KubeConfigLoader(_only(chosen, _user(chosen, seconds)), config_base_path="")
        loader.load_and_set(configuration)
        _trim_token(loader, configuration)
        # As kubectl does; the client would use certificates of its own, and not those this machine trusts.
        configuration.ssl_ca_cert = configuration.ssl_ca_cert or ssl.get_default_verify_paths().cafile
        _set_proxy(chosen, configuration)
        client = ApiClient(configuration)
    except binascii.Error:
        raise KubeconfigError("a certificate or key in it is not base64") from None
    except (ConfigException, OSError, ValueError, TypeError, KeyError) as error:
        # Its text may quote what it could not read.
        raise KubeconfigError(f"its credentials cannot be loaded ({type(error).__name__})") from None
    return Api(client, chosen.server, deadline)


def _trim_token(loader: Any, configuration: Any) -> None:
    """Take spaces and newlines off the ends of a token, as kubectl does with those of a file.

    Raises KubeconfigError for a token that no header can carry; the client would quote it in its error.
    """
    header = getattr(loader, "token", None)
    if header is None:
        return
    scheme, _, token = header.partition(" ")
    if not re.fullmatch(r"[\x21-\x7e]+", token.strip()):
        raise KubeconfigError("its token is empty, or has characters that no HTTP header can carry")
    # The loader hands it to the configuration again before each request.
    loader.token = configuration.api_key["authorization"] = f"{scheme} {token.strip()}"


def _set_proxy(chosen: Access, configuration: Any) -> None:
    """Ask through the proxy that the kubeconfig names, which the client overlooks."""
    from urllib3.util import make_headers

    address = chosen.cluster.get("proxy-url")
    if not address:
        return
    url = urlsplit_or_none(address, ("http", "https"))
    if url is None:
        raise KubeconfigError("its proxy-url is of a kind that only the engine can use, and not these checks")
    configuration.proxy = f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
    configuration.no_proxy = None
    if url.username:
        name = f"{unquote(url.username)}:{unquote(url.password or '')}"
        configuration.proxy_headers = make_headers(proxy_basic_auth=name)


def _user(chosen: Access, seconds: float) -> dict[str, Any]:
    """Return the user with its credentials as text: the client itself would read any file, wait for any
    command and only log its failure, and refresh tokens over connections that it does not check.
    """
    user = dict(chosen.user)
    command, file = user.pop("exec", None), user.pop("tokenFile", None)
    provider = user.pop("auth-provider", None) or {}
    # Of a token and a file of one, client-go uses what is in the file.
    if user.get("token") and not file:
        return user
    if file or provider:
        config = provider.get("config") or {}
        token = read_token(file).get_secret_value() if file else str(config.get("id-token") or "")
        if not token:
            # Without it the request would be an anonymous one.
            raise KubeconfigError(f"its {'tokenFile' if file else 'auth-provider'} has no token")
        return user | {"token": token}
    if command is None:
        return user
    given = credentials(command, chosen.cluster, seconds=_OF_COMMANDS * seconds)
    if given.token:
        user["token"] = given.token.get_secret_value()
    if given.certificate and given.key:
        user["client-certificate-data"] = _base64(given.certificate)
        user["client-key-data"] = _base64(given.key)
    return user


def _base64(text: SecretStr) -> str:
    return base64.b64encode(text.get_secret_value().encode()).decode()


def _only(chosen: Access, user: dict[str, Any]) -> dict[str, Any]:
    return {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": dict(chosen.cluster)}],
        "users": [{"name": "it", "user": user}],
    }
