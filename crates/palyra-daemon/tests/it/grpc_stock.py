"""The gRPC of Python, talking to a daemon of which it knows nothing but the address and a token: all else
is told by server reflection.

Usage: grpc_stock.py ADDRESS TOKEN
"""

import collections
import json
import queue
import sys

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

ADDRESS, TOKEN = sys.argv[1], sys.argv[2]
SERVICE = "palyra.gateway.v1.GatewayService"
LIMIT = 60

Details = collections.namedtuple(
    "Details", ("method", "timeout", "metadata", "credentials", "wait_for_ready", "compression")
)


class Bearer(
    grpc.UnaryUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Sends the token with each call, also with those of the reflection."""

    def _with_token(self, details):
        metadata = [*(details.metadata or []), ("authorization", f"Bearer {TOKEN}")]
        return Details(details.method, details.timeout or LIMIT, metadata, details.credentials, None, None)

    def intercept_unary_unary(self, call, details, request):
        return call(self._with_token(details), request)

    def intercept_stream_stream(self, call, details, requests):
        return call(self._with_token(details), requests)


channel = grpc.intercept_channel(grpc.insecure_channel(ADDRESS), Bearer())
known = ProtoReflectionDescriptorDatabase(channel)
services = sorted(known.get_services())
assert SERVICE in services, services
assert "grpc.health.v1.Health" in services, services
pool = descriptor_pool.DescriptorPool(known)
methods = pool.FindServiceByName(SERVICE).methods_by_name


def message(descriptor):
    return message_factory.GetMessageClass(descriptor)


def prepared(name):
    """A call, made of what the daemon says of it."""
    method = methods[name]
    make = channel.stream_stream if method.client_streaming else channel.unary_unary
    request, response = message(method.input_type), message(method.output_type)
    path = f"/{SERVICE}/{name}"
    return request, make(path, request.SerializeToString, response.FromString)


def call(name, **fields):
    request, ask = prepared(name)
    return ask(request(**fields))


def refused(name, **fields):
    """Why a call is refused: the code of gRPC, the stable code, and the whole error."""
    try:
        answer = call(name, **fields)
    except grpc.RpcError as error:
        trailers = dict(error.trailing_metadata())
        return error.code(), trailers["palyra-code"], json.loads(trailers["palyra-error-bin"])
    raise AssertionError(f"{name} is answered: {answer}")


def entries_until(told, kind):
    for response in told:
        if response.WhichOneof("event") == "entry":
            yield response.entry
            if response.entry.kind == kind:
                return
    raise AssertionError(f"the stream ended without {kind}")


def check_unary():
    health = call("GetHealth")
    assert health.ready and health.node, health
    assert len(call("ListSessions").sessions) == 0
    code, stable, error = refused("GetRun", run_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert (code, stable) == (grpc.StatusCode.NOT_FOUND, "common/not_found"), error
    assert error["recovery_hint"] and error["retryable"] is False, error
    code, stable, _ = refused("GetRun", run_id="x")
    assert (code, stable) == (grpc.StatusCode.INVALID_ARGUMENT, "common/invalid_input")


def check_stream():
    request, follow = prepared("RunStream")
    said = queue.SimpleQueue()
    told = follow(iter(said.get, None))
    said.put(request(request_id="1", start={"text": "write notes.txt: buy milk"}))
    attached = next(told).attached
    assert attached.run_id and attached.session_id, attached
    seen = list(entries_until(told, "approval.requested"))
    approval = json.loads(seen[-1].payload_json)["approval"]
    waiting = call("ListApprovals", state="pending").approvals
    assert [found.id for found in waiting] == [approval], waiting
    said.put(request(request_id="2", decide={"approval_id": approval, "verdict": "APPROVAL_VERDICT_APPROVE"}))
    seen += entries_until(told, "run.finished")
    said.put(None)
    rest = [response.WhichOneof("event") for response in told]
    assert rest[-1] == "over", rest
    numbers = [entry.seq for entry in seen]
    assert numbers == sorted(set(numbers)), numbers
    assert call("GetRun", run_id=attached.run_id).run.phase == "completed"

    attach = {"run_id": attached.run_id, "after_seq": seen[1].seq}
    again = [
        response.entry.seq
        for response in follow(iter([request(attach=attach)]))
        if response.WhichOneof("event") == "entry"
    ]
    assert again == [seq for seq in numbers if seq > seen[1].seq and seq in again], (again, numbers)
    assert again[-1] == numbers[-1], (again, numbers)
    sessions = call("ListSessions", page_size=1).sessions
    assert [session.id for session in sessions] == [attached.session_id], sessions


check_unary()
check_stream()
print("content")
