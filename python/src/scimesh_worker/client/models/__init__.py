"""Contains all the data models used in inputs/outputs"""

from .brought_workload import BroughtWorkload
from .brought_workload_parameters_schema import BroughtWorkloadParametersSchema
from .claim_request import ClaimRequest
from .claimed_input import ClaimedInput
from .claimed_task import ClaimedTask
from .error_body import ErrorBody
from .error_code import ErrorCode
from .error_detail import ErrorDetail
from .error_response import ErrorResponse
from .failure_request import FailureRequest
from .heartbeat_request import HeartbeatRequest
from .heartbeat_response import HeartbeatResponse
from .metrics import Metrics
from .parameters import Parameters
from .register_request import RegisterRequest
from .register_request_golden import RegisterRequestGolden
from .register_response import RegisterResponse
from .release_request import ReleaseRequest
from .result_manifest import ResultManifest
from .result_request import ResultRequest
from .task_phase import TaskPhase
from .task_state import TaskState

__all__ = (
    "BroughtWorkload",
    "BroughtWorkloadParametersSchema",
    "ClaimRequest",
    "ClaimedInput",
    "ClaimedTask",
    "ErrorBody",
    "ErrorCode",
    "ErrorDetail",
    "ErrorResponse",
    "FailureRequest",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "Metrics",
    "Parameters",
    "RegisterRequest",
    "RegisterRequestGolden",
    "RegisterResponse",
    "ReleaseRequest",
    "ResultManifest",
    "ResultRequest",
    "TaskPhase",
    "TaskState",
)
