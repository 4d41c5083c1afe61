"""All pages of docs/reference by file name, and how they get there."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from pydantic.alias_generators import to_camel

from bench.pages import inputs
from bench.pages.commands import sections
from bench.pages.fields import tables
from bench.pages.plugins import sections as plugin_sections
from inferfleet.cli.exit_codes import MEANINGS
from inferfleet.desired.values import Outputs
from inferfleet.documents.loading.load import KINDS
from inferfleet.documents.loading.schema import descriptions, json_schema, settings_schema, value_schema
from inferfleet.fleet.lock import lock
from inferfleet.fleet.lock.lock import VERSION, Lock, LockedCluster, LockedPool
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.registry import builtin
from inferfleet.review.digest.values import Digest
from inferfleet.review.policy import facts

_MADE = "<!-- Made by `make docs`; edit the texts in the program instead. -->"
_TYPES = """\
A name consists of lowercase letters, digits and `-`, begins with a letter and does not end with `-`. A
quantity is a Kubernetes quantity (`500m`, `80Gi`, `4`), a duration a whole number with a unit (`90s`, `30m`,
`2h`). Fields that are not required can be left out; unknown fields are errors."""
_HOW_TO_SET = """\
They are in `stacks/Pulumi.<stack>.yaml` and are set with `pulumi config set`, structured ones field by field:

```
pulumi config set inferfleet:unplaced error
pulumi config set --secret --path 'inferfleet:secrets["ml/hf-token"].token'
```

A key that is no setting is an error, unless a cluster names it as its `kubeconfig.configKey` or its value is
encrypted."""
_HOW_TO_DIGEST = """\
`inferfleet digest --base COMMIT --json` prints it, beside the keys `problems`, `warnings` and `notices` that
all commands have, and `inferfleet schema --of digest` prints its JSON Schema. Every field is there. Pairs of
numbers are what is before and after."""
_CEL: Mapping[Any, str] = {str: "string", int: "int", float: "double"}
# An entry of the lock has the keys of this field next to its other keys, not nested.
_KEYS = {"settings": "any other"}
_EXAMPLE = Lock(
    stack="prod",
    clusters={
        "dc1": LockedCluster("Existing", uid="6e0c0d4e-1f0b-4b8e-9a55-0a1b2c3d4e5f"),
        "east": LockedCluster(
            "GKE",
            settings={"block": "10.4.0.0/14", "location": "us-east5", "project": "acme-inference"},
            protected=True,
        ),
    },
    pools={
        "east/h100": LockedPool(
            "h100-1a2b3c", {"nodeConfig.machineType": "a3-megagpu-8g", "nodeConfig.spot": True}
        )
    },
    placements={
        Spot("ml/qwen3-coder", "dc1", (("decode", "l4"),)): 1,
        Spot("ml/qwen3-coder", "east", (("decode", "h100"),)): 2,
    },
    services={"ml/coder": ("dc1", "east")},
    nodes={"dc1/l4": 1, "east/h100": 4},
)
_EXAMPLE_OUTPUTS: Outputs = {
    "placements": {"ml/qwen3-coder": {"dc1 decode=l4": 1, "east decode=h100": 2}},
    "services": {"ml/coder": ["dc1", "east"]},
    "gateways": {"dc1": "192.168.4.20", "east": "10.4.0.9"},
    "urls": {"ml/coder": {"dc1": "http://192.168.4.20:80/ml/coder/", "east": "http://10.4.0.9:80/ml/coder/"}},
    "frontDoors": {"main": {"east": "10.4.0.12"}},
    "plugins": {"east/ml/qwen3-coder-decode-h100": ["accelerator@1.0.0", "registrar@1.2.0"]},
    "ready": {"east/ml/qwen3-coder-decode-h100": {"registrar": "template 3f2a9c1b7d20"}},
}


def pages() -> dict[str, str]:
    """Return the text of every page in Markdown, by file name."""
    schema = json_schema()["$defs"]
    kinds = {
        _file_name(kind): _page(kind, [schema[kind]["description"], _TYPES, *tables(schema[kind], schema)])
        for kind in KINDS
    }
    kinds["policy.md"] += "\n" + "\n\n".join(_seen()) + "\n"
    others = {
        "settings.md": _page("Settings of a stack", _settings()),
        "plugins.md": _page("Built-in plugins", plugin_sections(builtin())),
        "commands.md": _page("Commands", _commands()),
        "exit-codes.md": _page("Exit codes", _exit_codes()),
        "digest.md": _page("A digest", _digest()),
        "outputs.md": _page("Stack outputs", _outputs()),
        "placement-lock.md": _page("placement.lock", _lock()),
        "provider-inputs.md": _page("Inputs of Google's cluster and node pool", inputs.page()),
    }
    return {"README.md": _page("Reference", [_index({**kinds, **others})]), **kinds, **others}


def write(folder: Path) -> None:
    """Write all pages into the folder, and remove pages that are no longer made."""
    made = pages()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    for page in folder.glob("*.md"):
        if page.name not in made:
            page.unlink()


def _page(title: str, blocks: Iterable[str]) -> str:
    return "\n\n".join([f"# {title}", _MADE, *blocks]) + "\n"


def _file_name(kind: str) -> str:
    """Return the file name of a kind's page, such as `model-service.md` for `ModelService`."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "-", kind).lower() + ".md"


