"""How one side of a deployment with prefill apart is told to hand its KV cache on, and what is wrong with it.

vLLM is told by JSON in `--kv-transfer-config`, or key by key in flags such as
`--kv-transfer-config.kv_role`; SGLang by `--disaggregation-mode`. Which connectors and roles there are is in
`profiles.kv_transfer`, and what both sides must have alike in `fleet.pairs.alike`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.problems import Mistake, Severity
from inferfleet.api.wording import listing, nearest, shown
from inferfleet.fleet.engines.flags import Flags, number_of
from inferfleet.fleet.engines.words import Command, Steps, command_of, is_known
from inferfleet.profiles.images import Version, dotted
from inferfleet.profiles.kv_transfer import (
    ALIASES,
    ALIKE,
    BUFFER_DEVICE,
    CLASSES,
    FILES,
    MOONCAKE_PORT,
    MULTI,
    ROLES,
    SGLANG_PORT_FLAG,
    version_of,
)

TRANSFER = "--kv-transfer-config"
MODE = "--disaggregation-mode"
# The variable by which a storage has a place of its own for each revision: the label of the pod.
REVISION = "INFERFLEET_REVISION"


@dataclass(frozen=True)
class Transfer:
    """What `--kv-transfer-config` says: the config as a map, None where it is no JSON or not known.

    `text` is what is written, canonical where it could be read. `at` is its place in the pod's spec.
    """

    config: Mapping[str, Any] | None
    text: str
    at: Steps
    broken: str | None = None

    @property
    def connector(self) -> str | None:
        """Return the class that hands the cache on, None where none is named."""
        name = self.config.get("kv_connector") if self.config else None
        return name if isinstance(name, str) and name else None

    @property
    def connectors(self) -> tuple[str, ...]:
        """Return the class, or those in a MultiConnector."""
        if self.connector != MULTI:
            return (self.connector,) if self.connector else ()
        inner = self.extra.get("connectors")
        return tuple(
            str(part["kv_connector"])
            for part in (inner if isinstance(inner, list) else ())
            if isinstance(part, dict) and "kv_connector" in part
        )

    @property
    def extra(self) -> Mapping[str, Any]:
        """Return `kv_connector_extra_config`, empty where it is no map."""
        extra = (self.config or {}).get("kv_connector_extra_config")
        return extra if isinstance(extra, dict) else {}

    @property
    def exchanged(self) -> str:
        """Return what the other side sees or compares of it, as text; all where it could not be read."""
        return self.text if self.config is None else canonical(_exchanged(self.config))

    @property
    def storage(self) -> str | None:
        """Return the class that stores caches as files by the tokens of prompts alone, or None."""
        return next((name for name in self.connectors if name in FILES), None)

    @property
    def storage_path(self) -> str:
        """Return where that class stores, `/tmp` where it is not told."""
        inner = self.extra.get("connectors") if self.connector == MULTI else None
        parts = inner if isinstance(inner, list) else [self.config]
        named = (part for part in parts if isinstance(part, dict) and part.get("kv_connector") in FILES)
        extra = next(named, {}).get("kv_connector_extra_config")
        return str(extra.get("shared_storage_path", "/tmp")) if isinstance(extra, dict) else "/tmp"

    @property
    def is_own(self) -> bool:
        """Return whether the class is one of a module of the image, of which nothing is known."""
        return bool((self.config or {}).get("kv_connector_module_path"))


def transfer_of(command: Command, flags: Flags) -> Transfer | None:
    """Return what a command line says of handing on, None where it says nothing. The last flag counts."""
    whole = flags.last("transfer")
    parts = [*_parts(command)]
    if whole is None and not parts:
        return None
    config: dict[str, Any] = {}
    at = whole.word.at if whole else parts[0][2]
    if whole:
        text = whole.value or ""
        # The revision follows from the document, this text too, so it cannot be put in for its variable here.
        if not is_known(text.replace(f"$({REVISION})", "")):
            return Transfer(None, text, at)
        try:
            read = json.loads(text)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else "it is too deep or too long"
            return Transfer(None, text, at, f"is no JSON: {why}" if text else "has no value")
        if not isinstance(read, dict):
            return Transfer(None, text, at, "is no JSON object")
        config = read
    for keys, value, _ in parts:
        _put(config, keys, value)
    return Transfer(config, canonical(config), at)


def bootstrap_port_of(spec: Mapping[str, Any], by: str) -> int | None:
    """Return the port that the spec of a prefill pod gives by a connector, None where it gives none."""
    if by == "Mooncake":
        variable = variable_of(engine_container(spec)[1], MOONCAKE_PORT)
        return number_of(variable.get("value")) if variable else None
    words = [word.text for word in command_of(spec).words]
    found = None
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") == SGLANG_PORT_FLAG:
            found = number_of(value if equals else following)
    return found


def variable_of(container: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return the variable of this name that counts, the last, or None."""
    named = [variable for variable in container.get("env", []) if variable["name"] == name]
    return named[-1] if named else None


