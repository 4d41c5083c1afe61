"""The command lines of vLLM and SGLang, read by their own parsers. Runs where those packages are."""

import argparse
import contextlib
import io
import os
from collections.abc import Callable
from functools import cache
from typing import Any

# vLLM looks for a GPU as it is imported, SGLang counts uses, and both would ask a hub.
os.environ.update(
    VLLM_TARGET_DEVICE="cpu",
    VLLM_NO_USAGE_STATS="1",
    DO_NOT_TRACK="1",
    HF_HUB_OFFLINE="1",
    VLLM_LOGGING_LEVEL="ERROR",
)


@cache
def vllm_parsers() -> tuple[Any, argparse.ArgumentParser]:
    """Return the parser of `vllm` with the one verb `serve`, and the parser of that verb."""
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.platforms import current_platform
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    # One flag has the device among its choices, and this one is that of NVIDIA's and AMD's GPUs.
    current_platform.device_type = "cuda"
    program = FlexibleArgumentParser(prog="vllm")
    verbs = program.add_subparsers(required=False, dest="subparser")
    return program, ServeSubcommand().subparser_init(verbs)


@cache
def sglang_parser() -> argparse.ArgumentParser:
    """Return the parser of `python -m sglang.launch_server`."""
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser(prog="sglang serve")
    ServerArgs.add_cli_args(parser)
    return parser


def parse_vllm(words: list[str]) -> argparse.Namespace:
    """Parse the words behind `vllm serve` as its `main` does, and look at what it looks at before a model."""
    from vllm.entrypoints.cli.serve import ServeSubcommand

    program, _ = vllm_parsers()
    args: argparse.Namespace = program.parse_args(["serve", *words])
    ServeSubcommand().validate(args)
    return args


def parse_sglang(words: list[str]) -> Any:
    """Parse the words behind `python -m sglang.launch_server`, as it does."""
    from sglang.srt.server_args import prepare_server_args

    return prepare_server_args(words)


_PARSE: dict[str, Callable[[list[str]], Any]] = {"vLLM": parse_vllm, "SGLang": parse_sglang}


def refusal(engine: str, words: list[str]) -> str | None:
    """Return why the engine ends with this command line, in its own words, None where it takes it."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            _PARSE[engine](words)
    except SystemExit:
        # argparse prints usage, and then the error in the last paragraph.
        return said.getvalue().rpartition(": error: ")[2].strip() or "it ends"
    except Exception as error:  # noqa: BLE001 (whatever it raises ends the engine)
        return f"{type(error).__name__}: {error}"
    return None
