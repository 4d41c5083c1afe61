"""Random CEL selectors: mostly well-formed, of any type, sometimes cut or mixed up."""

from random import Random

_ATOMS = (
    'attributes["gpu.nvidia.com/productName"]',
    'capacity["gpu.nvidia.com/memory"]',
    "device",
    "device.driver",
    "device.attributes",
    'device.attributes["gpu.nvidia.com"].architecture',
    'device.capacity["gpu.nvidia.com"].memory',
    'quantity("40Gi")',
    'quantity("x")',
    'semver("9.0.0")',
    "true",
    "false",
    "null",
    "1",
    "-9223372036854775808",
    "1.5",
    "1u",
    '"L4"',
    '"\\u202e"',
    "b'x'",
    "[]",
    "[1, 2, 3]",
    "{}",
    '{"a": 1}',
    "has(device.x)",
    "has(1)",
    "4000000000",
    "timestamp('2020-01-01T00:00:00Z')",
    "duration('1s')",
    "x",
    "é",
)
_BINARY = ("&&", "||", "==", "!=", "<", ">=", "+", "-", "*", "/", "%", "in", "=", "&", "and")
_CALLS = ("compareTo", "isGreaterThan", "matches", "startsWith", "size", "contains", "find", "x", "asInteger")
_MACROS = ("all", "exists", "exists_one", "map", "filter")
_NOISE = ("(", ")", "[", "]", '"', "'", "\n", "\\", "::set-output", "\x1b[1m", "\u2028", "?", ":", "//x")


def expression(random: Random, depth: int = 0) -> str:
    """Return a random expression."""
    if depth > 3 or random.random() < 0.3:
        return random.choice(_ATOMS)

    def part() -> str:
        return expression(random, depth + 1)

    match random.randrange(7):
        case 0 | 1:
            return f"{part()} {random.choice(_BINARY)} {part()}"
        case 2:
            return f"{part()}.{random.choice(_CALLS)}({random.choice(('', part()))})"
        case 3:
            return f"{part()}.{random.choice(_MACROS)}({random.choice(('x', 'x, y', '1', ''))}, {part()})"
        case 4:
            return f"({part()} ? {part()} : {part()})"
        case 5:
            return f"{random.choice(('!', '-', 'size', 'string', 'int', 'bool', 'type', 'dyn'))}({part()})"
        case _:
            text = f"[{part()}, {part()}][{part()}]"
            at = random.randrange(len(text) + 1)
            return text[:at] + random.choice(_NOISE) + text[at:]
