"""What no plan of a fleet can exceed: the most replicas and the least price, by HiGHS (`highspy`).

The programs count the GPUs and cores of all nodes of a pool together. In most fleets of `bench/fleets.py`
nodes are short of nothing but GPUs, and the sizes of pods divide each other, so that pods whose GPUs fit also
have nodes; where cores run out, no plan comes near. Pairs may be on several pools of
a cluster, though no more of them than have room on one. A large fleet is asked with pools of equal class and
label as one, and without whole numbers. All of this makes the bound weaker, never wrong: a plan can only look
worse.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import floor

import highspy
import numpy as np

from bench.fleets import CLASSES, CORES
from inferfleet.documents.documents import Documents
from inferfleet.fleet.demands import Demands, declared_demands
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.roles import is_disaggregated, roles_of
from inferfleet.fleet.selectors.devices import Selectors

# Numbers of deployments times pools up to which each pool is asked, and up to which in whole numbers.
_MOST_BY_POOL, _MOST_WHOLE = 120_000, 30_000
_SECONDS, _GAP = 20.0, 0.0005


class InfeasibleError(ValueError):
    """What is placed has no room."""


@dataclass
class _Program:
    """A linear program: columns with cost and bounds, rows with bounds and coefficients."""

    costs: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    rows: list[tuple[float, float, dict[int, float]]] = field(default_factory=list)

    def column(self, cost: float, most: float = highspy.kHighsInf) -> int:
        self.costs.append(cost)
        self.most.append(most)
        return len(self.costs) - 1

    def bound(self, *, maximize: bool, whole: bool) -> float:
        """Return a bound of the best sum of costs: the exact one, or what is proven when time is up."""
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.costs), len(self.rows)
        model.col_cost_ = np.array(self.costs)
        model.col_lower_ = np.zeros(len(self.costs))
        model.col_upper_ = np.array(self.most)
        model.row_lower_ = np.array([low for low, _, _ in self.rows])
        model.row_upper_ = np.array([high for _, high, _ in self.rows])
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.cumsum([0, *(len(row) for _, _, row in self.rows)], dtype=np.int32)
        model.a_matrix_.index_ = np.array(
            [column for _, _, row in self.rows for column in row], dtype=np.int32
        )
        model.a_matrix_.value_ = np.array([value for _, _, row in self.rows for value in row.values()])
        if maximize:
            model.sense_ = highspy.ObjSense.kMaximize
        if whole:
            model.integrality_ = [highspy.HighsVarType.kInteger] * len(self.costs)
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.silent()
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("mip_rel_gap", _GAP)
        solver.setOptionValue("time_limit", _SECONDS if whole else highspy.kHighsInf)
        solver.passModel(model)
        solver.run()
        info = solver.getInfo()
        if solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            raise InfeasibleError("the plan itself is no solution of its bound")
        return float(info.mip_dual_bound if whole else info.objective_function_value)


class Bounds:
    """Bounds of one fleet: `groups` are clusters that are asked as one, by the name of one of them."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._demands: Demands = declared_demands(documents)
        self._suitability = Suitability(documents, Selectors(), self._demands)
        pools = sum(len(cluster.spec.node_pools) for cluster in documents.clusters.values())
        size = len(documents.deployments) * pools
        self._by_pool, self._whole = size <= _MOST_BY_POOL, size <= _MOST_WHOLE
        self._group: dict[str, str] = {}
        first: dict[tuple[tuple[str, str], ...], str] = {}
        for name, cluster in documents.clusters.items():
            labels = tuple(sorted(cluster.metadata.labels.items()))
            self._group[name] = name if self._by_pool else first.setdefault(labels, name)

    def placed(self) -> int:
        """Return the most replicas that have room, all deployments together."""
        program = _Program()
        for deployment, replicas in self._replicas(program, cost=0.0).items():
            for column in (column for columns in replicas.values() for column in columns):
                program.costs[column] = 1.0
            everywhere = {column: 1.0 for columns in replicas.values() for column in columns}
            wanted = self._documents.deployments[deployment].spec.wanted
            program.rows.append((0.0, float(wanted), everywhere))
        return floor(program.bound(maximize=True, whole=self._whole) + 1e-6)

    def price(self, there: Mapping[str, Counter[str]]) -> float:
        """Return the least price of as many replicas of each deployment as a plan has on clusters, spread as
        well. Raises InfeasibleError where they have no room.

        Spread as well: of no number k does the plan have fewer replicas beyond the first k of a cluster.
        """
        program = _Program()
        for deployment, replicas in self._replicas(program, cost=1.0).items():
            by_cluster = there.get(deployment, Counter())
            total = float(by_cluster.total())
            everywhere = {column: 1.0 for columns in replicas.values() for column in columns}
            program.rows.append((total, total, everywhere))
            if self._by_pool:
                self._spread(program, by_cluster.values(), replicas.values())
        return program.bound(maximize=False, whole=self._whole)

    def _spread(self, program: _Program, numbers: Iterable[int], by_cluster: Iterable[list[int]]) -> None:
        numbers = list(numbers)
        highest = max(numbers, default=0)
        for columns in by_cluster:
            program.rows.append((0.0, float(highest), dict.fromkeys(columns, 1.0)))
        for level in range(1, highest):
            beyond = []
            for columns in by_cluster:
                beyond.append(program.column(0.0))
                row = dict.fromkeys(columns, 1.0) | {beyond[-1]: -1.0}
                program.rows.append((-highspy.kHighsInf, float(level), row))
            allowed = sum(max(0, number - level) for number in numbers)
            program.rows.append((0.0, float(allowed), dict.fromkeys(beyond, 1.0)))

    def _replicas(self, program: _Program, *, cost: float) -> dict[str, dict[str, list[int]]]:
        """Add columns for replicas by pool, and rows that keep pools within their GPUs and the roles of a
        replica together; return the columns of the first roles by deployment and group of clusters.
        """
        rooms: dict[tuple[str, str], dict[int, float]] = {}
        cores: dict[tuple[str, str], dict[int, float]] = {}
        gpus: Counter[tuple[str, str]] = Counter()
        largest: Counter[tuple[str, str]] = Counter()
        for name, cluster in self._documents.clusters.items():
            for pool in cluster.spec.node_pools:
                key = self._group[name], pool.class_name
                gpus[key] += pool.size * CLASSES[pool.class_name][0]
                largest[key] = max(largest[key], pool.size)
        found = {}
        rooms_of: dict[int, int] = {}  # replicas for whose role a pool has GPUs
        for deployment, document in self._documents.deployments.items():
            if not document.spec.wanted:
                continue
            groups = {self._group[cluster] for cluster in self._suitability.clusters(deployment)}
            firsts: dict[str, list[int]] = {}
            for index, role in enumerate(roles_of(document)):
                demand = self._demands.declared[deployment, role]
                own: dict[str, list[int]] = {group: [] for group in groups}
                for key in gpus:
                    group, class_name = key
                    fits = group in groups and largest[key] >= demand.gang
                    if fits and self._suitability.takes(deployment, role, class_name):
                        node_gpus, _, price = CLASSES[class_name]
                        column = program.column(cost * demand.gpus * price / node_gpus)
                        rooms.setdefault(key, {})[column] = float(demand.gpus)
                        cores.setdefault(key, {})[column] = demand.cpu / 1000
                        own[group].append(column)
                        rooms_of[column] = gpus[key] // demand.gpus
                firsts = firsts if index else own
                for group in groups if index else ():
                    together = dict.fromkeys(firsts[group], 1.0) | dict.fromkeys(own[group], -1.0)
                    if together:
                        program.rows.append((0.0, 0.0, together))
            if self._by_pool and is_disaggregated(document):
                for columns in firsts.values():
                    most = max((rooms_of[column] for column in columns), default=0)
                    program.rows.append((0.0, float(most), dict.fromkeys(columns, 1.0)))
            found[deployment] = firsts
        for key, row in rooms.items():
            program.rows.append((0.0, float(gpus[key]), row))
            program.rows.append((0.0, float(gpus[key] * CORES), cores[key]))
        return found
