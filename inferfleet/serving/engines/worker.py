"""A pod's place in its worker, by which the command lines of its engine differ."""

from dataclasses import dataclass

from inferfleet.documents.kinds.model_deployment import Engine, ModelDeployment, ModelSource
from inferfleet.documents.kinds.workers import Balance, Position, Topology
from inferfleet.fleet.roles import (
    balance,
    engine_of,
    every_pod_serves,
    has_copies_apart,
    listening_port,
    workers_of,
)

# What the controller of LeaderWorkerSets sets in each container of a group, before all other variables
# (kubernetes-sigs/lws, pkg/utils/pod/pod_utils.go): the address of the entry, the number of pods, and that
# of the pod among them.
LEADER, SIZE, INDEX = "$(LWS_LEADER_ADDRESS)", "$(LWS_GROUP_SIZE)", "$(LWS_WORKER_INDEX)"


@dataclass(frozen=True)
class WorkerPod:
    """The pods of a role in one position of workers of so many `pods`."""

    deployment: ModelDeployment
    role: str
    position: Position
    pods: int

    @property
    def engine(self) -> Engine:
        """The engine of the role."""
        return engine_of(self.deployment, self.role)

    @property
    def model(self) -> ModelSource:
        """The model of the engine. Raises ValueError for one that declares none."""
        if self.engine.model is None:
            raise ValueError("no command line is written for an engine without a model")
        return self.engine.model

    @property
    def topology(self) -> Topology:
        """How the engine is spread over GPUs."""
        return workers_of(self.deployment, self.role).topology

    @property
    def balance(self) -> Balance:
        """Who shares requests among copies: the engine, where a copy takes several of the pods."""
        return balance(self.deployment, self.role) if self.pods == 1 or self.has_copies else "Engine"

    @property
    def has_copies(self) -> bool:
        """Whether each pod has whole copies of the model."""
        return has_copies_apart(self.deployment, self.role, self.pods)

    @property
    def serves(self) -> bool:
        """Whether the pod takes requests."""
        return self.position == "Entry" or every_pod_serves(self.deployment, self.role, self.pods)

    @property
    def port(self) -> int:
        """The first port on which the engine listens."""
        return listening_port(self.deployment, self.role)
