"""IDs, links and names of Google's resources, and which of them mean the same resource."""

import hashlib
import re
from typing import NamedTuple

COMPUTE = "https://www.googleapis.com/compute/v1/"
BETA = "https://container.googleapis.com/v1beta1/"
_LINK_FIELDS = frozenset(
    {
        "network",
        "subnetwork",
        "router",
        "region",
        "policyName",
        "cluster",
        "privateEndpointSubnetwork",
        "bucket",
    }
)


class ClusterPath(NamedTuple):
    """The parts of a cluster's ID."""

    project: str
    location: str
    cluster: str


def cluster_path(resource_id: str) -> ClusterPath:
    """Return the parts of the ID of a cluster, or of the cluster that a pool with this ID belongs to.

    IDs are `projects/<project>/locations/<location>/clusters/<cluster>` and, of a pool, that with
    `/nodePools/<pool>` after it.
    """
    _, project, _, location, _, cluster = resource_id.split("/")[:6]
    return ClusterPath(project, location, cluster)


def relative(link: str) -> str:
    """Return `projects/p/...` for a link, and any other text unchanged."""
    return re.sub(r"^(https://[^/]+(/compute|/container)?/(v1|beta|v1beta1)/|//[^/]+/)", "", link)


def short_name(link: str) -> str:
    """Return the name at the end of a link or ID."""
    return link.rpartition("/")[2]


def same_link(path: str, first: object, second: object) -> bool:
    """Return True when the field at `path` names a resource and both texts mean the same one.

    Each text may be a link, an ID or a name.
    """
    if path.rpartition(".")[2] not in _LINK_FIELDS:
        return False
    if not (isinstance(first, str) and isinstance(second, str)):
        return False
    first_id, second_id = relative(first), relative(second)
    if "/" in first_id and "/" in second_id:
        return first_id == second_id
    return short_name(first_id) == short_name(second_id)


def network_id(project: str, link: str) -> str:
    """Return the ID of a network that is given by its link, ID or name."""
    return _id(f"projects/{project}/global/networks", link)


def subnetwork_id(project: str, region: str, link: str) -> str:
    """Return the ID of a subnetwork that is given by its link, ID or name."""
    return _id(f"projects/{project}/regions/{region}/subnetworks", link)


def cluster_id(project: str, location: str, link: str) -> str:
    """Return the ID of a cluster that is given by its link, ID or name."""
    return _id(f"projects/{project}/locations/{location}/clusters", link)


def account_email(project: str, account_id: str) -> str:
    """Return the address of a service account."""
    return f"{account_id}@{project}.iam.gserviceaccount.com"


def account_resource_id(email: str) -> str | None:
    """Return the ID of the service account with this address; None when it belongs to no project."""
    suffix = ".iam.gserviceaccount.com"
    if not email.endswith(suffix):
        return None
    project = email.partition("@")[2].removesuffix(suffix)
    return f"projects/{project}/serviceAccounts/{email}"


def numeric_id(text: str) -> str:
    """Return a number that is always the same for the same text."""
    return str(int(hashlib.sha256(text.encode()).hexdigest()[:15], 16))


def _id(collection: str, link: str) -> str:
    id_or_name = relative(link)
    return id_or_name if "/" in id_or_name else f"{collection}/{id_or_name}"
