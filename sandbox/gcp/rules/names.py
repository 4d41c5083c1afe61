"""IDs and links of Google's resources, and which texts mean the same one."""

import re

COMPUTE = "https://www.googleapis.com/compute/v1/"
BETA = "https://container.googleapis.com/v1beta1/"
_LINKS = {"network", "subnetwork", "router", "region", "policyName", "cluster", "privateEndpointSubnetwork"}


def relative(link: str) -> str:
    """`projects/p/...` of a link, or the text itself."""
    return re.sub(r"^(https://[^/]+(/compute|/container)?/(v1|beta|v1beta1)/|//[^/]+/)", "", link)


def last(link: str) -> str:
    """The name at the end of a link or ID."""
    return link.rpartition("/")[2]


def same_link(path: str, one: object, other: object) -> bool:
    """True when both texts of a field that names a resource mean one, written as link, ID or name."""
    if path.rpartition(".")[2] not in _LINKS or not (isinstance(one, str) and isinstance(other, str)):
        return False
    first, second = relative(one), relative(other)
    if "/" in first and "/" in second:
        return first == second
    return last(first) == last(second)


def network_id(project: str, link: str) -> str:
    """Of a network named by its link, ID or name."""
    found = relative(link)
    return found if "/" in found else f"projects/{project}/global/networks/{found}"


def subnetwork_id(project: str, region: str, link: str) -> str:
    """Of a subnetwork named by its link, ID or name."""
    found = relative(link)
    return found if "/" in found else f"projects/{project}/regions/{region}/subnetworks/{found}"


def cluster_id(project: str, location: str, link: str) -> str:
    """Of a cluster named by its link, ID or name."""
    found = relative(link)
    return found if "/" in found else f"projects/{project}/locations/{location}/clusters/{found}"


def email(project: str, account: str) -> str:
    """Of a service account."""
    return f"{account}@{project}.iam.gserviceaccount.com"
