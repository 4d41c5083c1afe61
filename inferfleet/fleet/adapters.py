"""Adapters of deployments: by which names requests ask for them, who loads them, and what is wrong with them.

An adapter is asked for by the name of its model and its own, as in `chat:poems`, at every address of its
deployment. vLLM is told the whole name; SGLang splits what a request says at `:` and is told its own alone.
"""

from collections.abc import Iterable, Iterator, Mapping

from inferfleet.documents.documents import Documents, cache_key
from inferfleet.documents.kinds.adapters import Adapter
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.kinds.model_deployment import Engine, ModelDeployment
from inferfleet.documents.problems import Problem
from inferfleet.fleet.roles import (
    engine_of,
    roles_of,
    served_names,
    template_path,
    workers_of,
)

# Engines that are told of adapters by flags that inferfleet writes.
TYPES = ("vLLM", "SGLang")
# What vLLM is told of adapters by, and finds what guards their loading by.
_ALLOWED, _PATH = "VLLM_ALLOW_RUNTIME_LORA_UPDATING", "PYTHONPATH"
VARIABLES = (_ALLOWED, _PATH)


def adapter_names(deployment: ModelDeployment) -> tuple[str, ...]:
    """Return the names by which requests ask for the adapters of a deployment."""
    names = served_names(deployment)[:1]
    return tuple(f"{names[0]}:{adapter.name}" for adapter in deployment.spec.engine.adapters if names)


def model_names(deployment: ModelDeployment) -> tuple[str, ...]:
    """Return every name by which requests may call a deployment: those of its model, and of its adapters."""
    return served_names(deployment) + adapter_names(deployment)


def loads_while_serving(engine: Engine) -> bool:
    """Return whether pods of the engine load other adapters without a roll."""
    return bool(engine.adapters) and engine.type == "vLLM"


def adapter_caches(documents: Documents, deployment: str) -> Mapping[str, ModelCache]:
    """Return the caches that hold files of adapters of a deployment, by the names of these."""
    return {
        adapter.name: documents.caches[cache_key(deployment, adapter.source.cache)]
        for adapter in documents.deployments[deployment].spec.engine.adapters
        if adapter.source.cache
    }


def adapter_problems(documents: Documents, key: str, pods: Mapping[str, Iterable[int]]) -> Iterator[Problem]:
    """Yield what is wrong with the adapters of a deployment, as far as documents say it. What their files
    say, an engine says.

    `pods` are the numbers of pods that workers of each role have where they are placed.
    """
    deployment = documents.deployments[key]
    engine = deployment.spec.engine
    for role, block in sorted(deployment.spec.roles.items()):
        if block.engine and block.engine.adapters:
            yield _problem(
                deployment,
                f"spec.roles.{role}.engine.adapters",
                f"adapters are of the engine that serves requests, and role {role} has one of its own",
                "Write them in spec.engine, or give the role a deployment of its own",
            )
    if not engine.adapters:
        return
    yield from _engine_problems(deployment, pods)
    yield from _number_problems(documents, deployment)
    first: dict[str, int] = {}
    for index, adapter in enumerate(engine.adapters):
        path = f"spec.engine.adapters[{index}]"
        other = first.setdefault(adapter.name, index)
        if other != index:
            line = _line(documents, deployment, f"spec.engine.adapters[{other}].name")
            yield _problem(
                deployment,
                f"{path}.name",
                f"a second adapter is named {adapter.name}{line and f', as the one at {line}'}: engines load "
                "one under a name",
                "Rename or remove one of the two",
            )
        if adapter.rank > engine.max_adapter_rank:
            line = _line(documents, deployment, "spec.engine.maxAdapterRank")
            yield _problem(
                deployment,
                f"{path}.rank",
                f"adapter {adapter.name} has rank {adapter.rank}, and engines take up to "
                f"maxAdapterRank {engine.max_adapter_rank}{line and f' ({line})'}",
                "Raise maxAdapterRank, which is a roll of the pods, or leave the adapter out",
            )
        yield from _source_problems(documents, deployment, adapter, path)


