"""Functions and operators of selectors with values of every kind: 6,500 expressions, most of them wrong.

`python -m fleet.selectors.combined_expressions | go run .` in kubernetes/, with tests/ in PYTHONPATH, makes
the answers that combinations.txt has in one letter each.
"""

import json
from collections.abc import Iterator

ATTRIBUTES = 'device.attributes["gpu.nvidia.com"]'
PLAIN = {
    "text attribute": f"{ATTRIBUTES}.architecture",
    "number attribute": 'device.attributes["acme.example"].slot',
    "missing attribute": f"{ATTRIBUTES}.nope",
    "attribute of a missing domain": 'device.attributes["x.example"].y',
    "text": '"a1.b"',
    "whole number": "1",
    "boolean": "true",
    "texts": '["a","b"]',
    "whole numbers": "[3,1,2]",
    "map": '{"a":1}',
    "domain": ATTRIBUTES,
    "driver": "device.driver",
    "duration": 'duration("1h")',
    "sharing": "device.allowMultipleAllocations",
}
# Compared with a value of another kind these are an error in Kubernetes, and unequal here.
OPAQUE = {
    "version attribute": f"{ATTRIBUTES}.cudaComputeCapability",
    "capacity": 'device.capacity["gpu.nvidia.com"].memory',
    "quantity": 'quantity("1Gi")',
    "version": 'semver("1.2.3")',
}
METHODS = [
    "size",
    "lowerAscii",
    "upperAscii",
    "trim",
    "join",
    "reverse",
    "sign",
    "isInteger",
    "asInteger",
    "asApproximateFloat",
    "major",
    "minor",
    "patch",
    "hasValue",
    "value",
]
WITH_ONE = [
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "find",
    "findAll",
    "lastIndexOf",
    "indexOf",
    "split",
    "charAt",
    "substring",
    "compareTo",
    "isGreaterThan",
    "isLessThan",
    "add",
    "sub",
    "replace",
]
FUNCTIONS = [
    "quantity",
    "isQuantity",
    "semver",
    "isSemver",
    "size",
]
ARGUMENTS = ('"a"', "1", 'quantity("1")', 'semver("1.0.0")', '["a"]', f"{ATTRIBUTES}.architecture")
LOOPS = ("exists(x, true)", "all(k, v, true)", "exists_one(x, true)", "map(x, x).size() >= 0")
COMPARED = ("==", "!=", "in", "<", ">=", "+", "-", "*", "&&")


def expressions() -> Iterator[str]:
    """Yield the expressions, in the order of the answers."""
    values = [*PLAIN.values(), *OPAQUE.values()]
    for value in values:
        yield value
        yield f"!{value}"
        yield f"{value} ? true : false"
        yield f"cel.bind(x, {value}, [x].size() == 1)"
        for method in METHODS:
            yield _made(f"{value}.{method}()")
        for method in WITH_ONE:
            # Any item may be looked up in a list here, of one kind alone in Kubernetes.
            others = ARGUMENTS if not (method.endswith("ndexOf") and value[0] == "[") else ()
            yield from (_made(f"{value}.{method}({argument})") for argument in others)
        yield from (_made(f"{function}({value})") for function in FUNCTIONS if value != '"a1.b"')
        yield from (f"{value}.{loop}" for loop in LOOPS)
        for sign in COMPARED:
            others = PLAIN.values() if sign in ("==", "!=", "in") else values
            if value in PLAIN.values() or sign not in ("==", "!=", "in"):
                yield from (_made(f"{value} {sign} {other}") for other in others)


def _made(expression: str) -> str:
    """Return a condition that is true when the expression has a value."""
    return f"dyn({expression}) != dyn(7)"


if __name__ == "__main__":
    for expression in expressions():
        print(json.dumps(expression))
