"""Requests to the gateway of a cluster, as its users send them."""

import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from inferfleet.clusters.connections.api import Answered, NoAnswerError, reason
from inferfleet.serving.gateway import Address, url

# A gateway that does not take the connection in this time is not reached from here.
CONNECT_SECONDS = 3.0


def unreached(address: Address) -> str:
    """Return why nothing takes connections at the address, "" where something does."""
    from urllib3.exceptions import HTTPError
    from urllib3.util.connection import create_connection

    try:
        create_connection((address.host, address.port), timeout=CONNECT_SECONDS).close()
    except TimeoutError:
        return f"nothing took the connection in {CONNECT_SECONDS:.0f} s"
    except (HTTPError, OSError) as error:
        return reason(error)
    return ""


@dataclass(frozen=True)
class Gateway:
    """A gateway at its address, and what requests carry: a host name, headers, and a key of the engines."""

    address: Address
    host: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    key: SecretStr | None = None

    def ask(self, path: str, body: Mapping[str, Any] | None, *, until: float) -> Answered:
        """Return what is answered at the path, asked with POST where there is a body.

        It ends by `until`, a moment of the monotonic clock. Raises NoAnswerError. Redirects are not followed,
        because a key would follow them, and a proxy of the environment is not used.
        """
        from urllib3 import PoolManager, Timeout
        from urllib3.exceptions import HTTPError

        headers = {"Accept": "application/json", **self.headers}
        if self.host:
            headers["Host"] = self.host
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.key:
            headers["Authorization"] = f"Bearer {self.key.get_secret_value()}"
        left = max(until - time.monotonic(), 0.1)
        tls: dict[str, Any] = {}
        if self.address.secure:
            tls = {"ssl_context": ssl.create_default_context()}
            tls |= {"server_hostname": self.host, "assert_hostname": self.host} if self.host else {}
        try:
            answer = PoolManager(retries=False, **tls).request(
                "GET" if body is None else "POST",
                url(self.address, path) or "",
                body=None if body is None else json.dumps(body).encode(),
                headers=headers,
                timeout=Timeout(connect=min(left, CONNECT_SECONDS), read=left),
                redirect=False,
            )
        except (HTTPError, OSError) as error:
            raise NoAnswerError(reason(error)) from error
        except ValueError:
            # Its text may be a header, and so a key.
            raise NoAnswerError("a request cannot be sent with these headers or this key") from None
        return Answered(answer.status, answer.data.decode(errors="replace"))
