"""What can be seen of a vLLM from outside: of a stand-in as of the real one."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from observed_engines import PORT, Answer, Asking, Engines, Running, ask, ready, until

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
HELLO = {"role": "user", "content": "hello"}
# Tokens that an engine of no kind has answered before a test is over.
ENDLESS = 50_000
# Metrics that endpoint pickers read, and those by which users of a dashboard see what an engine did.
READ = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "vllm:cache_config_info",
    "vllm:lora_requests_info",
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
    "vllm:request_success_total",
)
_WORDS = (
    *("Qwen/Qwen3-8B", "--served-model-name", "chat", "qwen", f"--port={PORT}", "--max-model-len=60000"),
    *("--max-num-seqs=4", "--enable-lora", "--lora-modules", "sql=org/sql-lora", "--shutdown-timeout=60"),
)


@dataclass
class Bench:
    """Engines to look at, and one that serves and stays."""

    engines: Engines

    @cached_property
    def serving(self) -> Running:
        env = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}
        return ready(self.engines.start(*_WORDS, env=env))

    @cached_property
    def short(self) -> Running:
        """One whose prompts and answers are at most 200 tokens."""
        return self.another("--max-model-len=200")

    def another(self, *words: str) -> Running:
        """An engine that serves, and may be ended."""
        return ready(self.engines.start("Qwen/Qwen3-8B", f"--port={PORT}", *words))

    def refused(self, *words: str) -> tuple[int, str]:
        """Exit code and last line of an engine that refuses its words."""
        engine = self.engines.start("Qwen/Qwen3-8B", *words)
        code = engine.ended()
        return code, until("it says why", engine.log)[-1]


def asked(tokens: int, **more: Any) -> dict[str, Any]:
    """A chat whose answer has so many tokens."""
    return {"model": "chat", "messages": [HELLO], "max_tokens": tokens, "ignore_eos": True, **more}


def in_metrics(engine: Running, name: str, *, label: str = "") -> float:
    """The sum of the series of a metric whose labels have this text."""
    lines = ask(engine, "/metrics").body.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name + "{") and label in line)


def health(bench: Bench) -> Any:
    answer = ask(bench.serving, "/health")
    return answer.status, answer.body


def models(bench: Bench) -> Any:
    listed = ask(bench.serving, "/v1/models").json
    rows = [
        (one["id"], one["root"], one["parent"], one["max_model_len"], one["owned_by"])
        for one in listed["data"]
    ]
    return listed["object"], *rows, sorted(listed["data"][0])


def version(bench: Bench) -> Any:
    answer = ask(bench.serving, "/version")
    return answer.status, answer.body


def chat(bench: Bench) -> Any:
    answer = ask(bench.serving, CHAT, asked(5))
    [choice] = answer.json["choices"]
    message, usage = choice["message"], answer.json["usage"]
    said = (answer.status, answer.json["object"], answer.json["model"], choice["finish_reason"])
    return (
        *said,
        message["role"],
        usage["completion_tokens"],
        re.sub("[0-9a-f]{16,}", "ID", answer.json["id"]),
    )


def keys_of_a_chat(bench: Bench) -> Any:
    body = ask(bench.serving, CHAT, asked(5)).json
    [choice] = body["choices"]
    return [sorted(part) for part in (body, choice, choice["message"], body["usage"])]


def headers(bench: Bench) -> Any:
    plain, stream = (ask(bench.serving, CHAT, asked(5, stream=on)).headers for on in (False, True))
    return [sorted((*found, found["content-type"])) for found in (plain, stream)]


def stream(bench: Bench) -> Any:
    return _kinds(ask(bench.serving, CHAT, asked(20, stream=True)))


def stream_with_usage(bench: Bench) -> Any:
    body = asked(3, stream=True, stream_options={"include_usage": True})
    *_, counts, done = ask(bench.serving, CHAT, body).events
    return counts["choices"], counts["usage"]["completion_tokens"], done


def stream_of_text(bench: Bench) -> Any:
    body = {"model": "chat", "prompt": "hello", "max_tokens": 20, "ignore_eos": True, "stream": True}
    return _kinds(ask(bench.serving, TEXT, body))


def _kinds(answer: Answer) -> list[Any]:
    """The events of a stream, of which several alike are one: how many tokens come with each is chance."""
    return [kind for kind, _ in groupby(_event(one) for one in answer.events)]


def _event(event: Any) -> Any:
    """What an event has, whatever it says. Several tokens may come with one event."""
    if isinstance(event, str):
        return event
    [choice] = event["choices"]
    piece = sorted(choice.get("delta", {"text": choice.get("text")}))
    return event["object"], ", ".join(piece), choice["finish_reason"]


def other_model(bench: Bench) -> Any:
    return _refusal(ask(bench.serving, CHAT, asked(5, model="other")))


def no_json(bench: Bench) -> Any:
    return _refusal(ask(bench.serving, CHAT, "{model"))


def no_messages(bench: Bench) -> Any:
    return _refusal(ask(bench.serving, CHAT, {"model": "chat"}))


def no_tokens(bench: Bench) -> Any:
    return _refusal(ask(bench.serving, CHAT, asked(0)))


def too_long(bench: Bench) -> Any:
    return _refusal(ask(bench.short, TEXT, {"prompt": "a " * 300, "max_tokens": 1}))


def more_than_the_longest(bench: Bench) -> Any:
    return _refusal(ask(bench.short, TEXT, {"prompt": "hello", "max_tokens": 201}))


def more_than_fits(bench: Bench) -> Any:
    body = {"prompt": "hello", "max_tokens": 200, "ignore_eos": True}
    answer = ask(bench.short, TEXT, body)
    return answer.status, answer.json["usage"]["total_tokens"], answer.json["choices"][0]["finish_reason"]


def _refusal(answer: Answer) -> Any:
    error = answer.json["error"]
    return answer.status, error["type"], error["code"], error["param"], error["message"]


def no_path(bench: Bench) -> Any:
    missing, wrong = ask(bench.serving, "/v1/nothing", {}), ask(bench.serving, CHAT)
    return missing.status, missing.body, wrong.status, wrong.body


def without_model(bench: Bench) -> Any:
    answer = ask(bench.serving, CHAT, {"messages": [HELLO], "max_tokens": 1})
    return answer.status, answer.json["model"]


def adapter(bench: Bench) -> Any:
    answer = ask(bench.serving, CHAT, asked(5, model="sql"))
    return answer.status, answer.json["model"], answer.json["usage"]["completion_tokens"]


def adapter_while_it_runs(bench: Bench) -> Any:
    new = {"lora_name": "new", "lora_path": "org/sql-lora"}
    told = [
        ask(bench.serving, "/v1/load_lora_adapter", new),
        ask(bench.serving, "/v1/load_lora_adapter", new),
        ask(bench.serving, CHAT, asked(1, model="new")),
        ask(bench.serving, "/v1/unload_lora_adapter", {"lora_name": "new"}),
        ask(bench.serving, "/v1/unload_lora_adapter", {"lora_name": "new"}),
    ]
    return [(one.status, "JSON" if one.body.startswith("{") else one.body) for one in told]


def several_answers(bench: Bench) -> Any:
    answer = ask(bench.serving, CHAT, asked(3, n=2))
    return answer.status, len(answer.json["choices"]), answer.json["usage"]["completion_tokens"]


def other_tasks(bench: Bench) -> Any:
    body = {"model": "chat", "input": "hello", "prompt": "hello", "query": "a", "documents": ["b"]}
    paths = ("/v1/embeddings", "/v1/score", "/v1/rerank", "/tokenize", "/v1/responses")
    return {path: ask(bench.serving, path, body).status for path in paths}


def metrics(bench: Bench) -> Any:
    ask(bench.serving, CHAT, asked(1))
    answer = ask(bench.serving, "/metrics")
    labels: dict[str, set[str]] = {name: set() for name in READ}
    for name, rest in re.findall(r"^([\w:]+)\{(.*)\}", answer.body, re.MULTILINE):
        if name in READ:
            labels[name] |= {*re.findall(r'(\w+)="', rest)}
    # Of the information about the cache, what pickers read.
    labels["vllm:cache_config_info"] &= {"block_size", "num_gpu_blocks", "engine"}
    return answer.headers["content-type"], {name: sorted(found) for name, found in labels.items()}


def counted_tokens(bench: Bench) -> Any:
    engine = bench.serving
    names = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:request_success_total")
    before = [in_metrics(engine, name) for name in names]
    prompts = sum(ask(engine, CHAT, asked(7)).json["usage"]["prompt_tokens"] for _ in range(3))
    after = [in_metrics(engine, name) for name in names]
    prompt, generated, finished = (now - was for now, was in zip(after, before, strict=True))
    return prompt == prompts, generated, finished


def queue(bench: Bench) -> Any:
    engine = bench.serving
    before = in_metrics(engine, READ[2])
    going = Asking(engine, CHAT, [asked(600, stream=True) for _ in range(6)])
    until("four run and two wait", lambda: _load(engine) == (4, 2))
    fuller = in_metrics(engine, READ[2]) > before
    statuses = [answer.status for answer in going.all()]
    until("none is left", lambda: _load(engine) == (0, 0))
    return fuller, statuses


def _load(engine: Running) -> tuple[float, float]:
    """The requests that run, and those that wait."""
    return in_metrics(engine, READ[0]), in_metrics(engine, READ[1])


def client_that_goes(bench: Bench) -> Any:
    answer = ask(bench.serving, CHAT, asked(ENDLESS, stream=False), seconds=1)
    until("its place is free", lambda: in_metrics(bench.serving, READ[0]) == 0)
    return answer.status


def times(bench: Bench) -> Any:
    """Answers that are twenty times as long take longer, and four at once less than one after the other."""

    def seconds(tokens: int, count: int = 1) -> float:
        began = time.monotonic()
        Asking(bench.serving, CHAT, [asked(tokens) for _ in range(count)]).all()
        return time.monotonic() - began

    short, long, four = min(seconds(50) for _ in range(3)), seconds(1000), seconds(1000, 4)
    return {"twenty times as long": long > 2 * short, "four at once": four < 3 * long}


def refused_flag(bench: Bench) -> Any:
    return bench.refused("--bogus=1")


def refused_value(bench: Bench) -> Any:
    return bench.refused("--dtype=bf16")


def ends_without_requests(bench: Bench) -> Any:
    engine = bench.another("--shutdown-timeout=60")
    engine.terminate()
    return engine.ended(), ask(engine, "/health").status


def drains(bench: Bench) -> Any:
    engine = bench.another("--shutdown-timeout=240")
    # The one ends within the time; it is looked at meanwhile.
    body = asked(1500) | {"model": "Qwen/Qwen3-8B"}
    going = Asking(engine, CHAT, [body, body | {"stream": True}])
    until("both run", lambda: in_metrics(engine, READ[0]) == 2)
    engine.terminate()
    new = until("new ones are refused", lambda: _refused(ask(engine, CHAT, body | {"max_tokens": 1})))
    engine.terminate()
    healthy = ask(engine, "/health").status
    plain, streamed = going.all()
    ends = plain.json["choices"][0]["finish_reason"], streamed.events[-1]
    return new, healthy, plain.status, streamed.status, *ends, engine.ended()


def _refused(answer: Answer) -> Any:
    return (answer.status, answer.json["error"]["message"]) if answer.status >= 400 else None


def killed(bench: Bench) -> Any:
    engine = bench.another()
    going = Asking(engine, CHAT, [asked(ENDLESS, model="Qwen/Qwen3-8B")])
    until("it runs", lambda: in_metrics(engine, READ[0]) == 1)
    engine.kill()
    return engine.ended(), going.all()[0].status


OBSERVATIONS: dict[str, Callable[[Bench], Any]] = {
    made.__name__: made
    for made in (
        *(health, models, version, chat, keys_of_a_chat, headers, stream, stream_with_usage, stream_of_text),
        *(other_model, no_json, no_messages, no_tokens, too_long, more_than_the_longest, more_than_fits),
        *(no_path, without_model),
        *(adapter, adapter_while_it_runs, several_answers, other_tasks),
        *(metrics, counted_tokens, queue, client_that_goes, times),
        *(refused_flag, refused_value, ends_without_requests, drains, killed),
    )
}


def plain(value: Any) -> Any:
    """The value as YAML has it."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(one) for one in value]
    return value
