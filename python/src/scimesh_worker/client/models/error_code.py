from typing import Literal

ErrorCode = Literal[
    "conflict",
    "forbidden",
    "insufficient_storage",
    "internal",
    "invalid_request",
    "lease_lost",
    "method_not_allowed",
    "not_found",
    "range_not_satisfiable",
    "timeout",
    "too_large",
    "too_many_requests",
    "unauthorized",
    "unavailable",
    "unsupported_media_type",
]

ERROR_CODE_VALUES: set[ErrorCode] = {
    "conflict",
    "forbidden",
    "insufficient_storage",
    "internal",
    "invalid_request",
    "lease_lost",
    "method_not_allowed",
    "not_found",
    "range_not_satisfiable",
    "timeout",
    "too_large",
    "too_many_requests",
    "unauthorized",
    "unavailable",
    "unsupported_media_type",
}


def check_error_code(value: str) -> ErrorCode:
    if value in ERROR_CODE_VALUES:
        return value
    raise TypeError(
        f"Unexpected value {value!r}. Expected one of {ERROR_CODE_VALUES!r}"
    )
