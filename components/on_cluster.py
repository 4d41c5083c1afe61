"""The components whose children are Kubernetes objects of one cluster. None decides what they are."""

from dataclasses import dataclass, field

import pulumi

from inferfleet.components.manifest import SecretValues, register
from inferfleet.components.ready import remember
from inferfleet.desired.values import Component, ComponentKind, Listen, Tell


@dataclass(frozen=True)
class Inputs:
    """What other resources and the stack's configuration give: all registered so far, secret values.

    `tell` calls ready hooks; `remembered` gathers what the state remembers of them, by workload and plugin.
    `listen` listens to pods of engines and pickers.
    """

    registered: dict[str, pulumi.CustomResource]
    tell: Tell
    listen: Listen
    remembered: dict[str, dict[str, pulumi.Output[str]]]
    untouched: bool = False
    secrets: SecretValues = field(default_factory=dict)


class _OnCluster(pulumi.ComponentResource):
    """Type tokens are part of every child's URN: the class names below must never change."""

    def __init__(
        self, name: str, plan: Component, inputs: Inputs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(f"inferfleet:components:{type(self).__name__}", name, None, opts)
        register(
            self,
            plan.objects,
            registered=inputs.registered,
            untouched=inputs.untouched,
            secrets=inputs.secrets,
            listen=inputs.listen,
        )
        inputs.remembered.update(remember(self, plan.hooks, registered=inputs.registered, tell=inputs.tell))
        self.register_outputs({})


class ServingStack(_OnCluster):
    """What all models on one cluster share: namespaces, secrets whose values the stack holds, the gateway."""


class ModelEndpoint(_OnCluster):
    """Where a deployment can be reached on one cluster: endpoint picker, InferencePool and HTTPRoute."""


class ModelReplicas(_OnCluster):
    """The alike replicas of one placement: one workload per role, and the companions of plugins."""


class ModelService(_OnCluster):
    """A service on one cluster: its HTTPRoute over the endpoints there."""


BY_KIND: dict[ComponentKind, type[_OnCluster]] = {
    "ServingStack": ServingStack,
    "ModelEndpoint": ModelEndpoint,
    "ModelReplicas": ModelReplicas,
    "ModelService": ModelService,
}
