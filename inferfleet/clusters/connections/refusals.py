"""What the error answers of Google's APIs mean, and what to do about each.

Errors are of the form of https://cloud.google.com/apis/design/errors: code, status, message, details.
"""

from dataclasses import dataclass
from typing import Any

_DISABLED = ("SERVICE_DISABLED", "accessNotConfigured")
# Parts of messages, for answers without details: "has not been used in project 1 before or it is disabled"
# and "is not enabled for this project".
_DISABLED_WORDS = ("it is disabled", "is not enabled")


@dataclass(frozen=True)
class Service:
    """One of Google's APIs: what it is called, the name that enables it, and the role that may read it."""

    called: str
    name: str
    role: str


CONTAINER = Service("the Container API", "container.googleapis.com", "roles/container.clusterViewer")
COMPUTE = Service("the Compute API", "compute.googleapis.com", "roles/compute.viewer")
QUOTAS = Service("the Cloud Quotas API", "cloudquotas.googleapis.com", "roles/cloudquotas.viewer")
SERVICES = Service(
    "the Service Usage API", "serviceusage.googleapis.com", "roles/serviceusage.serviceUsageViewer"
)
PROJECTS = Service("the Cloud Resource Manager API", "cloudresourcemanager.googleapis.com", "roles/browser")


class CloudError(Exception):
    """Google Cloud could not be asked: what is wrong, and what to do."""

    def __init__(self, what: str, next_step: str) -> None:
        self.what = what
        self.next_step = next_step
        super().__init__(what)


def refused(status: int, error: Any, service: Service, *, project: str, address: str) -> CloudError:
    """Return what an error answer means, from its HTTP status and its member `error`, if it has one."""
    body: dict[str, Any] = error if isinstance(error, dict) else {}
    message = str(body.get("message") or "").strip()
    words = message.splitlines()[0].rstrip(".")[:300] if message else "no reason given"
    reasons = _reasons(body)
    if status == 401:
        step = "Run `gcloud auth application-default login`"
    elif status == 403 and (reasons & set(_DISABLED) or any(phrase in message for phrase in _DISABLED_WORDS)):
        step = f"Run `gcloud services enable {service.name} --project {project}`"
    elif status == 403 and "USER_PROJECT_DENIED" in reasons:
        step = f"Run `gcloud auth application-default set-quota-project {project}`"
    elif status == 403:
        step = f"Give whoever runs this the role {service.role} in project {project}"
    elif status == 429 or status >= 500:
        step = "Try again in a minute"
    else:
        step = "Look at project and region in its document"
    return CloudError(f"{service.called} at {address} refuses ({status}): {words}", step)


def _reasons(body: dict[str, Any]) -> set[str]:
    """Return the reasons for machines, from the new form of errors (`details`) and the old one (`errors`)."""
    details = [*_list(body.get("details")), *_list(body.get("errors"))]
    return {str(detail["reason"]) for detail in details if isinstance(detail, dict) and "reason" in detail}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
