"""Writes the tables about other people's programs: `make tables`."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.tables.environment import engines_python
from bench.tables.former import former_flags
from bench.tables.pickers import NotOffered, picker_table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def asked(python: Path, script: str, *words: str) -> Any:
    """Return what a script of this folder prints as JSON in the environment of the engines."""
    done = subprocess.run([python, HERE / script, *words], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def written(table: dict[str, Any]) -> str:
    """Return a table as JSON with one row of its lists on a line, so that a diff names the flag."""
    rows = {
        key: value for key, value in table.items() if isinstance(value, list) and isinstance(value[0], dict)
    }
    head = json.dumps({key: value for key, value in table.items() if key not in rows}, indent=1)
    lists = (
        f' "{key}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in value) + "\n ]"
        for key, value in rows.items()
    )
    return ",\n".join([head.removesuffix("\n}"), *lists]) + "\n}\n"


def flag_table(python: Path, engine: str) -> dict[str, Any]:
    """Return the table of an engine's flags, with those that it no longer has."""
    table: dict[str, Any] = asked(python, "flags.py", engine)
    options = {option for flag in table["flags"] for option in flag["options"]}
    removed = {flag: version for flag, version in sorted(former_flags(engine).items()) if flag not in options}
    return {"generated": "make tables", **table, "removed": removed}


def main(router: Path | None) -> None:
    tables, tests = ROOT / "inferfleet" / "tables", ROOT / "tests"
    for name, source in (("gie-1.5", None), ("router-0.10", router)):
        try:
            table = picker_table(name, source)
        except NotOffered as error:
            print(f"{name} stays as it is: {error}", file=sys.stderr)
        else:
            (tests / "serving" / "picker" / f"{name}.json").write_text(written(table), encoding="utf-8")
    python = engines_python()
    for engine, name in (("vLLM", "vLLM-0.32"), ("SGLang", "SGLang-0.5.23")):
        (tables / f"{name}.json").write_text(written(flag_table(python, engine)), encoding="utf-8")
    metrics = {"generated": "make tables", **asked(python, "metrics.py")}
    (tests / "docs" / "vllm_metrics.json").write_text(written(metrics), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--router", type=Path, help="a checkout of llm-d-router, where the proxy has no module of it"
    )
    main(parser.parse_args().router)
