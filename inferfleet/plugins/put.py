"""Edits that plugins make most, merged by the keys by which Kubernetes merges lists. All are safe to repeat.

A variable replaces the one of its name, unless `replace=False`. Everything else must be new or be there
already as it is: a plugin that finds another volume of its name, or another value of its flag, gets a
PluginError that says so. So does one that gives None, or something of another type: its author has to mend
it.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Any

from inferfleet.api.kinds.containers import ROUTING_PROXY
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.wording import shown
from inferfleet.fleet.engines.own import script_at
from inferfleet.plugins.contract import PluginCodeError, PluginError, PodTemplate
from inferfleet.plugins.pod import mapping, sequence

_REQUIRED = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_DEFAULTS = {"protocol": "TCP"}
# A script with "$@" gives what follows it to the program that it starts.
_HANDED_ON = re.compile(r"\$[@*]")
_STEP = "give one of the two another name"
_STEPS = {"mount": "give one of the two another mountPath", "port": "give one of the two another number"}


def put_field(within: dict[str, Any], *path: str, value: str | int | bool) -> None:
    """Set the field at `path` of a template or container; maps on the way are added where absent.

    Raises PluginError where it has another value.
    """
    if not path or not isinstance(value, str | int | bool):
        raise PluginCodeError(
            f"put_field() was given {value!r:.60} for {'.'.join(path) or 'no field'}; give a path, and a "
            "text, a number or a boolean"
        )
    fields = mapping(within, *path[:-1])
    there = fields.get(path[-1])
    # In Python 1 equals True, in Kubernetes it does not.
    if there is not None and (type(there), there) != (type(value), value):
        raise PluginError(
            f"{path[-1]} {shown(str(value))} contradicts the template, which has {shown(str(there))}; remove "
            "one of the two"
        )
    fields[path[-1]] = value


def put_resource(container: dict[str, Any], resource: str, amount: str | int) -> None:
    """Let a container ask for so much of a resource, in limits and requests.

    What asks for as much in other words stays as it is. Raises PluginError where it asks for more or less.
    """
    if not isinstance(resource, str) or type(amount) not in (str, int):
        raise PluginCodeError(
            f"put_resource() was given {amount!r:.60} of {resource!r:.60}; give a quantity and the name of a "
            "resource"
        )
    try:
        wanted = parse_quantity(str(amount))
    except ValueError as error:
        raise PluginCodeError(f"put_resource() was given {resource}: {error}") from None
    for part in ("limits", "requests"):
        amounts = mapping(_container("put_resource", container), "resources", part)
        if parse_quantity(str(amounts.setdefault(resource, str(amount)))) != wanted:
            raise PluginError(
                f"container {container.get('name')} asks for {amounts[resource]} {resource} already, and not "
                f"{amount}; remove one of the two"
            )


def put_env(container: dict[str, Any], *variables: dict[str, Any], replace: bool = True) -> None:
    """Set variables: each replaces one of its name in place, or is added at the end.

    Without `replace` it raises PluginError where the container has one of its name with another value.
    """
    for variable in variables:
        _entry("put_env", variable, "name")
    _container("put_env", container)
    if not (wanted := {variable["name"]: variable for variable in variables}):
        return
    env: list[dict[str, Any]] = []
    for old in container.get("env", []):
        if old["name"] not in wanted:
            env.append(old)
        elif not replace and old != wanted[old["name"]]:
            # Without the value, which may be secret.
            raise PluginError(
                f"container {container.get('name')} has {old['name']} already, with another value; remove "
                "one of the two"
            )
        elif wanted[old["name"]] not in env:
            env.append(wanted[old["name"]])
    container["env"] = env + [variable for variable in wanted.values() if variable not in env]


def put_volume(template: PodTemplate, volume: dict[str, Any]) -> None:
    """Add a volume to the pod. Raises PluginError for another one of its name."""
    _entry("put_volume", volume, "name")
    _put(sequence(template, "spec", "volumes"), volume, ("name",), "volume")


def put_mount(container: dict[str, Any], mount: dict[str, Any]) -> None:
    """Mount a volume. Raises PluginError where something else is mounted at its `mountPath`."""
    _entry("put_mount", mount, "name", "mountPath")
    _put(sequence(_container("put_mount", container), "volumeMounts"), mount, ("mountPath",), "mount")


def put_port(container: dict[str, Any], port: dict[str, Any]) -> None:
    """Add a port. Raises PluginError for another one of its number, or of its name."""
    _entry("put_port", port, "containerPort")
    ports = sequence(_container("put_port", container), "ports")
    _put(ports, port, ("containerPort", "protocol"), "port")
    if sum("name" in port and other.get("name") == port["name"] for other in ports) > 1:
        raise PluginError(f"the container has another port named {port['name']}; {_STEP}")


def put_container(template: PodTemplate, container: dict[str, Any]) -> None:
    """Add a container beside the engine. Raises PluginError for another one of its name."""
    _entry("put_container", container, "name")
    _put(sequence(template, "spec", "containers"), container, ("name",), "container")


def put_init_container(
    template: PodTemplate, container: dict[str, Any], *, same: Sequence[str] | None = None
) -> None:
    """Add an init container after the others; with `restartPolicy: Always` it is a sidecar.

    Only a routing proxy stays behind it: nothing asks for that one before the engine starts. One of its name
    with equal fields `same`, such as `("image", "args")`, is the same one, to which a later plugin has added,
    and stays as it is. Default: all fields. Raises PluginError for another one of its name.
    """
    _entry("put_init_container", container, "name", *(same or ()))
    there = sequence(template, "spec", "initContainers")
    _put(there, container, ("name",), "init container", same=same)
    there.sort(key=lambda entry: entry.get("name") == ROUTING_PROXY)


def add_capability(container: dict[str, Any], *capabilities: str) -> None:
    """Add Linux capabilities such as `IPC_LOCK`. Raises PluginError where the container drops one by name."""
    _texts("add_capability", capabilities)
    context = mapping(_container("add_capability", container), "securityContext", "capabilities")
    if dropped := [name for name in capabilities if name in context.get("drop", [])]:
        raise PluginError(f"the container drops the capability {dropped[0]}; remove it from drop")
    added = context.setdefault("add", [])
    added += [name for name in dict.fromkeys(capabilities) if name not in added]


def require_nodes(template: PodTemplate, label: str, values: Sequence[str]) -> None:
    """Require nodes on which the label has one of the values, in addition to what is required already.

    Raises PluginError where the template requires other values of this label, and without any value.
    """
    _texts("require_nodes", [label])
    _texts("require_nodes", values)
    if not values:
        raise PluginCodeError(
            f"no value of the label {label} is given that nodes may have; give at least one"
        )
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


def add_args(container: dict[str, Any], *arguments: str, repeated: bool = False) -> None:
    """Add flags to the container's `args`, each as `--flag` or `--flag=value`.

    `--flag` is there wherever the word is, whatever follows it, and `_` in the name of a flag counts as `-`,
    because vLLM takes both. A flag that is `repeated` may be there with other values too. Raises PluginError
    where `command` or `args` have another one with another value, and where they run the script of a shell
    that does not have the flag: arguments after a script do not reach what it starts.
    """
    _texts("add_args", arguments)
    _container("add_args", container)
    words = [*container.get("command", []), *container.get("args", [])]
    script = _script(words)
    for argument in arguments:
        if script is not None:
            if not _in_script(argument.partition("=")[0], script):
                raise PluginError(
                    "the container runs a script of a shell, which no argument reaches; write "
                    f"{shlex.quote(argument)} into the script"
                )
            continue
        flag, equals, value = argument.partition("=")
        there = [
            (word.partition("=")[0], _value(words, index) if equals or "=" in word else "")
            for index, word in enumerate(words)
            if _flag_of(word) == _flag_of(flag)
        ]
        others = [f"{name} {other}".strip() for name, other in there if other != value]
        if others and not repeated:
            raise PluginError(
                f"the container has {others[-1]} already, and not {value or flag}; remove one of the two"
            )
        if value not in [other for _, other in there]:
            container.setdefault("args", []).append(argument)
            words.append(argument)


def _script(words: list[str]) -> str | None:
    """The script of `sh -c <script>` in a command line, None without one or if it hands its arguments on."""
    place = script_at(words)
    return None if place is None or _HANDED_ON.search(words[place]) else words[place]


def _in_script(flag: str, script: str) -> bool:
    """Return whether a script has the flag as a word of its own."""
    name = "[-_]".join(map(re.escape, re.split("[-_]", flag.removeprefix("--"))))
    dashes = "--" if flag.startswith("--") else ""
    return re.search(rf"(?<![\w-]){dashes}{name}(?![\w-])", script) is not None


def _flag_of(word: str) -> str:
    """Return the flag of a word as the key by which it is compared."""
    name = word.partition("=")[0]
    return name.replace("_", "-") if name.startswith("--") else name


def _value(words: list[str], index: int) -> str:
    """The value of the flag at `index`, after `=` or in the next word, "" for a flag without one."""
    _, equals, value = words[index].partition("=")
    following = words[index + 1] if index + 1 < len(words) else "--"
    # `-1` is a value, `-tp` is a flag.
    return value if equals or re.match("-[-A-Za-z]", following) else following


def _container(function: str, container: Any) -> dict[str, Any]:
    if not isinstance(container, dict):
        raise PluginCodeError(f"{function}() was given {container!r:.60}, and takes a container, as a map")
    return container


def _entry(function: str, entry: Any, *keys: str) -> None:
    if not isinstance(entry, dict) or any(entry.get(key) is None for key in keys):
        raise PluginCodeError(
            f"{function}() was given {entry!r:.60}, and takes a map with {' and '.join(keys)}"
        )


def _texts(function: str, words: Any) -> None:
    if isinstance(words, str) or not all(isinstance(word, str) for word in words or ()):
        raise PluginCodeError(f"{function}() was given {words!r:.60}, and takes texts, each by itself")


def _put(
    entries: list[dict[str, Any]],
    new: dict[str, Any],
    keys: tuple[str, ...],
    thing: str,
    *,
    same: Sequence[str] | None = None,
) -> None:
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
