"""The replicas a plan has placed so far, by spot, and the space they leave in every pool."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from inferfleet.documents.documents import Documents
from inferfleet.fleet.demands import Demands, RoleKey
from inferfleet.fleet.placement.packing import Snapshot
from inferfleet.fleet.placement.quotas import Quotas
from inferfleet.fleet.placement.space import Deductions, RoleReplicas, Shortage, Space, Spaces
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot


class Ledger:
    """Replicas by spot, how their pods fill each pool, and what they use of `quotas`, if there are any.

    Replicas may be counted on pools of no known size too, such as those of a class with no known accelerator.
    """

    def __init__(
        self,
        spaces: Spaces,
        demands: Demands,
        quotas: Quotas | None = None,
        deductions: Deductions | None = None,
    ) -> None:
        self._deductions = deductions
        self.quotas = quotas
        self.spaces = spaces
        self.demands = demands
        self.removals = 0  # how often something was removed
        self._replicas: dict[str, dict[Spot, int]] = {}
        self._on_cluster: dict[str, Counter[str]] = {}
        self._total: Counter[str] = Counter()
        self._by_pool: dict[PoolKey, dict[Spot, int]] = {}
        self._tallies: dict[str, list[tuple[Callable[[Spot], str | None], Counter[str]]]] = {}

    def deduct(self, leaving: Spot | None = None) -> None:
        """Take from pools what was seen to be missing or taken by others, beside the replicas that are there.

        It is called when replicas have left: all pools are looked at, or only those of the spot that they
        `leaving`.
        """
        if self._deductions:
            pools = [(leaving.cluster, pool) for _, pool in leaving.pools] if leaving else None
            self._deductions.put_onto(self.spaces, pools)

    def snapshot(self, spot: Spot) -> dict[PoolKey, Snapshot]:
        """Return how the pools of a spot are filled now."""
        keys = ((spot.cluster, pool) for _, pool in spot.pools)
        return {key: self.spaces.by_key[key].snapshot() for key in keys if key in self.spaces.by_key}

    def add(self, spot: Spot, replicas: int, back: Mapping[PoolKey, Snapshot] | None = None) -> None:
        """Add replicas to a spot, or remove them with a negative number, whether they fit or not.

        With `back`, they undo the last change of these pools, which are filled then as they were before it.
        """
        self.removals += 1 if replicas < 0 else 0
        if self.quotas:
            self.quotas.add(spot, replicas)
        self._total[spot.deployment] += replicas
        on_cluster = self._on_cluster.setdefault(spot.deployment, Counter())
        on_cluster[spot.cluster] += replicas
        if not on_cluster[spot.cluster]:
            del on_cluster[spot.cluster]
        for kind, tally in self._tallies.get(spot.deployment, ()):
            _count(tally, kind(spot), replicas)
        tables = [self._replicas.setdefault(spot.deployment, {})]
        for role, pool in spot.pools:
            key = spot.cluster, pool
            tables.append(self._by_pool.setdefault(key, {}))
            if key in self.spaces.by_key and self.demands.has(spot.deployment, role):
                demand = self.demands.of(spot.deployment, role, key)
                role_replicas = RoleReplicas((spot.deployment, role), demand, replicas)
                self.spaces.add(key, role_replicas, back[key] if back else None)
        after = tables[0].get(spot, 0) + replicas
        for table in tables:
            if after:
                table[spot] = after
            else:
                table.pop(spot, None)

    def tally(self, deployment: str, kind: Callable[[Spot], str | None]) -> Counter[str]:
        """Return a count of the deployment's replicas by the kind of their spot, which is kept up to date
        from now on.

        Replicas on a spot of no kind are left out.
        """
        tally: Counter[str] = Counter()
        for spot, replicas in self._replicas.get(deployment, {}).items():
            _count(tally, kind(spot), replicas)
        self._tallies.setdefault(deployment, []).append((kind, tally))
        return tally

    def replicas(self, deployment: str) -> dict[Spot, int]:
        """Return the deployment's spots with replicas, in order."""
        return dict(sorted(self._replicas.get(deployment, {}).items()))

    def total(self, deployment: str) -> int:
        """Return the deployment's replicas on all clusters."""
        return self._total[deployment]

    def on_spot(self, spot: Spot) -> int:
        """Return the replicas on a spot."""
        return self._replicas.get(spot.deployment, {}).get(spot, 0)

    def by_cluster(self, deployment: str) -> Mapping[str, int]:
        """Return the deployment's replicas by cluster, for clusters that have any."""
        return self._on_cluster.get(deployment, {})

    def on_cluster(self, deployment: str, cluster: str) -> list[Spot]:
        """Return the deployment's spots on a cluster."""
        return [spot for spot in self._replicas.get(deployment, ()) if spot.cluster == cluster]

    def on_pool(self, pool: PoolKey) -> dict[Spot, int]:
        """Return the spots with replicas on a pool, in order."""
        return dict(sorted(self._by_pool.get(pool, {}).items()))

    def is_overfull(self, pool: PoolKey) -> bool:
        """Return whether the pool is sure not to hold the pods of the replicas on it."""
        space = self.spaces.by_key.get(pool)
        return space is not None and space.overfull

    def overfull(self) -> list[PoolKey]:
        """Return the pools that are sure not to hold the pods of the replicas on them."""
        return sorted(key for key, spots in self._by_pool.items() if spots and self.is_overfull(key))

    def fits(self, spot: Spot, replicas: int = 1) -> bool:
        """Return whether every pod has a node if so many more replicas are on the spot."""
        added: dict[PoolKey, list[RoleReplicas]] = {}
        for role, pool in spot.pools:
            key = spot.cluster, pool
            if key not in self.spaces.by_key or not self.demands.has(spot.deployment, role):
                return False
            demand = self.demands.of(spot.deployment, role, key)
            added.setdefault(key, []).append(RoleReplicas((spot.deployment, role), demand, replicas))
        return all(self.spaces.by_key[key].fits(*role_replicas) for key, role_replicas in added.items())

    def holds_without(self, pool: PoolKey, spot: Spot) -> bool:
        """Return True when the pool would hold the rest if one replica of the spot were removed."""
        roles = [role for role, name in spot.pools if name == pool[1]]
        if len(roles) == 1 and self.demands.has(spot.deployment, roles[0]):
            demand = self.demands.of(spot.deployment, roles[0], pool)
            return self.spaces.by_key[pool].without((spot.deployment, roles[0]), demand)
        self.add(spot, -1)
        holds = self.spaces.by_key[pool].holds
        self.add(spot, 1)
        return holds

    def kept_free(self, pool: PoolKey) -> Counter[str]:
        """Return, by deployment on the pool, for how many pods space is kept there for rollouts."""
        # Spots may share the workload of a role, which has such space once.
        spare: dict[RoleKey, int] = {}
        pods: Counter[str] = Counter()
        for role_replicas in self._role_replicas(pool):
            if role_replicas.demand.spare:
                spare[role_replicas.role] = role_replicas.demand.spare
            if role_replicas.demand.sets > 1:
                pods[role_replicas.role[0]] += (
                    role_replicas.replicas * role_replicas.demand.pods * (role_replicas.demand.sets - 1)
                )
        for (deployment, _), number in spare.items():
            pods[deployment] += number
        return pods

    def shortage(self, pool: PoolKey) -> Shortage | None:
        """Return what new replicas find less of on a pool than its document says, or None."""
        return self._deductions.shortage(pool, self.spaces.by_key[pool].node) if self._deductions else None

    def fits_without_deductions(self, pool: PoolKey, role_replicas: RoleReplicas) -> bool:
        """Return whether replicas would fit on a pool if nothing of it were deducted."""
        pool_space = self.spaces.by_key[pool]
        space = Space(pool_space.key, pool_space.number, pool_space.offer, pool_space.node, pool_space.size)
        for replicas in self._role_replicas(pool):
            space.add(replicas)
        return space.fits(role_replicas)

    def holds_without_kept_free(self, pool: PoolKey) -> bool:
        """Return whether the pool would hold its replicas if no space were kept for rollouts."""
        pool_space = self.spaces.by_key[pool]
        space = Space(pool_space.key, pool_space.number, pool_space.offer, pool_space.node, pool_space.size)
        for role_replicas in self._role_replicas(pool):
            space.add(role_replicas._replace(demand=replace(role_replicas.demand, spare=0, sets=1)))
        return space.holds

    def _role_replicas(self, pool: PoolKey) -> Iterator[RoleReplicas]:
        """Yield what is counted on a pool, by spot and role."""
        for spot, replicas in self.on_pool(pool).items():
            for role, name in spot.pools:
                if name == pool[1] and self.demands.has(spot.deployment, role):
                    demand = self.demands.of(spot.deployment, role, pool)
                    yield RoleReplicas((spot.deployment, role), demand, replicas)


def _count(tally: Counter[str], kind: str | None, replicas: int) -> None:
    if kind is not None:
        tally[kind] += replicas
        if not tally[kind]:
            del tally[kind]


def nodes_used(documents: Documents, placements: Mapping[Spot, int], demands: Demands) -> dict[PoolKey, int]:
    """Return how many nodes of each pool the placements need, at most as many as the pool can have.

    Replicas of deployments without a document need none.
    """
    ledger = Ledger(Spaces(documents, documents.clusters), demands)
    for spot, replicas in placements.items():
        ledger.add(spot, replicas)
    return {key: space.size - space.free.get(space.node, 0) for key, space in ledger.spaces.by_key.items()}