def canonical(value: Any) -> str:
    """Return a JSON value as text, the same for every order of keys and every spacing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def implied(connector: str, role: str) -> tuple[str, str] | None:
    """Return the flag that follows from connector and role, with its value; None where none does.

    The roles are those of vLLM's guide for several machines (docs/features/nixl_connector_usage.md, whose
    connector does not look at them) and of MooncakeConnector, which does. What pods share in a storage, and
    where that is, no document says.
    """
    if connector == "SGLang":
        return MODE, role
    if connector not in ("NIXL", "Mooncake"):
        return None
    config = {"kv_connector": next(iter(CLASSES[connector])), "kv_role": ROLES[role][0]}
    return TRANSFER, canonical(config)


def transfer_mistakes(
    transfer: Transfer, connector: str, role: str, *, image: str | None, accelerated: bool
) -> Iterator[tuple[Severity, Mistake]]:
    """Yield what ends vLLM, or contradicts the connector of the document or the role of the pod."""
    example = implied(connector, role)
    step = f"Write {example[1]!r}" if example else f"Name one of {listing(CLASSES[connector])}"
    if transfer.broken:
        what = f"{TRANSFER} {transfer.broken}, and vLLM ends"
        yield "error", Mistake(what, step, transfer.at)
    if transfer.config is None:
        return
    if transfer.connector is None:
        what = f"{TRANSFER} names no kv_connector, so no KV cache is handed on"
        yield "error", Mistake(what, step, transfer.at)
        return
    yield from _of_role(transfer, connector, role)
    if not transfer.is_own:
        yield from _of_class(transfer, connector, step, version_of(image))
    if not accelerated and transfer.config.get("kv_buffer_device") == "cuda":
        what = "kv_buffer_device is 'cuda', and the deployment has accelerator: None"
        yield "error", Mistake(what, "Write cpu, or remove it", transfer.at)


def mode_mistakes(flags: Flags, role: str) -> Iterator[tuple[Severity, Mistake]]:
    """Yield what SGLang is told that contradicts the role of the pod."""
    mode = flags.last("mode")
    if mode and mode.value != role and is_known(mode.value or ""):
        yield (
            "error",
            Mistake(
                f"{mode.name} is {mode.value or ''!r}, and these pods are those of {role}",
                f"Write {mode.name} {role}",
                mode.word.at,
            ),
        )


def _of_role(transfer: Transfer, connector: str, role: str) -> Iterator[tuple[Severity, Mistake]]:
    written = (transfer.config or {}).get("kv_role")
    known = sorted({name for names in ROLES.values() for name in names})
    right = ROLES[role]
    if written not in known:
        what = (
            f"kv_role is {shown(str(written))!r}, and vLLM takes {listing(known)}"
            if written is not None
            else "kv_connector stands without kv_role, and vLLM ends"
        )
        yield "error", Mistake(what, f"Write {right[0]}", transfer.at)
    elif written not in right:
        # NixlConnector does not look at it: docs/features/nixl_connector_usage.md.
        ignored = connector == "NIXL"
        what = f"kv_role is {written!r}, and these pods are those of {role}" + (
            "; NixlConnector does not look at it, and others do" if ignored else ""
        )
        yield "warning" if ignored else "error", Mistake(what, f"Write {right[0]}", transfer.at)


def _of_class(
    transfer: Transfer, connector: str, step: str, version: Version | None
) -> Iterator[tuple[Severity, Mistake]]:
    names, asked = transfer.connectors, CLASSES[connector]
    if not any(name in asked for name in names):
        said = (
            f"{MULTI} with {listing(names) if names else 'none'}" if transfer.connector == MULTI else names[0]
        )
        of = next((other for other, classes in CLASSES.items() if set(names) & classes.keys()), None)
        close = nearest(names[0], asked) if names and of is None else None
        what = f"kv_connector is {shown(said)!r}, and the connector of the deployment is {connector}"
        if close:
            step = f"Did you mean {close}? A class of your own needs kv_connector_module_path"
        yield "error", Mistake(what, step + (f", or connector: {of}" if of else ""), transfer.at)
        return
    for name in names:
        known = asked.get(name)
        if known is None or version is None:
            continue
        number = dotted(version)
        if known.since and version < known.since:
            what = f"kv_connector is {name!r}, and vLLM {number} of the image does not have it"
            since = dotted(known.since)
            yield "error", Mistake(what, f"Take an image of vLLM {since} or later", transfer.at)
        if known.gone and version >= known.gone:
            what = f"kv_connector is {name!r}, which vLLM {number} of the image calls {known.successor}"
            yield "error", Mistake(what, f"Write {known.successor}", transfer.at)


def _exchanged(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the class and what pods of both sides have in common by it; of a class of one's own all options.

    Roles, leases, threads and what is done about a cache that does not come are each pod's own affair.
    """
    name, extra = config.get("kv_connector"), config.get("kv_connector_extra_config")
    extra = extra if isinstance(extra, dict) else {}
    module = config.get("kv_connector_module_path")
    parts = {key: value for key, value in extra.items() if module or key in ALIKE}
    inner = extra.get("connectors") if name == MULTI else None
    if isinstance(inner, list):
        parts["connectors"] = [_exchanged(part) if isinstance(part, dict) else part for part in inner]
    told = {"class": ALIASES.get(str(name), name), "module": module, "options": parts}
    if config.get("kv_buffer_device") != BUFFER_DEVICE:
        told["device"] = config.get("kv_buffer_device")
    return {key: value for key, value in told.items() if value}


def _parts(command: Command) -> Iterator[tuple[list[str], Any, Steps]]:
    """Yield the keys that flags of their own give, their values and places."""
    for i, word in enumerate(command.words):
        name, equals, value = word.text.partition("=")
        if not name.replace("_", "-").startswith(f"{TRANSFER}."):
            continue
        following = command.words[i + 1].text if i + 1 < len(command.words) else ""
        text = command.value(value if equals else following, shell=word.shell)
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            read = text
        yield name[len(TRANSFER) + 1 :].split("."), read, word.at


def _put(config: dict[str, Any], keys: list[str], value: Any) -> None:
    """Put a value where its keys lead; a last key with `+` adds it to a list."""
    *before, last = keys
    for key in before:
        inner = config.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        config = inner
    if last.endswith("+"):
        entries = config.setdefault(last[:-1], [])
        if isinstance(entries, list):
            entries.append(value)
    else:
        config[last] = value
