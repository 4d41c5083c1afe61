"""What is changed in the source of programs that have no option for what the sandbox needs of them."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Edit:
    """A change of one source file of a module: `old`, which is in it exactly once, becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Edited:
    """A module that is built from an edited copy of its source, which is checked against go.sum before.

    The copy lacks the files and folders `without`.
    """

    module: str
    edits: tuple[Edit, ...]
    without: tuple[str, ...] = field(default=(), repr=False)


# Endpoint pickers have flags for their ports and none for their address, and listen on all addresses. From
# the copy they take the address from this variable.
LISTEN_ADDRESS = "SANDBOX_LISTEN_ADDRESS"
PICKER_MODULE = "sigs.k8s.io/gateway-api-inference-extension"
_AT_ADDRESS = f'fmt.Sprintf("%s:%d", os.Getenv("{LISTEN_ADDRESS}"), '
PICKER = Edited(
    PICKER_MODULE,
    (
        Edit("internal/runnable/grpc.go", '\t"net"\n', '\t"net"\n\t"os"\n'),
        Edit("internal/runnable/grpc.go", 'fmt.Sprintf(":%d", ', _AT_ADDRESS),
        Edit("cmd/epp/runner/runner.go", 'fmt.Sprintf(":%d", ', _AT_ADDRESS),
    ),
)

LLM_D_MODULE = "github.com/llm-d/llm-d-inference-scheduler"
_PLUGINS = "pkg/plugins"
_TOKENIZED = f'\t"{LLM_D_MODULE}/{_PLUGINS}/preparedata"\n'
_OWN_ADDRESS = f'os.Getenv("{LISTEN_ADDRESS}") + ":"'
# The pods of the sandbox share one network, so a sidecar finds its engine at the address of their pod.
_SIDECAR_EDITS = (
    Edit("pkg/sidecar/proxy/proxy_helpers.go", '\t"net/url"\n', '\t"net/url"\n\t"os"\n'),
    Edit("pkg/sidecar/proxy/proxy_helpers.go", '":"+s.config.Port', f"{_OWN_ADDRESS}+s.config.Port"),
    Edit("pkg/sidecar/proxy/options.go", '"://localhost:" + opts', f'"://" + {_OWN_ADDRESS} + opts'),
    *(
        Edit(
            "pkg/sidecar/proxy/data_parallel.go",
            f'{before} err := url.Parse(decoderScheme + "://localhost:" + decoderPort)',
            f'{before} err := url.Parse(decoderScheme + "://" + {_OWN_ADDRESS} + decoderPort)',
        )
        for before in (
            "hostPort := net.JoinHostPort(podIP, rankPort)\n\t\tdecoderURL,",
            "decoderPort := strconv.Itoa(baseDecoderPort + idx + 1)\n\t\tdecoderURL,",
        )
    ),
)
# The module proxy does not offer github.com/llm-d/llm-d-kv-cache 0.7.1. Two of the picker's plugins need it:
# the tokenizer, and the scorer that reads the events of engines' caches. Its other plugins are all there.
_WITHOUT_KV_CACHE = (
    Edit(f"{_PLUGINS}/register.go", _TOKENIZED, ""),
    *(
        Edit(f"{_PLUGINS}/register.go", f"\tplugin.Register({name}PluginType, {name}PluginFactory)\n", "")
        for name in ("scorer.PrecisePrefixCache", "preparedata.Tokenizer")
    ),
    Edit(f"{_PLUGINS}/multi/context_length_aware.go", _TOKENIZED, ""),
    Edit(
        f"{_PLUGINS}/multi/context_length_aware.go",
        """\tif cycleState != nil {
\t\tif tp, err := scheduling.ReadCycleStateKey[*preparedata.TokenizedPromptState](
\t\t\tcycleState, preparedata.TokenizedPromptStateKey); err == nil && len(tp.TokenIDs) > 0 {
\t\t\treturn len(tp.TokenIDs), true
\t\t}
\t}
""",
        "",
    ),
)
LLM_D_SOURCE = Edited(
    LLM_D_MODULE,
    _SIDECAR_EDITS + _WITHOUT_KV_CACHE,
    without=(f"{_PLUGINS}/preparedata", f"{_PLUGINS}/scorer/precise_prefix_cache.go"),
)

# The server that conformance suites send their requests to.
SUITE_MODULE = "sigs.k8s.io/gateway-api/conformance"
_ECHO, _GRPC_ECHO = "echo-basic/echo-basic.go", "echo-basic/grpc/grpc.go"
_AT_OWN_PORT = f'fmt.Sprintf("%s:%s", os.Getenv("{LISTEN_ADDRESS}"), '
ECHO_SERVER = Edited(
    SUITE_MODULE,
    tuple(
        Edit(_ECHO, f'fmt.Sprintf(":%s", {port})', f"{_AT_OWN_PORT}{port})")
        for port in ("httpPort", "httpsPort", "h2cPort")
    )
    + tuple(
        Edit(_GRPC_ECHO, f'fmt.Sprintf("0.0.0.0:%d", config.{port})', f"{_AT_ADDRESS}config.{port})")
        for port in ("HTTPPort", "HTTPSPort")
    )
    + tuple(
        Edit("echo-basic/tcpserver/tcpserver.go", f'fmt.Sprintf(":%s", s.{port})', f"{_AT_OWN_PORT}s.{port})")
        for port in ("tcpPort", "tlsPort")
    ),
    without=("reports",),
)
