"""What Google's API answers instead of doing it, in the words the provider passes on."""


class ApiError(Exception):
    """`str()` of it is what the real provider prints: "googleapi: Error 400: ..., badRequest"."""

    def __init__(self, code: int, message: str, reason: str) -> None:
        super().__init__(f"googleapi: Error {code}: {message}, {reason}")
        self.code = code
        self.message = message


class OperationError(Exception):
    """The object exists, but its operation failed: the reason why, for the object's own status too."""


def bad(message: str) -> ApiError:
    return ApiError(400, message, "badRequest")


def missing(what: str) -> ApiError:
    return ApiError(404, f"The resource '{what}' was not found", "notFound")


def exists(what: str) -> ApiError:
    return ApiError(409, f"The resource '{what}' already exists", "alreadyExists")


def in_use(what: str, by: str) -> ApiError:
    message = f"The resource '{what}' is already being used by '{by}'"
    return ApiError(400, message, "resourceInUseByAnotherResource")
