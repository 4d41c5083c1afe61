"""Rules of a whole pod: what its parts refer to, and what they must be to each other.

They see a spec from which everything with a wrong type was left out, so a field is asked for with `get`.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from inferfleet.api.kinds.containers import ENGINE
from inferfleet.api.pods.platform import platform
from inferfleet.api.pods.resources import amount, is_huge, overhead, pod_resources
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import one_of, shown

Steps = tuple[str | int, ...]
Spec = dict[str, Any]

# Seconds of the longest preStop sleep that a grace period which nobody wrote follows: a day.
LONGEST_SLEEP = 86_400
_HOOKS = ("postStart", "preStop")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_BESIDE_PROBES = ("lifecycle", *_PROBES)


def pod_spec(spec: Spec, *, grace: int) -> Iterator[Mistake]:
    """Yield what is wrong between the parts of a pod.

    `grace` is the number of seconds that its containers get to end, where the spec does not say it.
    """
    yield from _engine(spec)
    yield from _names(spec)
    yield from _never(spec)
    yield from _volumes(spec)
    yield from _claims(spec)
    yield from _host_ports(spec)
    yield from _sleeps(spec, grace)
    yield from _init(spec)
    yield from _dns(spec)
    yield from _amounts(spec)
    yield from platform(spec, tuple(containers_of(spec)))


def containers_of(spec: Spec) -> Iterator[tuple[Steps, dict[str, Any]]]:
    """Yield every container of a pod with its place in the spec."""
    for kind in ("initContainers", "containers"):
        for place, container in enumerate(spec.get(kind, [])):
            yield (kind, place), container


def _engine(spec: Spec) -> Iterator[Mistake]:
    containers = spec.get("containers")
    if containers and not any(container.get("name") == ENGINE for container in containers):
        what = f"a template has exactly one container named {ENGINE}, but this one has none"
        yield Mistake(what, f"Name the container that serves the model {ENGINE}", ("containers",))


def _names(spec: Spec) -> Iterator[Mistake]:
    """Yield names of init containers that a container has; in one list they differ anyway."""
    taken = {container.get("name") for container in spec.get("containers", [])}
    for place, container in enumerate(spec.get("initContainers", [])):
        name = container.get("name")
        if name and name in taken:
            what = f"a container and an init container are both named {shown(name)!r}"
            yield Mistake(what, "Rename one", ("initContainers", place, "name"))


def _never(spec: Spec) -> Iterator[Mistake]:
    """Yield fields that no pod of a Deployment can have."""
    if "activeDeadlineSeconds" in spec:
        what = "pods of a deployment serve for ever, so they have no activeDeadlineSeconds"
        yield Mistake(what, "Remove it", ("activeDeadlineSeconds",))
    if not spec.get("priorityClassName"):
        yield from _without_class(spec)
    if spec.get("ephemeralContainers"):
        what = "ephemeral containers are for pods that run, and no part of a template"
        yield Mistake(what, "Remove them, or make them containers", ("ephemeralContainers",))


def _without_class(spec: Spec) -> Iterator[Mistake]:
    """Yield what Kubernetes takes in a template and refuses in every pod: a PriorityClass has to say it.

    Source: plugin/pkg/admission/priority/admission.go. A pod without a class has priority 0 and preempts.
    """
    for key, default in (("priority", 0), ("preemptionPolicy", "PreemptLowerPriority")):
        if (value := spec.get(key, default)) not in (None, default):
            what = f"{key} {value} is of a PriorityClass, and the pod names none"
            yield Mistake(what, f"Write priorityClassName, and remove {key}", (key,))


def _volumes(spec: Spec) -> Iterator[Mistake]:
    volumes = {volume["name"]: volume for volume in spec.get("volumes", []) if volume.get("name")}
    if len(volumes) < len(spec.get("volumes", [])):
        return  # one without a name may be the one that is meant
    for at, container in containers_of(spec):
        for place, mount in enumerate(container.get("volumeMounts", [])):
            name = mount.get("name")
            if name and name not in volumes:
                yield _unknown(name, volumes, (*at, "volumeMounts", place, "name"))
        for place, device in enumerate(container.get("volumeDevices", [])):
            here = (*at, "volumeDevices", place, "name")
            name = device.get("name")
            if name and name not in volumes:
                yield _unknown(name, volumes, here)
            elif name and not {"persistentVolumeClaim", "ephemeral"} & volumes[name].keys():
                what = f"volume {name} is no block device"
                yield Mistake(what, "Use a persistentVolumeClaim, or mount it by volumeMounts", here)
        for place, variable in enumerate(container.get("env", [])):
            name = variable.get("valueFrom", {}).get("fileKeyRef", {}).get("volumeName")
            here = (*at, "env", place, "valueFrom", "fileKeyRef", "volumeName")
            if name and name not in volumes:
                yield _unknown(name, volumes, here)
            elif name and "emptyDir" not in volumes[name] and len(volumes[name]) > 1:
                yield Mistake(f"variables are read from an emptyDir, and {name} is none", "Change it", here)


def _unknown(name: str, known: Any, at: Steps) -> Mistake:
    next_step = one_of(name, known, "Volumes") if known else "Add it to the volumes of the pod"
    return Mistake(f"the pod has no volume {shown(name)!r}", next_step, at)


def _claims(spec: Spec) -> Iterator[Mistake]:
    known = {claim.get("name") for claim in spec.get("resourceClaims", [])}
    for at, container in containers_of(spec):
        for place, claim in enumerate(container.get("resources", {}).get("claims", [])):
            name = claim.get("name")
            if name and name not in known:
                what = f"the pod has no resource claim {shown(name)!r}"
                next_step = "Remove it: the engine gets the devices of its topology"
                yield Mistake(what, next_step, (*at, "resources", "claims", place, "name"))


def _host_ports(spec: Spec) -> Iterator[Mistake]:
    taken: set[tuple[str, str, int]] = set()
    for at, container in containers_of(spec):
        if at[0] == "initContainers":
            taken = set()  # init containers run one after the other
        elif at == ("containers", 0):
            taken = set()
        for place, port in enumerate(container.get("ports", [])):
            number, here = port.get("hostPort"), (*at, "ports", place, "hostPort")
            if not number:
                continue
            key = (port.get("protocol") or "TCP", port.get("hostIP", ""), number)
            if key in taken:
                yield Mistake(f"hostPort {number} is taken by another port", "Change one of the two", here)
            taken.add(key)
            if spec.get("hostNetwork") and at[0] == "containers" and number != port.get("containerPort"):
                what = f"hostPort {number} must be the containerPort, because of hostNetwork"
                yield Mistake(what, "Remove hostPort", here)


def _sleeps(spec: Spec, default: int) -> Iterator[Mistake]:
    """Yield sleeps that the pod has no time for. The default follows a preStop of up to a day."""
    written = "terminationGracePeriodSeconds" in spec
    grace = spec.get("terminationGracePeriodSeconds", default)
    for at, container in containers_of(spec):
        for hook in _HOOKS:
            seconds = container.get("lifecycle", {}).get(hook, {}).get("sleep", {}).get("seconds", 0)
            followed = not written and hook == "preStop" and seconds <= LONGEST_SLEEP
            if seconds > grace >= 0 and not followed:
                what = f"{hook} sleeps for {seconds} s, and the pod gets {grace} s to end"
                next_step = "Raise terminationGracePeriodSeconds of the pod, or lower it"
                yield Mistake(what, next_step, (*at, "lifecycle", hook, "sleep", "seconds"))


def _init(spec: Spec) -> Iterator[Mistake]:
    for place, container in enumerate(spec.get("initContainers", [])):
        if container.get("restartPolicy") == "Always":
            continue
        at = ("initContainers", place)
        for key in _BESIDE_PROBES:
            if key in container:
                what = f"an init container has a {key} only with restartPolicy: Always"
                yield Mistake(what, "Remove it, or add restartPolicy: Always", (*at, key))
        for number, policy in enumerate(container.get("resizePolicy", [])):
            if policy.get("restartPolicy") == "RestartContainer":
                what = "an init container that ends is not restarted to be resized"
                yield Mistake(what, "Write NotRequired", (*at, "resizePolicy", number, "restartPolicy"))


def _dns(spec: Spec) -> Iterator[Mistake]:
    config = spec.get("dnsConfig", {})
    servers, searches = config.get("nameservers", []), config.get("searches", [])
    if spec.get("dnsPolicy") == "None" and not servers:
        at = ("dnsConfig", "nameservers")
        yield Mistake("dnsPolicy None needs a name server", "Add dnsConfig.nameservers", at)
    if len(servers) > 3:
        yield Mistake("a pod has at most 3 name servers", "Remove some", ("dnsConfig", "nameservers"))
    if len(searches) > 32 or len(" ".join(searches)) > 2048:
        what = "a pod searches at most 32 domains, of 2048 characters together"
        yield Mistake(what, "Remove some", ("dnsConfig", "searches"))


def _amounts(spec: Spec) -> Iterator[Mistake]:
    for mistake in overhead(spec.get("overhead", {})):
        yield Mistake(mistake.what, mistake.next_step, ("overhead", *mistake.at))
    if "overhead" in spec and not spec.get("runtimeClassName"):
        what = "overhead is what a RuntimeClass takes, and the pod has no runtimeClassName"
        yield Mistake(what, "Remove it: the API server fills it in where a class has any", ("overhead",))
    resources = spec.get("resources", {})
    wrong = list(pod_resources(resources))
    for mistake in wrong:
        yield Mistake(mistake.what, mistake.next_step, ("resources", *mistake.at))
    if not wrong:
        yield from _against_pod(spec, resources)


def _against_pod(spec: Spec, resources: dict[str, Any]) -> Iterator[Mistake]:
    """Yield amounts of containers that are more than the whole pod may have.

    Some of them the API server takes in a template, and then in no pod: of pods it first fills in requests.
    """
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    told: set[str] = set()
    for place, container in enumerate(spec.get("containers", [])):
        for name, limit in container.get("resources", {}).get("limits", {}).items():
            most = limits.get(name)
            if most is not None and amount(limit) > amount(most):
                what = f"the limit of {limit} {name} is more than that of the pod, {most}"
                at = ("containers", place, "resources", "limits", name)
                yield Mistake(what, "Lower it, or raise that of the pod", at)
                told.add(name)
    for part, names in (("requests", list(requests)), ("limits", [name for name in limits if is_huge(name)])):
        for name in names:
            yield from _less_than_containers(spec, resources, part, name=name, counted=part)
    for name in limits:
        if name not in told and name not in requests and not is_huge(name):
            yield from _less_than_containers(spec, resources, "limits", name=name, counted="requests")


def _less_than_containers(
    spec: Spec, resources: dict[str, Any], part: str, *, name: str, counted: str
) -> Iterator[Mistake]:
    """Yield an amount of the pod that is less than what is `counted` of its containers together."""
    whole, together = amount(resources[part][name]), _together(spec, counted, name)
    if together > whole:
        has = "of" if part == counted else "a limit of"
        what = (
            f"the containers have {counted} of {together.normalize():f} {name}, "
            f"the pod {has} {whole.normalize():f}"
        )
        yield Mistake(what, "Raise that of the pod, or lower those", ("resources", part, name))


def _together(spec: Spec, part: str, name: str) -> Decimal:
    """Return what containers have of a resource: those that run together, or an init container with more.

    A limit without a request is a request too.
    """

    def of(container: dict[str, Any]) -> Decimal:
        resources = container.get("resources", {})
        return amount(resources.get(part, {}).get(name, resources.get("limits", {}).get(name, 0)))

    running, most = Decimal(0), Decimal(0)
    for container in spec.get("initContainers", []):
        if container.get("restartPolicy") == "Always":
            running += of(container)
            most = max(most, running)
        else:
            most = max(most, running + of(container))
    return max(most, running + sum(map(of, spec.get("containers", []))))
