"""Whether a pod template still has the shape that Kubernetes takes, as far as plugins get it wrong."""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.wording import below

_TEXT_MAPS = (("metadata", "labels"), ("metadata", "annotations"), ("spec", "nodeSelector"))


def misshapen(template: Any) -> Iterator[str]:
    """Each thing that is not what it must be, in words."""
    for part in ("metadata", "spec"):
        if not isinstance(template.get(part) or {}, dict):
            yield f"{part} is {template[part]!r:.60}, and must be a mapping"
            return
    for part, key in _TEXT_MAPS:
        yield from _text_map((template.get(part) or {}).get(key), f"{part}.{key}")
    spec = template.get("spec") or {}
    for key in ("containers", "initContainers", "tolerations", "volumes"):
        yield from _list_of_maps(spec.get(key), f"spec.{key}", named=key != "tolerations")
    for key in ("containers", "initContainers"):
        for one in spec[key] if isinstance(spec.get(key), list) else ():
            if isinstance(one, dict):
                for part in ("env", "ports", "volumeMounts"):
                    path = f"spec.{key}[{one.get('name')}].{part}"
                    yield from _list_of_maps(one.get(part), path, named=part == "env")


def _text_map(value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield f"{path} is {value!r:.60}, and must be a mapping"
        return
    for key, text in value.items():
        if not isinstance(text, str):
            yield f"{below(path, key)} is {text!r:.60}, and must be text"


def _list_of_maps(value: Any, path: str, *, named: bool) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        yield f"{path} is {value!r:.60}, and must be a list of mappings"
        return
    names = [one.get("name") for one in value] if named else []
    for name in dict.fromkeys(map(str, names)):
        if [str(other) for other in names].count(name) > 1:
            yield f"{path} has {name} more than once"
    if not all(isinstance(name, str) and name for name in names):
        yield f"{path} has an entry without a name"
