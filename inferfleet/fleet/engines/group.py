"""What the command line of a pod must say of its worker: one table, for the check and for `engine-args`.

A worker of several pods is a LeaderWorkerSet's group, whose controller tells each pod address, size and
number by variables. How engines take them: vLLM docs/serving/parallelism_scaling.md and
data_parallel_deployment.md (vllm/engine/arg_utils.py and vllm/entrypoints/openai/dp_supervisor.py infer a
pod's first copy from --node-rank), SGLang docs/references/multi_node_deployment.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from inferfleet.api.kinds.workers import Position, Topology
from inferfleet.fleet.engines.balance import Balance, has_copies_apart
from inferfleet.fleet.engines.flags import Flag, Flags, number_of, spelling
from inferfleet.fleet.engines.launchers import launcher
from inferfleet.fleet.engines.words import INDEX, LEADER, SIZE, Command
from inferfleet.profiles.engines import EngineDefaults, engine
from inferfleet.profiles.meanings import AnyMeaning, Meaning

LAST_PORT = 65_535

# Any port that nothing else of the pod has would do; SGLang's guides take this one.
_SGLANG_MEETS = 20000


@dataclass(frozen=True)
class Group:
    """A pod's place in its worker, as its engine must know it: a worker of so many `pods`.

    `engine` is a type that documents can name. `chosen` says who spreads requests over copies where each pod
    has whole ones, `port` is the first on which the engine serves, and `proxied` the one that a routing proxy
    takes in front of it.
    """

    engine: str
    topology: Topology
    pods: int
    position: Position
    chosen: Balance
    port: int
    proxied: int | None = None

    @property
    def table(self) -> EngineDefaults:
        """Return the flags and defaults of the engine."""
        return engine(self.engine)

    @property
    def copies_apart(self) -> bool:
        """Return whether each pod has whole copies of the model."""
        return has_copies_apart(self.topology) and self.pods == self.topology.pods_per_worker

    @property
    def balance(self) -> Balance:
        """Return who spreads requests over copies: the entry, where a copy takes several pods."""
        return self.chosen if self.pods == 1 or self.copies_apart else "internal"

    @property
    def serves(self) -> bool:
        """Return whether the pod takes requests: entries do, followers where something outside chooses."""
        return self.position == "Entry" or self.balance != "internal"

    @property
    def ports(self) -> range:
        """Return the ports on which the engine serves."""
        return range(self.port, self.port + self._serving)

    @property
    def proxied_ports(self) -> range:
        """Return the ports that a routing proxy takes in front of the engine, none without one."""
        return range(self.proxied, self.proxied + self._serving) if self.proxied else range(0)

    @property
    def _serving(self) -> int:
        return self.topology.data_local if self.balance == "multiPort" else 1


@dataclass(frozen=True)
class Wanted:
    """A flag that a command line should have, and its value: a number, a variable, None for a switch.

    Flags that mean one of `instead` do as well. Where it is not `needed`, the engine does the same without.
    """

    meaning: AnyMeaning
    value: int | str | None
    instead: tuple[AnyMeaning, ...] = ()
    needed: bool = True


@dataclass(frozen=True)
class Meeting:
    """A port of the entry on which the pods of a worker meet: by a flag, or else the default of `name`."""

    name: str
    port: int
    flag: Flag | None


def meetings(flags: Flags, topology: Topology, table: EngineDefaults) -> tuple[Meeting, ...]:
    """Return the ports on which pods of a worker meet, as far as they are known, by its entry's flags."""
    asked: list[tuple[AnyMeaning, int | None]] = []
    if topology.data > 1:
        asked.append(("rpcPort", table.rpc_port))
    if flags.has("nodes"):
        asked.append(("masterPort", table.master_port))
    found = []
    for meaning, default in asked:
        name, flag = spelling(meaning, table), flags.last(meaning)
        port = flags.number(meaning) if flag else default
        if name and port is not None:
            found.append(Meeting(flag.name if flag else name, port, flag))
    if init := flags.last("init"):
        port = number_of((init.value or "").rpartition(":")[2])
        found += [Meeting(init.name, port, init)] if port is not None else []
    return tuple(found)


