"""Fleet: a whole inference fleet as one component of a Pulumi program.

What clusters a program makes besides, and in which project and network, may be Outputs. They are awaited in
one place, before anything is decided, because clusters are asked first and decisions are no part of `apply`.
Until all is decided nothing is registered, so that an update of which something is not known, or is wrong,
ends with an error before the engine deletes anything. Resources are registered by a task
that the program waits for, as for every Output; they are the same in a preview and in its update.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi.runtime.config import CONFIG, get_config_env

from inferfleet.clusters.connections.google import addresses
from inferfleet.clusters.update.confirm import confirmer
from inferfleet.clusters.update.hooks import hook_caller
from inferfleet.clusters.update.pods import pod_listener
from inferfleet.clusters.update.served import serving_waiter
from inferfleet.components.provider import NOWHERE, cluster_provider
from inferfleet.components.registration import Registered, Surroundings, plain_values, register, secret_values
from inferfleet.components.standing import standing
from inferfleet.desired.front_door import key_problems
from inferfleet.desired.paused import holds_any, kept
from inferfleet.desired.values import COMPONENTS, Outputs
from inferfleet.documents import Documents, InvalidDocuments
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.loading.from_program import NETWORK_FIELDS
from inferfleet.documents.loading.project import StackFiles, files_of_fleet, files_of_stack, find_root
from inferfleet.documents.loading.settings import in_ci
from inferfleet.plugins.loading import outside_allowed
from inferfleet.run import Handed, Prepared, load_fleet, prepare

_NAMESPACE = "inferfleet:"
_NAME = re.compile("[a-z]([-a-z0-9]{0,18}[a-z0-9])?")
# What belongs to a Fleet of the program that runs, by what it is recognized by: the name of the Fleet, and
# what that Fleet calls it.
_CLAIMS: WeakKeyDictionary[pulumi.Resource, dict[str, tuple[str, str]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class FleetArgs:
    """What a Fleet is made of. What may be an Output says so; all else must be known."""

    documents: str | Path | Sequence[Mapping[str, Any]] | None = None
    """Folder of the documents, relative to the program's folder, or the documents themselves. Default: the
    folder of a project that `inferfleet new` made, `stacks/<stack>` or what the setting `documents` says.
    """
    lock: str | Path | None = None
    """File of the lock. Required where `documents` is a list; default: `placement.lock` in their folder."""
    settings: Mapping[str, Any] | None = None
    """Settings of the Fleet. Default: those of the stack, its configuration below `inferfleet:`."""
    kubeconfigs: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)
    """Texts of kubeconfigs by cluster of source `Existing`, which may be Outputs."""
    projects: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    """IDs of projects by cluster of source `GKE`, in place of `project` in its document; may be Outputs."""
    networks: Mapping[str, Mapping[str, pulumi.Input[str]]] = field(default_factory=dict)
    """Fields of `network.existing` by cluster of source `GKE`, such as `{"prod": {"name": vpc.name}}`, in
    place of those in its document, which has at least `network: {existing: {}}`; may be Outputs.
    """

    def facts(self) -> Iterator["_Fact"]:
        """Yield all that may be an Output. Raises RunError for a field that networks do not have, and for
        what is no text.
        """
        for cluster, value in self.kubeconfigs.items():
            yield _Fact(cluster, "", value)
        for cluster, value in self.projects.items():
            yield _Fact(cluster, "project", value)
        for cluster, fields in self.networks.items():
            for name, value in fields.items():
                if name not in NETWORK_FIELDS:
                    raise pulumi.RunError(
                        f"networks[{cluster!r}] has no field {name!r}: it has {', '.join(NETWORK_FIELDS)}"
                    )
                yield _Fact(cluster, f"network.existing.{name}", value)


@dataclass(frozen=True)
class _Fact:
    """Something of a cluster that the program hands over: its kubeconfig, or a field of its block `gke`."""

    cluster: str
    path: str
    value: pulumi.Input[str] = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.value, str | pulumi.Output | Awaitable):
            raise pulumi.RunError(f"{self} is of {_type(self.value)}. Hand over its text, or an Output of it")

    @cached_property
    def output(self) -> pulumi.Output[str]:
        return pulumi.Output.from_input(self.value)

    def __str__(self) -> str:
        return f"{self.path.rpartition('.')[2] or 'kubeconfig'} of cluster {self.cluster!r}"


class Fleet(pulumi.ComponentResource):
    """A fleet: its clusters, what is on them, and where models are reached.

    Names of all it has begin with its own, and labels and names in clouds have `<stack>.<name>`, so that
    several Fleets live in one program. The Fleet that has the name of the stack is the stack's own, and adds
    nothing to names; no other is named like a cluster of it. A cluster belongs to one Fleet.
    """

    urls: pulumi.Output[Mapping[str, Mapping[str, str | None]]]
    """URL by service (`<namespace>/<name>`) and cluster."""
    gateways: pulumi.Output[Mapping[str, str | None]]
    """Address of each cluster's gateway, an IP address or a host name."""
    placements: pulumi.Output[Mapping[str, Mapping[str, int]]]
    """Number of replicas by deployment (`<namespace>/<name>`) and place (`<cluster> <role>=<pool>`)."""
    clusters: pulumi.Output[Mapping[str, Mapping[str, str]]]
    """By cluster, its `source` and `state`, and of one that the Fleet creates `project`, `region`, `name`."""
    providers: Mapping[str, kubernetes.Provider]
    """Kubernetes provider by cluster, for resources of the program's own there."""
    outputs: Mapping[str, pulumi.Output[Any]]
    """All that the stack of a project exports, by name."""

    def __init__(
        self, name: str, args: FleetArgs | None = None, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register a fleet. Raises RunError with every problem of its documents."""
        run = _Run(name, args or FleetArgs())
        documents = run.load({fact: fact.value for fact in run.facts if isinstance(fact.value, str)})
        for cluster in documents.clusters:
            run.claim(f"cluster {cluster}")
            if not run.prefix:
                run.claim_names(f"{cluster}/")
        registered: pulumi.Output[Registered] = pulumi.Output.from_input(run.register(self, documents))
        clusters = registered.apply(lambda outcome: outcome.clusters)
        # The engine is told of a resource once its inputs are there: of nothing, where the Fleet is refused.
        # This one is the same in all updates, so that no edit counts as a change of the Fleet.
        super().__init__(
            f"{COMPONENTS}Fleet", name, {"stack": registered.apply(lambda _: run.files.stack)}, opts
        )
        self.clusters = clusters
        self.providers = {
            cluster: cluster_provider(
                run.prefix + cluster,
                registered.apply(partial(_entry, "identifiers", cluster)),
                registered.apply(partial(_entry, "kubeconfigs", cluster)),
                state=document.spec.state,
                context=existing.context if (existing := document.spec.cluster.existing) else None,
                parent=self,
            )
            for cluster, document in documents.clusters.items()
        }
        run.providers.update(self.providers)
        self.outputs = {
            key: registered.apply(partial(_entry, "outputs", key)) for key in Outputs.__annotations__
        }
        self.urls, self.gateways, self.placements = (
            self.outputs[key].apply(pulumi.Output.from_input) for key in ("urls", "gateways", "placements")
        )
        self.register_outputs(
            {
                "urls": self.urls,
                "gateways": self.gateways,
                "placements": self.placements,
                "clusters": self.clusters,
            }
        )


def _entry(part: str, key: str, registered: Registered) -> Any:
    return getattr(registered, part)[key]


class _Run:
    """One run of the program, for one Fleet."""

    def __init__(self, name: str, args: FleetArgs) -> None:
        self.name, self.args = name, args
        self.facts = tuple(args.facts())
        self.preview = pulumi.runtime.is_dry_run()
        self.config = {
            key.removeprefix(_NAMESPACE): value
            # A program that the Automation API runs in its own process has it in no environment.
            for key, value in (CONFIG.get() or get_config_env()).items()
            if key.startswith(_NAMESPACE)
        }
        _refuse_outputs("documents", args.documents)
        _refuse_outputs("settings", args.settings)
        _refuse_outputs("lock", args.lock)
        self.files = self._files()
        self.prefix = "" if self.files.stack == pulumi.get_stack() else f"{name}/"
        self.providers: dict[str, kubernetes.Provider] = {}
        self.claim(f"lock {self.files.lock_file}")
        if self.prefix:
            self.claim_names(self.prefix)

    def _files(self) -> StackFiles:
        stack, documents = pulumi.get_stack(), self.args.documents
        lock = None if self.args.lock is None else Path(self.args.lock)
        folder = Path(documents) if isinstance(documents, str | Path) else None
        if self.name != stack and not _NAME.fullmatch(self.name):
            raise pulumi.RunError(
                f"the name {self.name!r} of a Fleet must be that of the stack, or at most 20 lowercase "
                "letters, digits and '-', a letter first: labels and names in clouds carry it"
            )
        if documents is not None and folder is None and lock is None:
            raise pulumi.RunError(
                f"Fleet {self.name!r} has a list of documents and no lock. Name a file: lock='prod.lock'"
            )
        try:
            if documents is None:
                return files_of_stack(find_root(Path.cwd()), stack)
            return files_of_fleet(stack, self.name, folder=folder, lock=lock)
        except InvalidDocuments as invalid:
            raise pulumi.RunError(str(invalid)) from None

    def load(self, known: Mapping[_Fact, str | None]) -> Documents:
        """Return the documents with what is known of their clusters."""
        self.handed = Handed(
            {fact.cluster: known.get(fact) for fact in self.facts if not fact.path},
            {(fact.cluster, fact.path): known.get(fact) for fact in self.facts if fact.path},
        )
        written = self.args.documents
        try:
            documents, self.files = load_fleet(
                self.files,
                self.handed,
                config=self.config,
                settings=self.args.settings,
                written=None if written is None or isinstance(written, str | Path) else written,
            )
        except InvalidDocuments as invalid:
            raise pulumi.RunError(str(invalid)) from None
        return documents

    async def register(self, fleet: Fleet, documents: Documents) -> Registered:
        """Wait for what is not known yet, decide, and register everything."""
        facts = await self._awaited(documents)
        if any(fact.path and not isinstance(fact.value, str) for fact in self.facts):
            documents = self.load(facts)
        else:
            self.handed = Handed(
                {fact.cluster: facts[fact] for fact in self.facts if not fact.path}, self.handed.fields
            )
        # Clusters have 25 s to answer. Meanwhile the program goes on, and so do its other Fleets.
        prepared = await asyncio.to_thread(self._prepared, documents)
        desired = prepared.desired
        if holds_any(desired):
            desired = kept(desired, await standing(self.prefix))
        for cluster, uid in prepared.uids.items():
            self.claim(f"cluster {cluster}", f"cluster with UID {uid}")
        for warning in prepared.warnings:
            pulumi.log.warn(str(warning))
        if not self.preview:
            prepared.remember()
        google = addresses(os.environ).container
        settings = self.config if self.args.settings is None else self.args.settings
        secrets = plain_values(settings.get("secrets"))
        if wrong := documents.located(key_problems(documents, secrets)):
            raise pulumi.RunError(str(InvalidDocuments(wrong)))
        texts: dict[str, pulumi.Input[str]] = dict(prepared.kubeconfigs)
        after: dict[str, list[pulumi.Resource]] = {}
        for fact in self.facts:
            # What it comes from may be gone, as its cluster is.
            if facts[fact] is None and _given_up(documents, fact):
                if not fact.path:
                    texts[fact.cluster] = NOWHERE
            elif fact.path:
                after.setdefault(fact.cluster, []).extend(await fact.output.resources())
            else:
                # The text that was read and checked, which comes from where the program has it.
                texts[fact.cluster] = _instead(fact.output, prepared.kubeconfigs.get(fact.cluster))
        return register(
            fleet,
            desired,
            Surroundings(
                prefix=self.prefix,
                providers=self.providers,
                kubeconfigs=texts,
                addresses=prepared.addresses,
                after=after,
                secrets=secret_values(secrets),
                tell=hook_caller(desired, prepared.kubeconfigs, container_api=google),
                listen=pod_listener(desired, prepared.kubeconfigs, container_api=google),
                await_served=serving_waiter(desired, prepared.kubeconfigs, container_api=google),
                confirm=confirmer(desired, prepared.kubeconfigs, container_api=google),
                preview=self.preview,
            ),
        )

    async def _awaited(self, documents: Documents) -> dict[_Fact, str | None]:
        """Return what Outputs have, None for what is not known yet. Raises RunError for what is no text, and
        in an update for what is not known, unless it is of a cluster that is given up.
        """
        values: dict[_Fact, str | None] = {}
        for fact in self.facts:
            output = fact.output
            values[fact] = await output.future() if await output.is_known() else None
        wrong = [
            f"{fact} is an Output of {_type(value)}. Hand over an Output of its text"
            for fact, value in values.items()
            if not isinstance(value, str | None)
        ]
        if wrong:
            raise pulumi.RunError("; ".join(wrong))
        missing = [
            str(fact) for fact, value in values.items() if value is None and not _given_up(documents, fact)
        ]
        if missing and not self.preview:
            raise pulumi.RunError(
                f"Fleet {self.name!r} does not know the {', the '.join(missing)}, because what it comes from "
                "failed, was left out or has none. So nothing of the Fleet is registered, and this update "
                "deletes nothing. Mend that and update again; where a cluster is gone, write `state: lost` "
                "or `abandoned` there"
            )
        return values

    def _prepared(self, documents: Documents) -> Prepared:
        try:
            return prepare(
                documents,
                self.files,
                self.config,
                ci=in_ci(os.environ),
                preview=self.preview,
                today=date.today(),
                handed=self.handed,
                google=addresses(os.environ),
                outside_plugins=outside_allowed(os.environ),
                parallel=pulumi.runtime.settings.SETTINGS.parallel,
            )
        except InvalidDocuments as invalid:
            raise pulumi.RunError(str(invalid)) from None
        except StopIteration as stop:
            # No future takes one (https://bugs.python.org/issue26221), so the program would wait for ever.
            raise RuntimeError("an iteration ended where it must not: a defect of inferfleet") from stop

    def claim_names(self, prefix: str) -> None:
        """Note that what begins with the prefix in the state is this Fleet's: the state has names alone."""
        step = "Rename the cluster of that name, or the Fleet"
        self.claim(f"the prefix {prefix} of names", step=step)

    def claim(
        self, label: str, identity: str | None = None, step: str = "Remove it from one of the two"
    ) -> None:
        """Note that a thing is this Fleet's. Raises RunError where another Fleet of the program has it.

        `label` names the thing in the error. `identity` tells that two are the same thing where their labels
        differ, such as one cluster under two names. Default: the label.
        """
        root = pulumi.runtime.get_root_resource()
        # Claims are kept by the run that they are of, for which its root resource stands. Without one no
        # program runs, so there is no other Fleet.
        if root is None:
            return
        claims = _CLAIMS.setdefault(root, {})
        owner, known = claims.setdefault(identity or label, (self.name, label))
        if owner != self.name:
            if identity:
                # Clusters are asked at once, so either Fleet may be the first.
                both = sorted((f"{known} of Fleet {owner!r}", f"{label} of Fleet {self.name!r}"))
                raise pulumi.RunError(f"{' and '.join(both)} are one {identity}. {step}")
            what = f"{label} belongs to Fleet {owner!r} already, and to one alone"
            raise pulumi.RunError(f"Fleet {self.name!r}: {what}. {step}")


def _type(value: Any) -> str:
    """Return the type of what should be text, and how it becomes that where there is a way."""
    made = ", of which pulumi.Output.json_dumps makes text" if isinstance(value, Mapping) else ""
    return f"type {type(value).__name__}{made}"


def _given_up(documents: Documents, fact: _Fact) -> bool:
    return documents.clusters[fact.cluster].spec.state in GIVEN_UP


def _instead(output: pulumi.Output[str], text: str | None) -> pulumi.Output[str]:
    """Return the text with what the Output depends on; unknown while the Output is."""
    return output.apply(lambda _: text or NOWHERE)


def _refuse_outputs(name: str, value: Any) -> None:
    """Raise RunError for an Output where everything must be known before the program runs."""
    if isinstance(value, pulumi.Output):
        raise pulumi.RunError(
            f"{name} is an Output, and must be known before anything is decided. Outputs may be values of "
            "kubeconfigs, projects and networks"
        )
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_outputs(f"{name}[{key!r}]", inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _refuse_outputs(f"{name}[{index}]", inner)
