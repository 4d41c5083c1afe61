"""Parts of a pod template, and edits that plugins make most, merged as Kubernetes merges lists, by keys.

All are safe to repeat. A variable replaces the one of its name, unless `replace=False`. Everything else must
be new or be there already as it is: a plugin that finds another volume of its name, or another value of its
flag, gets a PluginError that says so.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from inferfleet.documents.pods.template import ROUTING_PROXY, engine_container, script_at
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import shown
from inferfleet.plugins.contract import DeviceFacts, PluginCodeError, PluginError, PodTemplate, Request

_REQUIRED = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_DEFAULTS = {"protocol": "TCP"}
_STEP = "give one of the two another name"
_STEPS = {"mount": "give one of the two another mountPath", "port": "give one of the two another number"}


def mapping(template: PodTemplate, *path: str) -> dict[str, Any]:
    """Return the map at `path`, added together with its parents where absent."""
    here = template
    for key in path:
        here = here.setdefault(key, {})
    return here


def sequence(template: PodTemplate, *path: str) -> list[Any]:
    """Return the list at `path`, added together with its parents where absent."""
    entries: list[Any] = mapping(template, *path[:-1]).setdefault(path[-1], [])
    return entries


def containers(template: PodTemplate) -> list[dict[str, Any]]:
    """Return all containers, then all init containers; sidecars can be among both."""
    return [*template["spec"]["containers"], *template["spec"].get("initContainers", [])]


def engine(template: PodTemplate) -> dict[str, Any]:
    """Return the container that serves the model."""
    return engine_container(template["spec"])[1]


def accelerator(request: Request) -> DeviceFacts:
    """Return the device that the pod asks for. Raises PluginError for pods that ask for none."""
    if request.accelerator is None:
        raise PluginError(
            "the pods have no accelerator (accelerator: None of the deployment); name the plugin in chains "
            "of classes with accelerators, or of deployments that ask for them"
        )
    return request.accelerator


def put_field(within: dict[str, Any], *path: str, value: str | int | bool) -> None:
    """Set the field at `path` of a template or container; maps on the way are added where absent.

    Raises PluginError where it has another value.
    """
    fields = mapping(within, *path[:-1])
    present = fields.get(path[-1])
    # In Python 1 equals True, in Kubernetes it does not.
    if present is not None and (type(present), present) != (type(value), value):
        raise PluginError(
            f"{path[-1]} {shown(str(value))} contradicts the template, which has {shown(str(present))}; "
            "remove one of the two"
        )
    fields[path[-1]] = value


def put_resource(container: dict[str, Any], resource: str, amount: str | int) -> None:
    """Let a container ask for so much of a resource, in limits and requests.

    What asks for as much in other words stays as it is. Raises PluginError where it asks for more or less.
    """
    wanted = parse_quantity(str(amount))
    for part in ("limits", "requests"):
        amounts = mapping(container, "resources", part)
        if parse_quantity(str(amounts.setdefault(resource, str(amount)))) != wanted:
            raise PluginError(
                f"container {container.get('name')} asks for {amounts[resource]} {resource} already, and not "
                f"{amount}; remove one of the two"
            )


def put_env(container: dict[str, Any], *variables: dict[str, Any], replace: bool = True) -> None:
    """Set variables: each replaces one of its name in place, or is added at the end.

    Raises PluginError for two of one name; without `replace` also where the container has one of its name
    with another value.
    """
    if not (by_name := {variable["name"]: variable for variable in variables}):
        return
    names = [variable["name"] for variable in variables]
    if twice := next((name for name in by_name if names.count(name) > 1), None):
        raise PluginError(f"variable {shown(twice)} is set twice; keep one of the two")
    env: list[dict[str, Any]] = []
    for old in container.get("env", []):
        if old["name"] not in by_name:
            env.append(old)
        elif not replace and old != by_name[old["name"]]:
            # Without the value, which may be secret.
            raise PluginError(
                f"container {container.get('name')} has {old['name']} already, with another value; remove "
                "one of the two"
            )
        elif by_name[old["name"]] not in env:
            env.append(by_name[old["name"]])
    container["env"] = env + [variable for variable in by_name.values() if variable not in env]


def put_volume(template: PodTemplate, volume: dict[str, Any]) -> None:
    """Add a volume to the pod. Raises PluginError for another one of its name."""
    _put(sequence(template, "spec", "volumes"), volume, ("name",), "volume")


def put_mount(container: dict[str, Any], mount: dict[str, Any]) -> None:
    """Mount a volume. Raises PluginError where something else is mounted at its `mountPath`."""
    _put(sequence(container, "volumeMounts"), mount, ("mountPath",), "mount")


def put_port(container: dict[str, Any], port: dict[str, Any]) -> None:
    """Add a port. Raises PluginError for another one of its number, or of its name."""
    ports = sequence(container, "ports")
    _put(ports, port, ("containerPort", "protocol"), "port")
    if sum("name" in port and present.get("name") == port["name"] for present in ports) > 1:
        raise PluginError(f"the container has another port named {port['name']}; {_STEP}")


def put_container(template: PodTemplate, container: dict[str, Any]) -> None:
    """Add a container beside the engine. Raises PluginError for another one of its name."""
    _put(sequence(template, "spec", "containers"), container, ("name",), "container")


def put_init_container(
    template: PodTemplate, container: dict[str, Any], *, same: Sequence[str] | None = None
) -> None:
    """Add an init container after the others; with `restartPolicy: Always` it is a sidecar.

    Only a routing proxy stays behind it: nothing asks for that one before the engine starts. One of its name
    with equal fields `same`, such as `("image", "args")`, is the same one, to which a later plugin has added,
    and stays as it is. Default: all fields. Raises PluginError for another one of its name.
    """
    entries = sequence(template, "spec", "initContainers")
    _put(entries, container, ("name",), "init container", same=same)
    entries.sort(key=lambda entry: entry.get("name") == ROUTING_PROXY)


def add_capability(container: dict[str, Any], *capabilities: str) -> None:
    """Add Linux capabilities such as `IPC_LOCK`. Raises PluginError where the container drops one by name."""
    context = mapping(container, "securityContext", "capabilities")
    if dropped := [name for name in capabilities if name in context.get("drop", [])]:
        raise PluginError(f"the container drops the capability {dropped[0]}; remove it from drop")
    added = context.setdefault("add", [])
    added += [name for name in dict.fromkeys(capabilities) if name not in added]


def require_nodes(template: PodTemplate, label: str, values: Sequence[str]) -> None:
    """Require nodes on which the label has one of the values, in addition to what is required already.

    Raises PluginError where the template requires other values of this label, and without any value.
    """
    if isinstance(values, str) or not values:
        raise PluginCodeError(
            f"{values!r:.60} are no values of the label {label} that nodes may have; give a list of them"
        )
    chosen = template["spec"].get("nodeSelector", {}).get(label)
    if chosen is not None and chosen not in values:
        raise _disagreement(label, values, [chosen])
    requirement = {"key": label, "operator": "In", "values": list(values)}
    terms = sequence(template, *_REQUIRED, "nodeSelectorTerms")
    if not terms:
        terms.append({"matchExpressions": [requirement]})
    # Terms are alternatives, so each gets the requirement.
    for term in terms:
        # An empty term matches no node; with an expression it would match some.
        if term:
            _add_expression(term, requirement)


def add_args(container: dict[str, Any], *arguments: str) -> tuple[str, ...]:
    """Add flags to the container's `args`, each as `--flag` or `--flag=value`, and return remarks on it.

    Those that `command` or `args` have already are not added again. Raises PluginError where they have
    another value. Of `--config=key=value` another key is another flag. A script of a shell that is handed no
    words (`sh -c SCRIPT`) gets none, because it would not see them, and is not read: a remark says so.
    """
    words = [*container.get("command", []), *container.get("args", [])]
    if script_at(words) == len(words) - 1:
        return (
            f"container {container.get('name')} is started by the script of a shell, which gets no flags; "
            f"{' '.join(arguments)} must be in it",
        )
    flags = [*words, *(f"{flag}={value}" for flag, value in pairwise(words) if flag.startswith("-"))]
    for argument in arguments:
        flag = argument.rpartition("=")[0] or argument
        if argument not in flags:
            present = [word for word in flags if (word.rpartition("=")[0] or word) == flag]
            if present:
                raise PluginError(
                    f"the container has {present[-1]} already, and not {argument}; remove one of the two"
                )
            container.setdefault("args", []).append(argument)
            flags.append(argument)
    return ()


def _put(
    entries: list[dict[str, Any]],
    new: dict[str, Any],
    keys: tuple[str, ...],
    thing: str,
    *,
    same: Sequence[str] | None = None,
) -> None:
    """Add the entry `new` to a list of a template, unless it is there.

    An entry with the same values of `keys` is the same thing. One that also has the same values of the fields
    `same` stays as it is. Raises PluginError for any other, in whose words `thing` says what the entries are.
    """
    for entry in entries:
        if entry == new:
            return
        if same is not None and all(entry.get(key) == new[key] for key in (*keys, *same)):
            return
        if all(entry.get(key, _DEFAULTS.get(key)) == new.get(key, _DEFAULTS.get(key)) for key in keys):
            name = "/".join(str(new.get(key, _DEFAULTS.get(key))) for key in keys)
            raise PluginError(
                f"the pod has another {thing} {name}, which is {entry!r:.80}; {_STEPS.get(thing, _STEP)}"
            )
    entries.append(new)


def _add_expression(term: dict[str, Any], requirement: dict[str, Any]) -> None:
    """Require a node label to have one of these values.

    Raises PluginError where the term already requires values of which none is among them: no node could
    match.
    """
    expressions = sequence(term, "matchExpressions")
    for expression in expressions:
        if (expression.get("key"), expression.get("operator")) != (requirement["key"], "In"):
            continue
        values = expression.get("values", [])
        if not any(value in requirement["values"] for value in values):
            raise _disagreement(requirement["key"], requirement["values"], values)
    if requirement not in expressions:
        # A copy, because two terms that share one map would be one in YAML.
        expressions.append({**requirement, "values": list(requirement["values"])})


def _disagreement(label: str, values: Sequence[str], required: Sequence[Any]) -> PluginError:
    return PluginError(
        f"nodes with {label} {', '.join(values)} contradict the template, which requires "
        f"{', '.join(map(str, required))}; remove one of the two"
    )