def _engine_problems(deployment: ModelDeployment, pods: Mapping[str, Iterable[int]]) -> Iterator[Problem]:
    engine, path = deployment.spec.engine, "spec.engine.adapters"
    if engine.type not in TYPES:
        what = f"adapters are told to engines of type {' and '.join(TYPES)}, and this is {engine.type}"
        yield _problem(deployment, path, what, "Remove adapters")
        return
    for role in roles_of(deployment):
        if not engine_of(deployment, role).adapters:
            continue
        workers = workers_of(deployment, role)
        template = workers.entry_template.engine
        if engine.model is None or any(template.get(part) for part in ("command", "args")):
            yield _problem(
                deployment,
                path,
                "adapters are told to engines whose command line inferfleet writes, and here it does not",
                "Declare engine.model and remove the command of the template, or remove adapters",
            )
            return
        topology = workers.topology
        most = max((topology.pods_per_worker, *pods.get(role, ())))
        if most > 1 or topology.data > 1:
            yield _problem(
                deployment,
                path,
                "adapters are for workers of one pod with one copy of the model, and those of role "
                f"{role} have {most} pods and {topology.data} copies",
                "Lower the topology and raise replicas, or remove adapters",
            )
        if engine.type == "vLLM":
            names = {variable["name"] for variable in template.get("env", [])}
            for name in sorted(names.intersection(VARIABLES)):
                yield _problem(
                    deployment,
                    template_path(deployment, role),
                    f"the template sets {name}, by which inferfleet has vLLM load adapters, from within "
                    "their pod alone",
                    f"Remove {name} from the template, or adapters from the engine",
                )


def _number_problems(documents: Documents, deployment: ModelDeployment) -> Iterator[Problem]:
    engine = deployment.spec.engine
    line = _line(documents, deployment, "spec.engine.maxCpuAdapters")
    if len(engine.adapters) > engine.max_cpu_adapters:
        yield _problem(
            deployment,
            f"spec.engine.adapters[{engine.max_cpu_adapters}]",
            f"there are {len(engine.adapters)} adapters, and a pod holds maxCpuAdapters "
            f"{engine.max_cpu_adapters} in memory{line and f' ({line})'}",
            "Raise maxCpuAdapters, which is a roll of the pods, or list fewer",
        )
    if engine.max_adapters > engine.max_cpu_adapters:
        yield _problem(
            deployment,
            "spec.engine.maxAdapters",
            f"maxAdapters is {engine.max_adapters}, and a pod holds maxCpuAdapters "
            f"{engine.max_cpu_adapters} in memory{line and f' ({line})'}: engines take no more at once",
            "Lower maxAdapters, or raise maxCpuAdapters",
        )


def _source_problems(
    documents: Documents, deployment: ModelDeployment, adapter: Adapter, path: str
) -> Iterator[Problem]:
    if adapter.source.cache is None:
        return
    cache = documents.caches[cache_key(deployment.metadata.key, adapter.source.cache)]
    if cache.spec.to.bucket:
        yield _problem(
            deployment,
            f"{path}.source.cache",
            f"adapter {adapter.name} is of cache {adapter.source.cache}, which is in a bucket: adapters are "
            "mounted from claims alone",
            "Write repository and revision, which each pod fetches, or keep the cache in a claim",
        )


def _line(documents: Documents, deployment: ModelDeployment, path: str) -> str:
    """Return the line of a field that is written, "" for a default."""
    lines = documents.positions.get(("ModelDeployment", deployment.metadata.key), {})
    return str(lines[path]) if path in lines else ""


def _problem(deployment: ModelDeployment, path: str, what: str, step: str) -> Problem:
    return Problem(what, step, path, kind="ModelDeployment", key=deployment.metadata.key)