def _index(made: Mapping[str, str]) -> str:
    titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in made.items()}
    links = {**titles, "../changes.md": "What a change of each field does in Google Cloud"}
    return "\n".join(f"* [{title}]({name})" for name, title in links.items())


def _settings() -> Iterator[str]:
    schema = settings_schema()
    yield schema["description"]
    yield _HOW_TO_SET
    yield from tables(schema, schema["$defs"])


def _commands() -> Iterator[str]:
    yield (
        "Commands end with one of the [exit codes](exit-codes.md). `--help` of a command shows its arguments "
        "and options too."
    )
    yield from sections()


def _exit_codes() -> Iterator[str]:
    rows = (f"| {code.value} | {meaning} |" for code, meaning in MEANINGS.items())
    yield "\n".join(["| code | meaning |", "|---|---|", *rows])


def _digest() -> Iterator[str]:
    schema = value_schema(Digest, "A digest of inferfleet", "digest")
    yield schema["description"]
    yield _HOW_TO_DIGEST
    # All fields are there, so none of them has a default.
    parts = {name: {**part, "required": ()} for name, part in schema["$defs"].items()}
    yield from tables({**schema, "required": ()}, parts)


def _outputs() -> Iterator[str]:
    yield _text(Outputs)
    yield _fields(Outputs, *_EXAMPLE_OUTPUTS)
    yield f"```json\n{json.dumps(_EXAMPLE_OUTPUTS, indent=2)}\n```"


def _lock() -> Iterator[str]:
    yield _text(Lock)
    yield " ".join((lock.__doc__ or "").partition("\n\n")[2].split())
    yield f"```yaml\n{lock.text(_EXAMPLE)}```"
    yield f"`version` is the version of the format, {VERSION}."
    yield _fields(Lock, "stack", "clusters", "pools", "placements", "services")
    for section, entry in (("clusters", LockedCluster), ("pools", LockedPool)):
        yield f"## An entry of `{section}`"
        yield _text(entry)
        first = {"nodes": descriptions(Lock)["nodes"]} if entry is LockedPool else {}
        yield _table(first | descriptions(entry))


def _seen() -> Iterator[str]:
    """Yield what conditions of policies see, by variable."""
    yield "## What conditions see"
    yield " ".join((facts.__doc__ or "").partition("\n\n")[2].split())
    for variable, fact in {"stack": facts.Stack, **facts.TYPES}.items():
        yield f"### `{variable}`"
        yield _text(fact)
        texts, hints = descriptions(fact), get_type_hints(fact)
        rows = (
            f"| `{to_camel(name)}` | {_type_seen(hints[name])} | {text} |" for name, text in texts.items()
        )
        yield "\n".join(["| field | type | description |", "|---|---|---|", *rows])


def _type_seen(hint: Any) -> str:
    """Return the type of a field as CEL has it: `int`, `list(string)`, `map(string, string)`."""
    origin = get_origin(hint)
    if origin is tuple:
        return f"list({_type_seen(get_args(hint)[0])})"
    if origin is not None:
        return "map(string, string)"
    return _CEL.get(hint, hint.__name__.lower())


def _text(described: type) -> str:
    return " ".join((described.__doc__ or "").split())


def _fields(described: type, *names: str) -> str:
    texts = descriptions(described)
    return _table({name: texts[name] for name in names})


def _table(texts: Mapping[str, str]) -> str:
    rows = (f"| {_KEYS.get(name, f'`{name}`')} | {text} |" for name, text in texts.items())
    return "\n".join(["| name | description |", "|---|---|", *rows])
