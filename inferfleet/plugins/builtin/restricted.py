"""Plugin restricted: the level `restricted` of the Pod Security Standards on every container of a pod.

It sets what the level requires (no root user, a seccomp profile, no privilege escalation, no capabilities) on
the pod and on each container, init containers and sidecars too, and refuses what the level forbids: it does
not take away what somebody wrote. A later link that breaks the level, such as by a container that it adds,
is refused, so write this one last, before `json-patch`, and in the chain of the deployment where that has
plugins that add containers.

Images of engines run as root unless told otherwise (vllm/vllm-openai, lmsysorg/sglang, tritonserver), and the
kubelet does not start an image of root with `runAsNonRoot`: `runAsUser` gives another user, who needs a home
that it may write, such as HOME=/tmp.

The rules of the level, those of level `baseline`, and their sources are in
inferfleet/documents/pods/security.py.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Edited,
    Mistake,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    containers,
    mapping,
    put_field,
    security_mistakes,
)

User = Annotated[int, Field(ge=1, le=2**31 - 1)]
Group = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Config(api.Config):
    """Users and groups; everything else follows from the level."""

    run_as_user: User | None = None
    """User of all containers that name none. Default: that of the image, which must not be root."""
    run_as_group: Group | None = None
    """Group of all containers that name none. Default: that of the image."""
    fs_group: Group | None = None
    """Group that owns the files of volumes. Default: as the volume has them."""


def edit(template: PodTemplate, request: Request, config: Config) -> Edited:
    """Hold pods to the level restricted of the Pod Security Standards, and refuse what contradicts it."""
    if forbidden := [mistake.what for mistake in security_mistakes(template, level="restricted")]:
        raise PluginError(
            "level restricted of the Pod Security Standards forbids what the pod has: "
            f"{'; '.join(forbidden)}; remove that, or this plugin from the chain"
        )
    context = mapping(template, "spec", "securityContext")
    for name, wanted in (
        ("runAsUser", config.run_as_user),
        ("runAsGroup", config.run_as_group),
        ("fsGroup", config.fs_group),
    ):
        if wanted is not None:
            put_field(context, name, value=wanted)
    context["runAsNonRoot"] = True
    context.setdefault("seccompProfile", {"type": "RuntimeDefault"})
    for container in containers(template):
        security_context = mapping(container, "securityContext")
        security_context["allowPrivilegeEscalation"] = False
        dropped = mapping(security_context, "capabilities").setdefault("drop", [])
        if "ALL" not in dropped:
            security_context["capabilities"]["drop"] = ["ALL"]
    return Edited(template, remarks=tuple(_rootless(template, context)))


def restriction_mistakes(template: PodTemplate, config: Config) -> list[Mistake]:
    """Return what the level forbids and the template has, and what it requires and the template has not."""
    return [*security_mistakes(template, level="restricted"), *_missing_setting_mistakes(template)]


def _missing_setting_mistakes(template: PodTemplate) -> Iterator[Mistake]:
    context = template["spec"].get("securityContext") or {}
    for name, wanted in (("runAsNonRoot", "true"), ("seccompProfile", "{type: RuntimeDefault}")):
        if not context.get(name):
            path = ("spec", "securityContext", name)
            yield Mistake(f"the pod has no {name}", f"Write {name}: {wanted}", path)
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(template["spec"].get(kind, [])):
            security_context = container.get("securityContext") or {}
            here = ("spec", kind, i, "securityContext")
            what = f"container {container['name']!r}"
            if security_context.get("allowPrivilegeEscalation") is None:
                yield Mistake(
                    f"{what} does not say allowPrivilegeEscalation: false",
                    "Write that in its securityContext",
                    (*here, "allowPrivilegeEscalation"),
                )
            if "ALL" not in ((security_context.get("capabilities") or {}).get("drop") or ()):
                yield Mistake(
                    f"{what} does not drop all capabilities",
                    "Write capabilities: {drop: [ALL]} in its securityContext",
                    (*here, "capabilities"),
                )


def _rootless(template: PodTemplate, context: dict[str, Any]) -> Iterator[str]:
    names = [
        container["name"]
        for container in containers(template)
        if "runAsUser" not in container["securityContext"] and "runAsUser" not in context
    ]
    if names:
        listed_names = ", ".join(names)
        yield f"the images of {listed_names} must name their user by a number other than 0, or set runAsUser"


PLUGIN = Plugin("restricted", Config, edit, version="1.0.0", holds=restriction_mistakes)