def numbers(group: Group) -> dict[Meaning, int]:
    """Return the numbers of the document that flags repeat."""
    topology = group.topology
    return {
        "tensor": topology.tensor,
        "pipeline": topology.pipeline,
        "data": topology.data,
        "dataLocal": topology.data_local,
        "port": group.port,
    }


def wanted(group: Group) -> tuple[Wanted, ...]:
    """Return the flags that the pod's command line should have, and no engine takes for its defaults."""
    found = [*_numbers(group)]
    if group.pods > 1 and group.engine == "SGLang":
        found += [
            Wanted("nodes", SIZE),
            Wanted("nodeRank", INDEX, needed=group.position == "Follower"),
            Wanted("init", f"{LEADER}:{_SGLANG_MEETS}"),
        ]
    if group.engine == "vLLM" and (group.pods > 1 or group.balance == "multiPort"):
        found += _vllm(group)
    return tuple(found)


def missing(group: Group, flags: Flags, command: Command) -> tuple[Wanted, ...]:
    """Return the flags that the command line should have and does not. Ray and MPI join pods themselves."""
    joined = _is_joined(group, command)
    if lends(group, command):
        return ()
    return tuple(
        flag
        for flag in wanted(group)
        if not flags.has(flag.meaning, *flag.instead)
        and not (joined and flag.meaning in group.table.group_flags.values())
    )


def lends(group: Group, command: Command) -> bool:
    """Return whether Ray or MPI starts processes of the entry's engine in the pod, which has none itself."""
    return group.position == "Follower" and _is_joined(group, command)


def joins(group: Group, flags: Flags) -> bool:
    """Return whether a flag says anything of the other pods of the worker."""
    return flags.has(*set(group.table.group_flags.values()) - {"expert", "expertSize", "backend"})


def argument(flag: Wanted, table: EngineDefaults) -> str:
    """Return the flag as an argument. Raises KeyError for one that the engine does not have."""
    name = spelling(flag.meaning, table)
    if name is None:
        raise KeyError(flag.meaning)
    return name if flag.value is None else f"{name}={flag.value}"


def _is_joined(group: Group, command: Command) -> bool:
    return group.pods > 1 and (launcher(command) is not None or group.engine == "TensorRT-LLM")


def _numbers(group: Group) -> Iterator[Wanted]:
    ones: dict[Meaning, int] = {"tensor": 1, "pipeline": 1, "data": 1, "port": group.table.port}
    for meaning, number in numbers(group).items():
        if number == ones.get(meaning, number) or spelling(meaning, group.table) is None:
            continue
        if group.serves or meaning != "port":
            yield Wanted(meaning, number)


def _vllm(group: Group) -> Iterator[Wanted]:
    topology = group.topology
    is_follower = group.position == "Follower"
    if group.balance == "multiPort":
        yield Wanted("dataLocal", topology.data_local)
        yield Wanted("multiPort", None)
        if group.pods > 1:
            yield Wanted("copiesAddress", LEADER, ("master",))
            yield Wanted("nodeRank", INDEX, ("startRank",), needed=is_follower)
        return
    if group.copies_apart and group.balance == "external":
        yield Wanted("copiesAddress", LEADER, ("master",))
        yield Wanted("copyRank", INDEX, ("startRank", "nodeRank"))
        return
    # Copies that meet at --data-parallel-address need no count of pods; the first pod has the first copies.
    copies: tuple[AnyMeaning, ...] = ("copiesAddress",) if group.copies_apart else ()
    starts: tuple[AnyMeaning, ...] = ("startRank",) if group.copies_apart else ()
    if group.copies_apart:
        yield Wanted("dataLocal", topology.data_local)
        if group.balance == "hybrid":
            yield Wanted("hybrid", None, ("startRank",))
    yield Wanted("nodes", SIZE, copies)
    yield Wanted("nodeRank", INDEX, starts, needed=is_follower)
    yield Wanted("master", LEADER, copies)
    if is_follower and group.balance == "internal":
        yield Wanted("headless", None)
