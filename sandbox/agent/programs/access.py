"""A pod's access to the API server: a token of its ServiceAccount, and a kubeconfig with that token."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import yaml

from sandbox.agent.program import CannotStart
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError

# Seconds for which a token is valid.
LIFETIME = 3600


class PodAccess:
    """The token and kubeconfig of one pod, with the rights of its ServiceAccount."""

    def __init__(
        self, api: Api, pki: Path, pod: Object, folder: Path, *, server: Mapping[str, str] | None = None
    ) -> None:
        """`server` says how the API server is reached, where that is not its own address."""
        self._api = api
        self._server = server
        self._pki = pki
        self._pod = pod
        self._token = folder / "token"
        self.kubeconfig = folder / "kubeconfig"

    async def write(self) -> None:
        """Write the kubeconfig with a new token. Raises CannotStart."""
        metadata, spec = self._pod["metadata"], self._pod["spec"]
        account = spec.get("serviceAccountName") or "default"
        reference = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        token_request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": LIFETIME, "boundObjectRef": reference},
        }
        path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
        try:
            answer = await self._api.call("POST", path, body=token_request)
        except ApiError as error:
            raise CannotStart("CreateContainerConfigError", f"no token for {account}: {error}") from error
        self._token.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _private(self._token, answer["status"]["token"])
        _private(self.kubeconfig, yaml.safe_dump(self._config(metadata["namespace"])))

    async def renew(self) -> None:
        """Replace the token before it expires, until cancelled.

        The program reads the file again by itself.
        """
        while True:
            await asyncio.sleep(LIFETIME * 2 / 3)
            try:
                await self.write()
            except (CannotStart, *UNREACHABLE):
                continue  # the old token is still valid for a while; after that the pod's own requests fail

    def _config(self, namespace: str) -> Object:
        server = {
            **(self._server or {"server": self._api.server}),
            "certificate-authority": str(self._pki / "ca.crt"),
        }
        context = {"cluster": "own", "user": "own", "namespace": namespace}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "own", "cluster": server}],
            "users": [{"name": "own", "user": {"tokenFile": str(self._token)}}],
            "contexts": [{"name": "own", "context": context}],
            "current-context": "own",
        }


def _private(path: Path, content: str) -> None:
    temporary = path.with_name(f".{path.name}")
    temporary.touch(mode=0o600)
    temporary.write_text(content)
    temporary.replace(path)
