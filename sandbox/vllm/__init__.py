"""vLLM itself, on processors, for stacks that ask for it: `inferfleet sandbox up --engine vllm`.

Here belongs how it is installed, held in memory and forked. Which pods get one is decided in `agent/`. What
runs in vLLM's own Python is in `own_python`, and imports nothing of the rest.
"""
