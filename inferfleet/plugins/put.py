"""Edits that plugins make most, merged by the keys by which Kubernetes merges lists. All are safe to repeat.

A variable replaces the one of its name. Everything else must be new or be there already as it is: a plugin
that finds another volume of its name, or another value of its flag, gets a PluginError that says so.
"""

from collections.abc import Sequence
from typing import Any

from inferfleet.plugins.contract import PluginError, PodTemplate
from inferfleet.plugins.pod import mapping, sequence

_REQUIRED = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_DEFAULTS = {"protocol": "TCP"}
_STEP = "give one of the two another name"


def put_env(container: dict[str, Any], *variables: dict[str, Any]) -> None:
    """Set variables: each replaces one of its name in place, or is added at the end."""
    if not (wanted := {variable["name"]: variable for variable in variables}):
        return
    env: list[dict[str, Any]] = []
    for old in container.get("env", []):
        if old["name"] not in wanted:
            env.append(old)
        elif wanted[old["name"]] not in env:
            env.append(wanted[old["name"]])
    container["env"] = env + [variable for variable in wanted.values() if variable not in env]


def put_volume(template: PodTemplate, volume: dict[str, Any]) -> None:
    """Add a volume to the pod. Raises PluginError for another one of its name."""
    _put(sequence(template, "spec", "volumes"), volume, ("name",), "volume")


def put_mount(container: dict[str, Any], mount: dict[str, Any]) -> None:
    """Mount a volume. Raises PluginError where something else is mounted at its `mountPath`."""
    _put(container.setdefault("volumeMounts", []), mount, ("mountPath",), "mount")


def put_port(container: dict[str, Any], port: dict[str, Any]) -> None:
    """Add a port. Raises PluginError for another one of its number, or of its name."""
    ports = container.setdefault("ports", [])
    _put(ports, port, ("containerPort", "protocol"), "port")
    if sum("name" in port and other.get("name") == port["name"] for other in ports) > 1:
        raise PluginError(f"the container has another port named {port['name']}; {_STEP}")


def put_container(template: PodTemplate, container: dict[str, Any]) -> None:
    """Add a container beside the engine. Raises PluginError for another one of its name."""
    _put(template["spec"]["containers"], container, ("name",), "container")


def put_init_container(template: PodTemplate, container: dict[str, Any]) -> None:
    """Add an init container after the others; with `restartPolicy: Always` it is a sidecar.

    Raises PluginError for another one of its name.
    """
    _put(sequence(template, "spec", "initContainers"), container, ("name",), "init container")


def add_capability(container: dict[str, Any], *capabilities: str) -> None:
    """Add Linux capabilities such as `IPC_LOCK`. Raises PluginError where the container drops one by name."""
    context = mapping(container, "securityContext", "capabilities")
    if dropped := [name for name in capabilities if name in context.get("drop", [])]:
        raise PluginError(f"the container drops the capability {dropped[0]}; remove it from drop")
    added = context.setdefault("add", [])
    added += [name for name in dict.fromkeys(capabilities) if name not in added]


def require_nodes(template: PodTemplate, label: str, values: Sequence[str]) -> None:
    """Require nodes on which the label has one of the values, in addition to what is required already.

    Raises PluginError where the template requires other values of this label.
    """
    chosen = template["spec"].get("nodeSelector", {}).get(label)
    if chosen is not None and chosen not in values:
        raise _disagreement(label, values, [chosen])
    wanted = {"key": label, "operator": "In", "values": list(values)}
    terms = sequence(template, *_REQUIRED, "nodeSelectorTerms")
    if not terms:
        terms.append({"matchExpressions": [wanted]})
    # Terms are alternatives, so each gets the requirement.
    for term in terms:
        # An empty term matches no node; with an expression it would match some.
        if term:
            _add_expression(term, wanted)


def add_args(container: dict[str, Any], *arguments: str) -> None:
    """Add flags to the container's `args`, each as `--flag` or `--flag=value`.

    Raises PluginError where `command` or `args` have the flag with another value.
    """
    words = [*container.get("command", []), *container.get("args", [])]
    for argument in arguments:
        flag, _, value = argument.partition("=")
        there = [_value(words, index) for index, word in enumerate(words) if word.partition("=")[0] == flag]
        if any(other != value for other in there):
            has = f"{flag} {there[-1]}".strip()
            raise PluginError(f"the container has {has} already, and not {value}; remove one of the two")
        if not there:
            container.setdefault("args", []).append(argument)
            words.append(argument)


def _value(words: list[str], index: int) -> str:
    """The value of the flag at `index`, after `=` or in the next word, "" for a flag without one."""
    _, equals, value = words[index].partition("=")
    following = words[index + 1] if index + 1 < len(words) else "--"
    return value if equals or following.startswith("--") else following


def _put(entries: list[dict[str, Any]], new: dict[str, Any], keys: tuple[str, ...], thing: str) -> None:
    for entry in entries:
        if entry == new:
            return
        if all(entry.get(key, _DEFAULTS.get(key)) == new.get(key, _DEFAULTS.get(key)) for key in keys):
            name = "/".join(str(new.get(key, _DEFAULTS.get(key))) for key in keys)
            raise PluginError(f"the pod has another {thing} {name}, which is {entry!r:.80}; {_STEP}")
    entries.append(new)


def _add_expression(term: dict[str, Any], wanted: dict[str, Any]) -> None:
    expressions = sequence(term, "matchExpressions")
    for other in expressions:
        if (other.get("key"), other.get("operator")) != (wanted["key"], "In"):
            continue
        values = other.get("values", [])
        if not any(value in wanted["values"] for value in values):
            raise _disagreement(wanted["key"], wanted["values"], values)
    if wanted not in expressions:
        # A copy, because two terms that share one map would be one in YAML.
        expressions.append({**wanted, "values": list(wanted["values"])})


def _disagreement(label: str, values: Sequence[str], there: Sequence[Any]) -> PluginError:
    return PluginError(
        f"nodes with {label} {', '.join(values)} contradict the template, which requires "
        f"{', '.join(map(str, there))}; remove one of the two"
    )
