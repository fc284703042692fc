"""A stand-in for a SQL warehouse: what Databricks' SQL connector asks for, Thrift over HTTPS, answered by a function.

It speaks the protocol with the code that the connector itself has for it, and knows of it only what reading needs:
sessions, statements with named parameters, results as Arrow in pages, errors, tokens.
"""

import json
import re
import ssl
import threading
import uuid
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow as pa
from databricks.sql.thrift_api.TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from tests.kafka.certificates import Authority

HTTP_PATH = "/sql/1.0/warehouses/abc123"
TOKEN, CLIENT_ID, CLIENT_SECRET = "dapi-very-secret", "f00-ba4", "oauth-very-secret"
PAGE = 3
"""Rows of a page; a real warehouse sends thousands."""


class StatementError(Exception):
    """What the warehouse says of a statement that it cannot run, such as [TABLE_OR_VIEW_NOT_FOUND]."""


class Warehouse:
    """Answers statements by ``run(statement, parameters) -> pyarrow.Table``; keeps what it was asked."""

    def __init__(self, run):
        self.run = run
        self.statements = []
        self.open_sessions = 0
        self.sessions = 0
        self.address = ""
        self.tokens = {TOKEN}
        self.waiting = 0
        """Requests that are refused as by a warehouse that still starts."""
        self._results = {}

    # The methods of the protocol that the connector calls.
    def OpenSession(self, request):  # noqa: N802
        self.open_sessions += 1
        self.sessions += 1
        return ttypes.TOpenSessionResp(
            status=OK,
            serverProtocolVersion=ttypes.TProtocolVersion.SPARK_CLI_SERVICE_PROTOCOL_V8,
            sessionHandle=ttypes.TSessionHandle(sessionId=_identifier()),
            canUseMultipleCatalogs=True,
        )

    def CloseSession(self, request):  # noqa: N802
        self.open_sessions -= 1
        return ttypes.TCloseSessionResp(status=OK)

    def ExecuteStatement(self, request):  # noqa: N802
        parameters = {each.name: each.value.stringValue for each in request.parameters or ()}
        self.statements.append((request.statement, parameters))
        identifier = _identifier()
        handle = ttypes.TOperationHandle(
            operationId=identifier, operationType=ttypes.TOperationType.EXECUTE_STATEMENT, hasResultSet=True
        )
        try:
            table = self.run(request.statement, parameters)
        except StatementError as error:
            state = ttypes.TGetOperationStatusResp(
                status=OK, operationState=ttypes.TOperationState.ERROR_STATE, displayMessage=str(error)
            )
            return ttypes.TExecuteStatementResp(OK, handle, ttypes.TSparkDirectResults(operationStatus=state))
        self._results[identifier.guid] = (_metadata(table), _pages(table))
        direct = ttypes.TSparkDirectResults(
            operationStatus=ttypes.TGetOperationStatusResp(
                status=OK, operationState=ttypes.TOperationState.FINISHED_STATE
            ),
            resultSetMetadata=_metadata(table),
            resultSet=self._page(identifier.guid),
        )
        return ttypes.TExecuteStatementResp(status=OK, operationHandle=handle, directResults=direct)

    def FetchResults(self, request):  # noqa: N802
        return self._page(request.operationHandle.operationId.guid)

    def CloseOperation(self, request):  # noqa: N802
        return ttypes.TCloseOperationResp(status=OK)

    def _page(self, guid):
        metadata, (page, *rest) = self._results[guid]
        self._results[guid] = (metadata, rest)
        batches = [ttypes.TSparkArrowBatch(page.serialize().to_pybytes(), page.num_rows)]
        return ttypes.TFetchResultsResp(
            status=OK,
            hasMoreRows=bool(rest),
            results=ttypes.TRowSet(startRowOffset=0, rows=[], arrowBatches=batches),
            resultSetMetadata=metadata,
        )


OK = ttypes.TStatus(statusCode=ttypes.TStatusCode.SUCCESS_STATUS)
_TYPES = {
    "string": "STRING_TYPE",
    "int32": "INT_TYPE",
    "int64": "BIGINT_TYPE",
    "double": "DOUBLE_TYPE",
    "bool": "BOOLEAN_TYPE",
    "null": "NULL_TYPE",
}


def _identifier():
    return ttypes.THandleIdentifier(guid=uuid.uuid4().bytes, secret=uuid.uuid4().bytes)


def _pages(table):
    found = [page for page in table.combine_chunks().to_batches(max_chunksize=PAGE) if page.num_rows]
    return found or [pa.RecordBatch.from_pylist([], schema=table.schema)]


def _metadata(table):
    columns = [
        ttypes.TColumnDesc(columnName=field.name, position=number, typeDesc=_type(field))
        for number, field in enumerate(table.schema, 1)
    ]
    return ttypes.TGetResultSetMetadataResp(
        status=OK,
        schema=ttypes.TTableSchema(columns=columns),
        resultFormat=ttypes.TSparkRowSetType.ARROW_BASED_SET,
        lz4Compressed=False,
        arrowSchema=table.schema.serialize().to_pybytes(),
    )


def _type(field):
    name = _TYPES.get(str(field.type), "MAP_TYPE" if pa.types.is_map(field.type) else "ARRAY_TYPE")
    entry = ttypes.TPrimitiveTypeEntry(type=getattr(ttypes.TTypeId, name))
    return ttypes.TTypeDesc(types=[ttypes.TTypeEntry(primitiveEntry=entry)])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        warehouse = self.server.warehouse
        if self.path == "/oidc/v1/token":
            self._grant(body, warehouse)
        elif self.headers["Authorization"] not in {f"Bearer {token}" for token in warehouse.tokens}:
            self._answer(403, b"", {"x-databricks-reason-phrase": "Invalid access token."})
        elif warehouse.waiting:
            warehouse.waiting -= 1
            self._answer(503, b"", {"Retry-After": "1"})
        elif self.path != HTTP_PATH:
            self._answer(404, b"", {"x-thriftserver-error-message": "no such warehouse"})
        else:
            out = TMemoryBuffer()
            TCLIService.Processor(warehouse).process(TBinaryProtocol(TMemoryBuffer(body)), TBinaryProtocol(out))
            self._answer(200, out.getvalue(), {"Content-Type": "application/x-thrift"})

    def _grant(self, body, warehouse):
        is_known = self.headers["Authorization"] == _basic(CLIENT_ID, CLIENT_SECRET)
        if not is_known or body != b"grant_type=client_credentials&scope=all-apis":
            self._answer(401, b"{}", {})
            return
        granted = f"granted-{len(warehouse.tokens)}"
        warehouse.tokens.add(granted)
        self._answer(200, json.dumps({"access_token": granted, "expires_in": 3600}).encode(), {})

    def _answer(self, status, body, headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def _basic(user, password):
    import base64

    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@contextmanager
def serving(warehouse, folder, monkeypatch):
    """Let a warehouse answer at 127.0.0.1, with a certificate that this process trusts."""
    authority = Authority(folder, "authority")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("warehouse"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.warehouse = warehouse
    warehouse.address = f"127.0.0.1:{server.server_port}"
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.setenv(name, str(authority.certificate))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield warehouse
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


_NAME = re.compile(r"`((?:[^`]|``)+)`")


def names_in(statement):
    """Return the names between backticks in a statement."""
    return [name.replace("``", "`") for name in _NAME.findall(statement)]
