"""What the engine is told: failures of a check, the difference an update makes, and what went wrong."""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.status_pb2 import Status
from pulumi.runtime.proto import errors_pb2  # noqa: F401  (registers the details' types)
from pulumi.runtime.proto import provider_pb2 as rpc

from sandbox.gcp.provider.check import Failure
from sandbox.gcp.provider.diff import Change
from sandbox.gcp.provider.wire import struct
from sandbox.gcp.rules.errors import ApiError, OperationError
from sandbox.gcp.store import Record
from sandbox.problem import SandboxProblem

_KINDS = {
    ("add", False): rpc.PropertyDiff.ADD,
    ("add", True): rpc.PropertyDiff.ADD_REPLACE,
    ("update", False): rpc.PropertyDiff.UPDATE,
    ("update", True): rpc.PropertyDiff.UPDATE_REPLACE,
    ("delete", False): rpc.PropertyDiff.DELETE,
    ("delete", True): rpc.PropertyDiff.DELETE_REPLACE,
}


def failures(found: Iterable[Failure]) -> list[Any]:
    """For a check's response."""
    return [rpc.CheckFailure(property=one.path, reason=one.reason) for one in found]


def difference(changes: Iterable[Change], *, same_name: bool) -> Any:
    """For a diff's response. Two things cannot have one name, so then the old one goes first."""
    found = list(changes)
    replaces = sorted({_top(one.path) for one in found if one.replace})
    return rpc.DiffResponse(
        changes=rpc.DiffResponse.DIFF_SOME if found else rpc.DiffResponse.DIFF_NONE,
        replaces=replaces,
        diffs=sorted({_top(one.path) for one in found}),
        deleteBeforeReplace=bool(replaces) and same_name,
        detailedDiff={one.path: rpc.PropertyDiff(kind=_KINDS[one.kind, one.replace]) for one in found},
        hasDetailedDiff=True,
    )


class ErrorReporting:
    """Within it, what the cloud refuses ends the call with its words, and no traceback is seen.

    An object that was left half-made is handed to the engine with the reason, so that it is in the state.
    """

    def __init__(
        self,
        context: grpc.ServicerContext,
        read: Callable[[str], Record | None],
        inputs: dict[str, Any] | None = None,
        id: str = "",  # noqa: A002
    ) -> None:
        self._context, self._read, self._inputs = context, read, inputs or {}
        self.id = id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OperationError) and self.id:
            self._half_made(str(error))
        elif isinstance(error, (ApiError, OperationError, SandboxProblem)):
            self._context.abort(grpc.StatusCode.UNKNOWN, str(error))

    def _half_made(self, why: str) -> None:
        record = self._read(self.id)
        detail = rpc.ErrorResourceInitFailed(
            id=self.id,
            properties=struct(record.state if record else {}),
            reasons=[why],
            inputs=struct(self._inputs),
        )
        packed = AnyMessage()
        packed.Pack(detail)
        code = grpc.StatusCode.UNKNOWN
        status = Status(code=code.value[0], message=why, details=[packed])
        self._context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        self._context.abort(code, why)


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]
