"""The kubeconfig of a GKE cluster, without credentials: Google's own plugin fetches them at each use.

Form of `gcloud container clusters get-credentials`:
https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl
"""

import json

PLUGIN = "gke-gcloud-auth-plugin"
_HINT = "Install it: https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl"


def kubeconfig(cluster: str, *, host: str, ca: str | None, proxy: str | None = None) -> str:
    """Return the kubeconfig as JSON, which every reader takes. `host` is a name or address without scheme,
    `proxy` the address of a proxy on the way.

    `ca` is the cluster's certificate authority as base64 of PEM, for the IP endpoint; None for the DNS
    endpoint, whose certificate any system trusts.
    """
    server = {"server": f"https://{host}"} | ({"certificate-authority-data": ca} if ca else {})
    server |= {"proxy-url": proxy} if proxy else {}
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": PLUGIN,
        "installHint": _HINT,
        "provideClusterInfo": True,
        "interactiveMode": "Never",
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": server}],
            "users": [{"name": cluster, "user": {"exec": plugin}}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
        }
    )
