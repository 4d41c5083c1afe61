"""A client for one cluster, made from a kubeconfig's text. All its requests end by the cluster's deadline.

The `kubernetes` package takes a second to import, so it is imported where it is first used.
"""

import base64
import binascii
import re
import ssl
import time
from typing import Any
from urllib.parse import unquote

from pydantic import SecretStr

from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.exec_command import credentials
from inferfleet.clusters.connections.kubeconfig import read_token
from inferfleet.clusters.connections.kubeconfig_text import Access, KubeconfigError, access, urlsplit_or_none
from inferfleet.desired.values import Connection


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
    given = credentials(command, chosen.cluster, seconds=seconds)
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
