"""Whether what is said of words for engines is what the engines' own parsers say of them."""

import random
from collections import Counter
from collections.abc import Iterator

from real_parsers import refusals, with_real_parsers

from inferfleet.serving.engines.check import args_mistakes
from inferfleet.tables.flags import Flag, FlagTable, flags

LINES = 200
ENGINES = {"vLLM": ("0.32.0", ["m"]), "SGLang": ("0.5.23", ["--model-path", "m"])}

pytestmark = with_real_parsers

# Those that end the engine or read a file, those that ask for another flag, and those with a form of their
# own, which no table knows.
APART = {
    "vLLM": {
        *("--help", "--model", "--config", "--chat-template"),
        *("--enable-auto-tool-choice", "--enable-log-outputs", "--grpc-port"),
        *("--data-parallel-multi-port-external-lb", "--lora-modules"),
    },
    "SGLang": {"--help", "--model-path", "--model", "--config", "--log-level", "--cuda-graph-config"},
}
# The first of a kind is right, and most of the others are not.
VALUES = {
    "text": ("word", "None", "a b"),
    "int": ("7", "-1", " 8 ", "1.5", "x", "4k", "None", ""),
    "float": ("0.9", "1", "-.5", "90%", "x", "None"),
    "size": ("4096", "4k", "1.5k", "4K", "1.5K", "4Ki", "1.5Ki", "4kB", "x", "None"),
    "size or auto": ("4096", "32k", "AUTO", "auto", "-1", "x", "1.5M", "2Gi"),
    "JSON": ('{"a": 1}', "[1]", "1.5", "x", "{x}", "None"),
    "object": ("{}", '{"no-such-key": 1}', "[1]", "x", "7"),
    "text or JSON": ("word", '{"a": 1}', "{x}"),
}


def line(random_: random.Random, table: FlagTable) -> list[str]:
    """Return up to three flags with values, some of them wrong."""
    known = [flag for flag in table.flags if not APART[table.engine] & set(flag.options)]
    words: list[str] = []
    for _ in range(random_.choice((1, 1, 2, 3))):
        more = list(words_of(random_, random_.choice(known), table))
        # The beginning of one name may be another.
        if more[0].partition("=")[0] not in APART[table.engine]:
            words += more
    return words


def words_of(random_: random.Random, flag: Flag, table: FlagTable) -> Iterator[str]:
    name = spelt(random_, random_.choice(flag.options), table)
    good = random_.random() < 0.8
    values = random_.choice(flag.choices or VALUES[flag.kind][: 1 if good else 9])
    if flag.choices and not good:
        values = random_.choice((values.upper(), values.replace("_", "-"), values + "x", values[:-1]))
    match random_.choices(("plain", "equals", "several", "bare", "dotted"), (20, 10, 1, 1, 2))[0]:
        case "bare":
            yield name
        case "equals" if flag.values != 0 or random_.random() < 0.05:
            yield f"{name}={values}"
        case "dotted":
            yield random_.choice((f"{name}.a.b=1", f"{name}.a+=b,c", f"{name}.a_b"))
            if random_.random() < 0.8:
                yield "1"
        case "several":
            yield from (name, values, values)
        case _:
            yield name
            if flag.values != 0:
                yield values


def spelt(random_: random.Random, name: str, table: FlagTable) -> str:
    match random_.choices(("right", "underscores", "short", "wrong", "former"), (30, 3, 3, 1, 1))[0]:
        case "underscores":
            return name[:2] + name[2:].replace("-", "_")
        case "short":
            return name[: random_.randint(3, max(3, len(name)))]
        case "wrong":
            place = random_.randint(2, len(name))
            return name[:place] + random_.choice("aeiou") + name[place:]
        case "former":
            return random_.choice(sorted(table.removed))
    return name


def test_engines_take_and_refuse_what_the_tables_do() -> None:
    random_ = random.Random(1)
    lines: list[tuple[str, list[str]]] = []
    for engine, (version, _) in ENGINES.items():
        table = flags(engine, version)
        assert table is not None
        lines += [(engine, line(random_, table)) for _ in range(LINES)]
    answers = refusals([[engine, *ENGINES[engine][1], *words] for engine, words in lines])
    counts: Counter[tuple[str, bool]] = Counter()
    different = []
    for (engine, words), refusal in zip(lines, answers, strict=True):
        mistakes = args_mistakes(engine, ENGINES[engine][0], words)
        counts[engine, refusal is None] += 1
        if bool(mistakes) != bool(refusal):
            different.append((engine, words, refusal, mistakes))
    for engine in ENGINES:
        print(f"{engine}: takes {counts[engine, True]} of {LINES} lines, refuses {counts[engine, False]}")
    assert different == []
    assert min(counts.values()) > LINES / 4
