"""capacity.lock: what was seen of pools on a day, as value and text. A person commits it; plans read it.

It has one line for each pool, sorted. Nothing in it is a wish: `inferfleet capacity --write` asks clusters
and writes it, and without the file documents alone say how large pools are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import groupby
from typing import Any, NamedTuple

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import InvalidDocuments, Problem, Where
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing, shown
from inferfleet.fleet.lock.text import MOST_PROBLEMS, Entry, entries, flow, quoted, read_flow, scalar
from inferfleet.fleet.node_conditions import Labels
from inferfleet.fleet.shapes import PoolKey

FILE = "capacity.lock"
VERSION = 1
# Days after which a plan says that the file is old.
FRESH = 7
_STEP = "Correct or delete the line; inferfleet capacity --write writes it again"
_ANEW = "Delete the file; inferfleet capacity --write makes it anew"
_MI = 2**20
# Of labels with more values the file says nothing: they tell single nodes apart, and one of 400 nodes makes a
# line of 20,000 characters that is another one after each change of the pool's size.
MOST_VALUES = 32
_FIELDS = {
    *("seen", "nodes", "missing", "held", "gpus", "cpu", "memory", "foreign", "most"),
    *("daemons", "others", "labels"),
}


class Amounts(NamedTuple):
    """What pods request besides GPUs: thousandths of a core, and bytes of memory in whole MiB."""

    cpu: int
    memory: int

    def __str__(self) -> str:
        """Return it as the file has it: `884m 626Mi`."""
        return f"{self.cpu}m {self.memory // _MI}Mi"


NOTHING = Amounts(0, 0)


@dataclass(frozen=True)
class Observation:
    """What was seen of a pool on a day."""

    day: date
    nodes: int
    """Nodes that take pods."""
    held: tuple[int, ...] = ()
    """For each other node, cordoned or not ready, its GPUs that no pod of the stack has."""
    gpus: int | None = None
    """The least that one of `nodes` offers, None where there are none. So are `cpu` and `memory`."""
    cpu: int | None = None
    """Thousandths of a core."""
    memory: int | None = None
    """Bytes."""
    foreign: tuple[int, ...] = ()
    """The GPUs of each pod of somebody else."""
    most: int | None = None
    """Nodes that quotas and reservations allow the pool in all, None where nothing says so."""
    missing: int = 0
    """Nodes that a pool of fixed size should have had on that day; what documents ask for since then is
    not among them.
    """
    daemons: Amounts = NOTHING
    """The most that pods which every node has (of DaemonSets, and static ones) request on one of `nodes`."""
    others: tuple[Amounts, ...] = ()
    """What all other pods that no plan counts request, for each of `nodes` that has any."""
    labels: Labels = field(default_factory=dict)
    """The values that labels have on all its nodes, None where one lacks the label: of labels that templates
    name and nothing else says, with at most MOST_VALUES. The file has them as `rack=a`, and `!rack` for None.
    """
    where: Where | None = field(default=None, compare=False)
    """The line, None for what was seen just now."""


def text(stack: str, seen: Mapping[PoolKey, Observation]) -> str:
    """Return the content of the file: YAML in exactly one form."""
    lines = [f"version: {VERSION}", f"stack: {scalar(stack)}", *(["pools:"] if seen else [])]
    lines += [
        f"  {cluster}/{pool}: {flow(_values(observation))}"
        for (cluster, pool), observation in sorted(seen.items())
    ]
    return "\n".join(lines) + "\n"


def parse(text: str | None, *, file: str, stack: str) -> dict[PoolKey, Observation]:
    """Return the observation of each pool in the text of capacity.lock; none for None, which is no file.

    Raises InvalidDocuments.
    """
    if text is None:
        return {}
    listed, problems = (
        entries(text, file, stack=stack, kind="capacity lock", verb="capacity") if text.strip() else ([], [])
    )
    head = {entry.key for entry in listed if not entry.section}
    lacking = [key for key in ("version", "stack") if key not in head]
    if lacking and (listed or not problems):
        what = f"the file lacks {' and '.join(lacking)}, so it says nothing of pools"
        problems.append(Problem(what, _ANEW, where=Where(file, 1)))
    seen: dict[PoolKey, Observation] = {}
    for entry in listed if len(problems) <= MOST_PROBLEMS else ():
        try:
            if entry.section == "pools":
                key, observation = _pool(entry)
                if key in seen:
                    raise ValueError(f"{shown('/'.join(key))} is listed twice")
                seen[key] = observation
            elif (entry.key, entry.value) not in (("version", str(VERSION)), ("stack", stack), ("pools", "")):
                raise ValueError(
                    f"{shown(entry.key)} is {quoted(entry.value)}; the file has version {VERSION}, stack "
                    f"{stack} and pools"
                )
        except ValueError as wrong:
            problems.append(Problem(str(wrong), _STEP, where=entry.where))
    if problems:
        raise InvalidDocuments(problems)
    return seen


def _values(pool: Observation) -> dict[str, Any]:
    values: dict[str, Any] = {"seen": pool.day.isoformat(), "nodes": pool.nodes}
    values |= {"missing": pool.missing} if pool.missing else {}
    values |= {"held": sorted(pool.held)} if pool.held else {}
    values |= {"gpus": pool.gpus} if pool.gpus is not None else {}
    values |= {"cpu": f"{pool.cpu}m"} if pool.cpu is not None else {}
    values |= {"memory": f"{pool.memory // _MI}Mi"} if pool.memory is not None else {}
    values |= {"foreign": sorted(pool.foreign)} if pool.foreign else {}
    values |= {"daemons": str(pool.daemons)} if any(pool.daemons) else {}
    values |= {"others": [str(amounts) for amounts in sorted(pool.others)]} if pool.others else {}
    values |= {"labels": listed_labels(pool.labels)} if pool.labels else {}
    return values | ({"most": pool.most} if pool.most is not None else {})


def listed_labels(labels: Labels) -> list[str]:
    """Return labels with their values as the file has them."""
    return sorted(
        f"!{key}" if value is None else f"{key}={value}" for key, values in labels.items() for value in values
    )


def _labels(entry: Entry, listed: Any) -> dict[str, tuple[str | None, ...]]:
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise ValueError(f"{shown(entry.key)} has labels that are no list such as [rack=a, '!disk']")
    labels: dict[str, tuple[str | None, ...]] = {}
    for each in sorted(listed):
        key, equals, text = each.partition("=")
        if bool(equals) == key.startswith("!") or not key.removeprefix("!"):
            raise ValueError(f"{shown(entry.key)} has {quoted(each)}, which is no label such as rack=a")
        key, value = (key, text) if equals else (key[1:], None)
        labels[key] = (*labels.get(key, ()), value)
    return labels


def _pool(entry: Entry) -> tuple[PoolKey, Observation]:
    """Return an entry of the file as a pool and what was seen of it. Raises ValueError for another form."""
    values = read_flow(entry.value)
    cluster, slash, pool = entry.key.partition("/")
    if unknown := values.keys() - _FIELDS:
        raise ValueError(f"{shown(entry.key)} has the unknown field {shown(min(unknown))}")
    lists = [values.get("held", []), values.get("foreign", [])]
    numbers = [values[name] for name in ("nodes", "missing", "gpus", "most") if name in values]
    whole = [*numbers, *(part for each in lists for part in (each if isinstance(each, list) else [None]))]
    if not slash or not all(type(number) is int and 0 <= number < 100_000 for number in whole):
        raise ValueError(f"{shown(entry.key)} does not have the form 'east/l4: {{seen: ..., nodes: 2}}'")
    if "nodes" not in values:
        raise ValueError(f"{shown(entry.key)} says no number of nodes")
    amounts_of_others = values.get("others", [])
    if not isinstance(amounts_of_others, list):
        raise ValueError(f"{shown(entry.key)} has others that are no list such as ['884m 626Mi']")
    cpu, memory = (_amount(values[name]) if name in values else None for name in ("cpu", "memory"))
    return (cluster, pool), Observation(
        _day(values.get("seen")),
        values["nodes"],
        tuple(sorted(lists[0])),
        values.get("gpus"),
        None if cpu is None else int(cpu * 1000),
        None if memory is None else int(memory),
        tuple(sorted(lists[1])),
        values.get("most"),
        values.get("missing", 0),
        _amounts(entry, values["daemons"]) if "daemons" in values else NOTHING,
        tuple(sorted(_amounts(entry, each) for each in amounts_of_others)),
        _labels(entry, values.get("labels", [])),
        entry.where,
    )


def _amounts(entry: Entry, value: Any) -> Amounts:
    parts = value.split() if isinstance(value, str) else []
    if len(parts) != 2:
        raise ValueError(f"{shown(entry.key)} has {quoted(value)}, which is no pair such as '884m 626Mi'")
    cpu, memory = map(_amount, parts)
    return Amounts(int(cpu * 1000), int(memory))


def _amount(value: Any) -> Any:
    amount = parse_quantity(str(value))
    if amount < 0:
        raise ValueError(f"{quoted(str(value))} is less than nothing")
    return amount


def _day(value: Any) -> date:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        what = "the pool has no day" if value is None else f"{quoted(str(value))} is no day"
        raise ValueError(f"{what} on which it was seen, such as 2026-11-23") from None


def observation_problems(
    documents: Documents, seen: Mapping[PoolKey, Observation], *, today: date
) -> Iterator[Problem]:
    """Yield warnings about capacity.lock: pools that no document has, days to come, and the oldest day
    where it is more than a week ago.
    """
    yield from _unknown_pool_problems(documents, seen)
    # Where the day begins first it is a day later than where it begins last.
    ahead = sorted((pool.day, key) for key, pool in seen.items() if pool.day > today + timedelta(days=1))
    if ahead:
        day, key = ahead[-1]
        rest = f", and {len(ahead) - 1} more after {today}" if len(ahead) > 1 else ""
        what = f"{FILE} has pool {'/'.join(key)} as of {day}, {(day - today).days} days ahead{rest}"
        step = "Nobody can have seen that, and it would long not be old: run inferfleet capacity --write"
        yield Problem(what, step, where=seen[key].where, severity="warning")
    first = today - timedelta(days=FRESH)
    old = sorted((pool.day, key) for key, pool in seen.items() if pool.day < first)
    if old:
        day, key = old[0]
        rest = f", and {len(old) - 1} more before {first}" if len(old) > 1 else ""
        what = f"{FILE} has pool {'/'.join(key)} as of {day}, {(today - day).days} days ago{rest}"
        yield Problem(what, "Run inferfleet capacity --write", severity="warning")


def _unknown_pool_problems(documents: Documents, seen: Mapping[PoolKey, Observation]) -> Iterator[Problem]:
    pools = {
        name: {pool.name for pool in cluster.spec.node_pools} for name, cluster in documents.clusters.items()
    }
    unknown = sorted(key for key in seen if key[1] not in pools.get(key[0], ()))
    for cluster, keys in groupby(unknown, key=lambda key: key[0]):
        names = [name for _, name in keys]
        pools_in_words = (
            f"{'pool' if len(names) == 1 else 'pools'} {listing(names, 3)} of cluster {shown(cluster)}"
        )
        lacks = "no such pool" if cluster in pools else "no document"
        what = f"{FILE} has {pools_in_words}, which has {lacks}"
        step = "Correct the name, or run inferfleet capacity --write, which drops the line"
        yield Problem(what, step, where=seen[cluster, names[0]].where, severity="warning")
