"""Asks a server on this machine for one path."""

import http.client
import ssl

HOST = "127.0.0.1"


def status(port: int, path: str, tls: ssl.SSLContext) -> int:
    """Return the HTTP status of the answer to a GET request, 0 where there is none within 5 s."""
    # urllib would use a proxy that the environment names.
    connection = http.client.HTTPSConnection(HOST, port, timeout=5, context=tls)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
