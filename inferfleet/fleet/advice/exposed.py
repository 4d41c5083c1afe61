"""Which deployments do not answer on a cluster while one node there is drained, replaced or lost."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from inferfleet.documents.documents import Documents
from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.roles import roles_of, workers_of

# More deployments than these are counted.
_NAMED = 3


@dataclass(frozen=True)
class Exposed:
    """A deployment on a cluster of which one worker of each of the `roles` is all there is.

    `every`: so it is with all of its roles. `scaled`: it is so where a scaler keeps the fewest replicas.
    """

    deployment: str
    cluster: str
    roles: tuple[str, ...]
    every: bool
    scaled: bool

    def __str__(self) -> str:
        """Return it as a line: `ml/chat on east: one replica`."""
        what = "one replica" if self.every else f"one worker of role {' and of role '.join(self.roles)}"
        return f"{self.deployment} on {self.cluster}: {what}{' when scaled down' if self.scaled else ''}"


@dataclass(frozen=True)
class OnePicker:
    """Deployments, of `every` that is placed, of which no request is answered until their one endpoint picker
    has been followed by another.
    """

    deployments: tuple[str, ...]
    every: int

    def __str__(self) -> str:
        """Return it as a line, which names three of them at most."""
        number = len(self.deployments)
        who = " and ".join(self.deployments)
        if number > _NAMED:
            who = f"{'all' if number == self.every else f'{number} of'} {self.every} deployments"
        return f"{who}: one endpoint picker{' each' if number > 1 else ''}, until another runs"


def exposed(documents: Documents, placements: Iterable[Placement]) -> tuple[Exposed, ...]:
    """Return them by deployment and cluster. Other clusters do not help: each has a gateway of its own."""
    together: dict[tuple[str, str], list[Placement]] = defaultdict(list)
    for placement in placements:
        if placement.spot.deployment in documents.deployments:
            together[placement.spot.deployment, placement.spot.cluster].append(placement)
    named = []
    for (deployment, cluster), here in sorted(together.items()):
        document = documents.deployments[deployment]
        fewest = sum(placement.replicas if placement.least is None else placement.least for placement in here)
        every = roles_of(document)
        alone = tuple(role for role in every if fewest * workers_of(document, role).count == 1)
        if alone:
            scaled = sum(placement.replicas for placement in here) > fewest
            named.append(Exposed(deployment, cluster, alone, alone == every, scaled))
    return tuple(named)


def one_picker(documents: Documents, placements: Iterable[Placement]) -> OnePicker | None:
    """Return the deployments whose gateways send nothing while their picker is away, None without any."""
    placed = {placement.spot.deployment for placement in placements} & documents.deployments.keys()
    pickers = {key: documents.deployments[key].spec.endpoint_picker for key in sorted(placed)}
    alone = tuple(
        key for key, picker in pickers.items() if picker.replicas == 1 and picker.failure_mode == "FailClose"
    )
    return OnePicker(alone, len(placed)) if alone else None
