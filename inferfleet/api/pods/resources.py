"""Requests and limits: names of resources, amounts, and what they must be to each other."""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.pods.texts import LABEL_KEY
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import nearest, shown
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER

_STANDARD = ("cpu", "memory", "ephemeral-storage")
_HUGE = "hugepages-"
# What is wrong with the name of a resource, and the next step.
_Name = Callable[[str], tuple[str, str] | None]
_MILLI = Decimal("0.001")
# Limits of these are generated for the engine, and no other container may ask for them.
_DEVICES = frozenset(RESOURCE_BY_DRIVER.values())
# What the API server can count in thousandths.
_MOST = Decimal(2**63 - 1)


def amount(value: Any) -> Decimal:
    """Return a quantity as the API server holds it: in thousandths, rounded up."""
    return parse_quantity(str(value)).quantize(_MILLI, rounding=ROUND_CEILING)


def container_resources(resources: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with the requests and limits of one container."""
    yield from _resources(resources, _container_resource)


def pod_resources(resources: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with the requests and limits of a whole pod."""
    if "claims" in resources:
        yield Mistake("a pod has no claims in its resources", "Move them to a container", ("claims",))
    yield from _resources(resources, _pod_resource)


def overhead(amounts: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with the overhead of a pod."""
    for mistake in _resources({"limits": amounts}, _container_resource):
        yield Mistake(mistake.what, mistake.next_step, mistake.at[1:])


def is_huge(name: str) -> bool:
    """Return whether a resource is memory in huge pages."""
    return name.startswith(_HUGE)


def _resources(resources: Mapping[str, Any], known: _Name) -> Iterator[Mistake]:
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            if wrong := known(name):
                yield Mistake(*wrong, at=(part, name))
            else:
                yield from _amount(name, value, (part, name))
    for name, value in requests.items():
        yield from _against_limit(name, value, limits)
    names = {*limits, *requests}
    if any(map(is_huge, names)) and not names & {"cpu", "memory"}:
        what = "huge pages need cpu or memory beside them"
        yield Mistake(what, "Add requests or limits of cpu and memory", ("limits" if limits else "requests",))


def _container_resource(name: str) -> tuple[str, str] | None:
    """Return what is wrong with the name of a resource of a container, and the next step."""
    if not LABEL_KEY.allows(name):
        return f"{shown(name)!r} is not the name of a resource", "Write cpu, memory or example.com/device"
    if "/" not in name:
        if name in _STANDARD or (is_huge(name) and _page(name)):
            return None
        close = nearest(name, _STANDARD)
        next_step = (
            f"Did you mean {close}?" if close else f"Write {', '.join(_STANDARD)} or example.com/device"
        )
        return f"containers have no resource {shown(name)!r}", next_step
    if "kubernetes.io/" not in name and (
        name.startswith("requests.") or not LABEL_KEY.allows(f"requests.{name}")
    ):
        return f"{shown(name)!r} is not the name of a resource", "Write it like example.com/device"
    return None


def _pod_resource(name: str) -> tuple[str, str] | None:
    if name in ("cpu", "memory") or (is_huge(name) and _page(name)):
        return None
    return f"a whole pod has no resource {shown(name)!r}", "Move it to a container"


def _page(name: str) -> Decimal | None:
    try:
        page = parse_quantity(name.removeprefix(_HUGE))
    except ValueError:
        return None
    return page if page > 0 and page == int(page) else None


def _counted(name: str) -> bool:
    """Return whether pieces of a resource are counted, so that there are no parts of one."""
    return "/" in name and "kubernetes.io/" not in name


def _amount(name: str, value: Any, at: tuple[str, str]) -> Iterator[Mistake]:
    held = amount(value)
    if held < 0:
        yield Mistake(f"{name} {value} is negative", "Write a quantity of at least 0", at)
    elif held > _MOST:
        yield Mistake(f"{name} {value} is more than anything can count", "Lower it", at)
    elif _counted(name) and (held != int(held) or held * 1000 > _MOST):
        yield Mistake(f"{name} is counted in whole pieces, and this is {value}", "Write a whole number", at)
    elif is_huge(name) and (page := _page(name)) and int(held.to_integral_value(ROUND_CEILING)) % page:
        size = name.removeprefix(_HUGE)
        yield Mistake(f"{name} {value} is not a multiple of {size}", f"Write a multiple of {size}", at)


def _against_limit(name: str, value: Any, limits: Mapping[str, Any]) -> Iterator[Mistake]:
    exact = is_huge(name) or _counted(name)
    at = ("requests", name)
    if name not in limits:
        if exact and name not in _DEVICES:
            what = f"{name} is requested and has no limit, and the two must be equal"
            yield Mistake(what, f"Add {name}: {value} to limits", at)
        return
    requested, limit = amount(value), amount(limits[name])
    if exact and requested != limit:
        what = f"{name} requested is {value}, and its limit {limits[name]}; the two must be equal"
        yield Mistake(what, "Write the same amount twice, or the limit alone", at)
    elif requested > limit:
        what = f"{name} requested is {value}, which is more than its limit of {limits[name]}"
        yield Mistake(what, "Lower the request, or raise the limit", at)


def claims(resources: dict[str, Any]) -> Iterator[Mistake]:
    """Yield claims of a container that overlap: a whole claim, and one request of it."""
    seen: dict[str, set[str]] = {}
    for place, claim in enumerate(resources.get("claims", [])):
        requests = seen.setdefault(claim["name"], set())
        request = claim.get("request") or ""
        if requests and (not request or "" in requests or request in requests):
            yield Mistake(f"claim {claim['name']} is there twice", "Keep one of the two", ("claims", place))
        requests.add(request)


# Of a limit that is a fraction of a byte somebody meant bytes: `memory: 512m` is half a byte.
_BYTES = re.compile(r"memory|ephemeral-storage|hugepages-.*|storage")


def fractions(resources: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield part, name and amount of each that is no whole number of bytes: `m` is a thousandth."""
    for part in ("limits", "requests"):
        for name, value in resources.get(part, {}).items():
            if _BYTES.fullmatch(name) and amount(value) % 1:
                yield part, name, str(value)
