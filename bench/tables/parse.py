"""Tells whether vLLM and SGLang take command lines.

    $(make -s engines) bench/tables/parse.py < lines.json

`lines.json` is a list of lists of texts: the engine's type, `vLLM` or `SGLang`, and the words behind
`vllm serve` or `python -m sglang.launch_server`. Prints a list of the same length: null where the engine's
own parser takes the line, else why it does not.
"""

import argparse
import json
import sys

from real import refusal

if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    lines: list[list[str]] = json.load(sys.stdin)
    print(json.dumps([refusal(engine, words) for engine, *words in lines], indent=1))
