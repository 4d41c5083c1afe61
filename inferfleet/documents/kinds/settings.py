"""Settings of a stack: the Pulumi configuration under the namespace `inferfleet`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from inferfleet.documents.kinds.base import InEditors, PluginSpec, StrictModel
from inferfleet.documents.pods.texts import TextRule
from inferfleet.documents.problems import Mistake, Mistaken

Objective = Literal["balance", "cost", "pack"]
PodSecurity = Literal["ignore", "warn", "enforce"]

# Of secrets the model holds names only, `namespace/name` to the keys of its values; people write values too.
_WRITTEN_SECRETS = InEditors(
    {
        "type": "object",
        "additionalProperties": {"type": "object", "additionalProperties": {"type": "string"}},
    }
)


class AllowedPlugin(StrictModel):
    """A plugin that does not come with inferfleet, and that the stack may run."""

    name: Annotated[str, TextRule(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", "the name of a plugin", 63)]
    """Name of the plugin: of its module in the folder `plugins`, with `-` for `_`, or of its entry point."""
    version: (
        Annotated[str, TextRule(r"[0-9A-Za-z]([-+._0-9A-Za-z]*[0-9A-Za-z])?", "a version", 64)] | None
    ) = None
    """Version of the plugin's package that was reviewed, such as `"1.2.0"`: another one is refused. A module
    in the folder `plugins` needs none, because it is reviewed with the project.
    """


def _check_names_once(allowed: tuple[AllowedPlugin, ...]) -> tuple[AllowedPlugin, ...]:
    names = [plugin.name for plugin in allowed]
    if again := [index for index, name in enumerate(names) if name in names[:index]]:
        raise Mistaken(
            *(
                Mistake(f"plugin {names[index]} is allowed twice", "Keep one of the two", (index, "name"))
                for index in again
            )
        )
    return allowed


class Settings(StrictModel):
    """Settings of a stack: the Pulumi configuration under the namespace `inferfleet`."""

    stack: Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")]
    """The name of the Pulumi stack. It is no setting: Pulumi, or the file's name, gives it."""
    documents: str | None = None
    """Folder of the stack's documents and of its `placement.lock`, relative to the project and inside of it,
    but not in `policies`. Default: `stacks/<stack>`.
    """
    locked: bool | None = None
    """`true` refuses a run that would change `placement.lock`, and says what would move. Default: `true`
    where the environment variable `CI` is set, otherwise `false`.
    """
    unplaced: Literal["error", "errorOnLoss", "warn"] = "errorOnLoss"
    """What an update does when replicas of a deployment that does not say itself (`spec.unplaced`) find no
    place: `error` refuses it, `warn` goes on without them, and `errorOnLoss` refuses it where some of them
    run by `placement.lock` and would end. A preview warns in all cases.
    """
    objective: Objective = "balance"
    """What counts most where replicas of the stack may go to several places: `balance` spreads those of a
    deployment over clusters, then looks at cost; `cost` the other way round; `pack` fills nodes that are in
    use before others. What a deployment says itself (`spread`, `prefer`) comes first.
    """
    await_: Literal["ready", "applied"] = Field(default="ready", alias="await")
    """What an update waits for: with `ready` for all pods, rolling one placement of a deployment after the
    other; with `applied` not for model pods, only for endpoint pickers, gateways and routes.
    """
    pod_security: PodSecurity = "warn"
    """What happens with pods below level `baseline` of Kubernetes' Pod Security Standards and with secrets in
    plain text in their variables and arguments: `warn` says so, `enforce` refuses them, and `ignore` says
    nothing. With `warn` the labels of namespaces ask the API server to warn of pods below the baseline, with
    `enforce` to refuse them.
    """
    trust_repository_kubeconfigs: bool = False
    """`true` lets kubeconfigs that lie in the repository, or are written into the stack's file in plain text,
    be used, with the commands that they run and the files that they name, so that whoever changes them gets
    all that a preview can reach. Default: `false`; nothing of them is read, run or sent.
    """
    plugins: tuple[PluginSpec, ...] = ()
    """Plugins for every pod of the stack; they run after those of class and cluster, and before those of the
    deployment. Default: none.
    """
    allowed_plugins: Annotated[tuple[AllowedPlugin, ...], AfterValidator(_check_names_once)] = ()
    """Plugins besides those that come with inferfleet: only what is named here is imported from the folder
    `plugins` of the project and from installed packages. Default: none.
    """
    secrets: Annotated[dict[str, tuple[str, ...]], _WRITTEN_SECRETS] = {}
    """Values of Kubernetes Secrets, by `<namespace>/<name>` and key; a Secret is created where a pod reads
    it, and one that is not held here must exist on the cluster. Set each value with `pulumi config set
    --secret --path`; default: none.
    """

    def is_locked(self, *, ci: bool) -> bool:
        """Return whether nothing may change `placement.lock`: as `locked` says, else in CI alone."""
        return ci if self.locked is None else self.locked
