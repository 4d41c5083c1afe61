"""The command line of an endpoint picker with ports of its own.

It listens on all addresses, so every picker of this machine needs other ports than its manifest says.
"""

from collections.abc import Mapping, Sequence

# https://github.com/kubernetes-sigs/gateway-api-inference-extension/blob/v1.5.0/pkg/epp/server/options.go
PORT_FLAGS: Mapping[str, int] = {"grpc-port": 9002, "grpc-health-port": 9003, "metrics-port": 9090}


def with_private_ports(args: list[str], private: Sequence[int]) -> tuple[list[str], dict[int, int]]:
    """The arguments, and the ports they said -> those it gets, one of `private` for each of PORT_FLAGS.

    All else stays, also what is wrong.
    """
    said = {**PORT_FLAGS, **_said(args)}
    chosen = dict(zip(said, private, strict=True))
    made, skip = [], False
    for word in args:
        flag, equals, value = _split(word)
        if skip:
            skip = False
        elif flag in PORT_FLAGS and (equals or flag in said):
            number = value if equals else str(said[flag])
            made.append(f"--{flag}={chosen[flag]}" if number.isdecimal() else word)
            skip = not equals
        else:
            made.append(word)
    present = {_split(word)[0] for word in args}
    made += [f"--{flag}={port}" for flag, port in chosen.items() if flag not in present]
    return made, {port: chosen[flag] for flag, port in said.items()}


def _said(args: list[str]) -> dict[str, int]:
    """Ports by flag; of several the last counts, and what is no number the picker itself complains about."""
    said = {}
    for word, following in zip(args, [*args[1:], ""], strict=True):
        flag, equals, value = _split(word)
        number = value if equals else following
        if flag in PORT_FLAGS and number.isdecimal():
            said[flag] = int(number)
    return said


def _split(word: str) -> tuple[str, str, str]:
    flag, equals, value = word.partition("=")
    return (flag.removeprefix("--"), equals, value) if word.startswith("--") else ("", "", "")
