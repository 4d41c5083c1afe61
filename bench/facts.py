"""List facts about other programs that were last looked up long ago, with the address of each.

    make facts [FOLDER=saved]

Facts are what has a date in the tables: sources and comments of inferfleet/cloud/gke, inferfleet/tables, the
built-in plugins and the rules of the simulated cloud. One that is older than 60 days is listed. FOLDER holds
pages and manifests that a person saved from those addresses: tags of our images that stand there and are
newer than ours are listed too. Nothing is asked of a network.
"""

import argparse
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import inferfleet.cloud.gke
import inferfleet.plugins.builtin
import inferfleet.tables
import sandbox.gcp.rules
from inferfleet.cloud.gke.facts.sources import Source

DAYS = 60
_PACKAGES = (inferfleet.cloud.gke, inferfleet.tables, inferfleet.plugins.builtin, sandbox.gcp.rules)
_DATE = re.compile(r"\b20\d\d-[01]\d-[0-3]\d\b")
_ADDRESS = re.compile(r"https?://[^\s\"'),;]+")
_IMAGE = re.compile(r"([a-z0-9.-]+\.[a-z]+/[a-z0-9._/-]+):(v?\d[\w.-]*)")
# A comment or docstring ends with a line that is none.
_COMMENT = re.compile(r"(?:^[ ]*#.*\n)+|^\"\"\"(?:.|\n)*?\"\"\"", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Fact:
    """What was looked up on a day, and where: `address` is "" where the text names none."""

    day: date
    module: str
    what: str
    address: str


@dataclass(frozen=True, order=True)
class Newer:
    """An image whose tag is older than one that a saved file has."""

    image: str
    ours: str
    saved: str
    file: str


def modules() -> Iterator[ModuleType]:
    """Yield the modules that hold facts about other programs."""
    for package in _PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def facts(modules: Iterable[ModuleType]) -> list[Fact]:
    """Return every dated fact, oldest first: each source once, and comments that have a date."""
    found = set[Fact]()
    for module in modules:
        for value in values(vars(module)):
            if isinstance(value, Source):
                found.add(Fact(date.fromisoformat(value.date), _defining(module), value.title, value.url))
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        for comment in _COMMENT.findall(text):
            found |= set(_of_comment(module, comment))
    sources = {(fact.what, fact.address) for fact in found}
    first = {pair: min(fact for fact in found if (fact.what, fact.address) == pair) for pair in sources}
    return sorted(first.values())


def _of_comment(module: ModuleType, comment: str) -> Iterator[Fact]:
    """Yield the newest day that a comment has, with the first address in it."""
    # Addresses go on in the next line.
    text = re.sub(r"/\n\s*#? ?", "/", comment)
    days = [date.fromisoformat(day) for day in _DATE.findall(text)]
    if days:
        words = " ".join(re.sub(r"^\s*(#|\"\"\")", "", line).strip() for line in text.splitlines())
        addresses = _ADDRESS.findall(text)
        yield Fact(max(days), _defining(module), words.strip()[:90], addresses[0] if addresses else "")


def _defining(module: ModuleType) -> str:
    return module.__name__.removeprefix("inferfleet.")


def values(value: Any) -> Iterator[Any]:
    """Yield a value and all that is inside of it, modules and classes left out."""
    if isinstance(value, ModuleType | type):
        return
    yield value
    inner: Iterable[Any] = ()
    if isinstance(value, Mapping):
        # What a module imported from Python itself is no fact.
        inner = [part for name, part in value.items() if name != "__builtins__"]
    elif isinstance(value, tuple | list | frozenset | set):
        inner = value
    elif is_dataclass(value):
        inner = [getattr(value, field.name) for field in fields(value)]
    for part in inner:
        yield from values(part)


def images(modules: Iterable[ModuleType]) -> dict[str, str]:
    """Return the tags of images that the modules name, by image; of several the newest."""
    found: dict[str, str] = {}
    for module in modules:
        for value in values(vars(module)):
            if isinstance(value, str) and (match := _IMAGE.fullmatch(value.partition("@")[0])):
                image, tag = match.groups()
                found[image] = max(found.get(image, ""), tag, key=_numbers)
    return found


def newer(ours: Mapping[str, str], folder: Path) -> list[Newer]:
    """Return those of our images of which a file of the folder has a newer tag."""
    found = set[Newer]()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        for image, tag in _IMAGE.findall(file.read_text(encoding="utf-8", errors="replace")):
            if image in ours and _numbers(tag) > _numbers(ours[image]):
                found.add(Newer(image, ours[image], tag, str(file.relative_to(folder))))
    return sorted(found)


def _numbers(tag: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", tag))


def lines(found: Iterable[Fact], newer_images: Iterable[Newer], *, today: date) -> Iterator[str]:
    """Yield what a person reads: old facts by module, then images that are newer in saved files."""
    for fact in found:
        if (today - fact.day).days > DAYS:
            yield f"{fact.day}  {fact.module}  {fact.what}"
            if fact.address:
                yield f"            {fact.address}"
    for image in newer_images:
        yield f"{image.image}: {image.ours} here, {image.saved} in {image.file}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="a folder with saved pages and manifests")
    folder: Path | None = parser.parse_args().folder
    all_modules = tuple(modules())
    saved = newer(images(all_modules), folder) if folder else []
    found = list(lines(facts(all_modules), saved, today=date.today()))
    print("\n".join(found) or f"No fact is older than {DAYS} days.")


if __name__ == "__main__":
    main()
