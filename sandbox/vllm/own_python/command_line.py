"""Reads a team's command line with vLLM's own parser, and replaces its model and what is about GPUs."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tiny_model
from vllm.entrypoints.cli.serve import ServeSubcommand
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.platforms import current_platform
from vllm.utils.argparse_utils import FlexibleArgumentParser

# Groups of vLLM's parser whose flags are the engine's own. Those of all others are about a model, the memory
# and number of GPUs, and how they compute.
_KEPT_GROUPS = (
    "options",
    "Frontend",
    "LoRAConfig",
    "LoggingConfig",
    "ObservabilityConfig",
    "SchedulerConfig",
)
_KEPT = (
    *("runner", "convert", "seed", "max_model_len", "max_logprobs", "logprobs_mode", "served_model_name"),
    *("override_generation_config", "block_size", "enable_prefix_caching", "prefix_caching_hash_algo"),
)
# Of the engine's own, what needs another tokenizer, a file of the container, or a way out of the sandbox.
_NOT_KEPT = (
    *("enable_auto_tool_choice", "tool_call_parser", "tool_parser_plugin", "tool_server", "chat_template"),
    *(
        "otlp_traces_endpoint",
        "collect_detailed_traces",
        "scheduler_cls",
        "lora_target_modules",
    ),
    *("gdn_prefill_backend", "kda_prefill_backend", "kda_decode_backend", "max_lora_rank", "lora_dtype"),
)
# What an engine needs to be small and quick.
_CACHE_BYTES = 64 * 2**20


class CommandLine:
    """vLLM's parser, which is made once."""

    def __init__(self) -> None:
        # One flag has the device among its choices, and teams write for GPUs.
        device, current_platform.device_type = current_platform.device_type, "cuda"
        self._program = FlexibleArgumentParser(prog="vllm")
        verbs = self._program.add_subparsers(required=False, dest="subparser")
        self._serve = ServeSubcommand().subparser_init(verbs)
        self._module = make_arg_parser(FlexibleArgumentParser(prog="api_server.py"))
        current_platform.device_type = device
        has = {group.title for group in self._serve._action_groups}
        has |= {action.dest for action in self._serve._actions}
        if unknown := {*_KEPT_GROUPS, *_KEPT, *_NOT_KEPT} - has:
            raise ValueError(f"this vLLM has no groups or flags {sorted(unknown)}")

    def parsed(self, words: list[str], *, module: bool) -> argparse.Namespace:
        """Return what vLLM's parser makes of the words behind `vllm serve`, or behind its module that serves.

        It ends this process with 2 where it refuses them.
        """
        args: argparse.Namespace = (
            self._module.parse_args(words) if module else self._program.parse_args(["serve", *words])
        )
        ServeSubcommand().validate(args)
        return args

    def replace(self, args: argparse.Namespace, *, module: bool, tiny: Path, address: str) -> Iterator[str]:
        """Put in what can run here, and yield lines about what the team wrote otherwise.

        Names of the model and of adapters become links to the tiny ones in the working directory.
        """
        written = args.model if module else args.model_tag or args.model
        args.model_tag = args.model = _linked(written, tiny / tiny_model.MODEL)
        yield f"{written} is a tiny model with random weights ({tiny})"
        for adapter in args.lora_modules or ():
            adapter.path = _linked(adapter.path, tiny / tiny_model.ADAPTER)
            yield f"the adapter {adapter.name} is a tiny one with random weights"
        unused: list[tuple[str, Any, Any]] = []
        changed: list[tuple[str, Any, Any]] = []
        for name, value in self._replacements(args, address).items():
            before, default = getattr(args, name, None), self._serve.get_default(name)
            setattr(args, name, value)
            if before not in (value, default):
                flag = f"--{name.replace('_', '-')}"
                (unused if value == default else changed).append((flag, before, value))
        if unused:
            yield "the tiny model on CPUs does without " + ", ".join(
                f"{flag} ({before})" for flag, before, _ in unused
            )
        for flag, before, value in changed:
            yield f"{flag} is {value} and not {before}"

    def _replacements(self, args: argparse.Namespace, address: str) -> dict[str, Any]:
        """Return the value of each argument that is not the team's."""
        apart = ("model", "model_tag")
        values = {
            action.dest: action.default
            for group in self._serve._action_groups
            for action in group._group_actions
            if action.dest in _NOT_KEPT
            or not (group.title in _KEPT_GROUPS or action.dest in _KEPT or action.dest in apart)
        }
        values |= {"enforce_eager": True, "kv_cache_memory_bytes": _CACHE_BYTES, "host": address}
        if (args.max_model_len or 0) > tiny_model.LENGTH:
            values["max_model_len"] = tiny_model.LENGTH
        return values


def _linked(written: str, target: Path) -> str:
    """Return the name as it is written, once a link of that name leads to the target; else the target."""
    path = Path(written)
    if path.is_absolute() or ":" in written or ".." in path.parts or written.startswith("~"):
        return str(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    return written
