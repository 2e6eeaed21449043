"""A client of MCP over standard input and output that asks a server for its list of tools, and no more.

A server is a stranger's program: it gets a folder of its own as home and working folder, a deadline, and a process
group that is killed at the end whatever it does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

#: The most bytes that a server may write.
MAX_OUTPUT = 64 << 20


class Failed(Exception):
    """The server could not be installed, did not start, or did not answer."""


def list_tools(command: list[str], folder: Path, env: dict[str, str], seconds: float) -> list[dict[str, Any]]:
    """The tools that the server of this command lists.

    Raises Failed if it ends, says no, or has not listed all of them after this many seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "stderr.log"
    whole_env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(folder), "NO_COLOR": "1", **env}
    with log.open("wb") as errors:
        try:
            server = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env=whole_env,
                start_new_session=True,
            )
        except OSError as error:
            raise Failed(f"cannot start: {error}") from None
    try:
        return _Talk(server, time.monotonic() + seconds).tools()
    except (BrokenPipeError, Failed) as error:
        last = log.read_text(errors="replace").strip().splitlines()[-1:] or [""]
        raise Failed(f"{error or 'it ended'} {last[0][:200]}".strip()) from None
    finally:
        kill_group(server)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that leads its own group, with all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                pass


class _Talk:
    """One conversation with a server."""

    def __init__(self, server: subprocess.Popen[bytes], deadline: float) -> None:
        self._server, self._deadline = server, deadline
        self._read, self._buffer, self._next_id = 0, b"", 1

    def tools(self) -> list[dict[str, Any]]:
        client = {"name": "experiment", "version": "0"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})
        found: list[dict[str, Any]] = []
        cursor = None
        for _ in range(100):
            page = self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
            found += page.get("tools", [])
            cursor = page.get("nextCursor")
            if not cursor:
                return found
        raise Failed("it lists tools without end")

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        id, self._next_id = self._next_id, self._next_id + 1
        self._send({"id": id, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == id and "method" not in message:
                if not isinstance(message.get("result"), dict):
                    raise Failed(f"{method}: {json.dumps(message.get('error'))[:200]}")
                return dict(message["result"])
            if "method" in message and "id" in message:
                # What the server asks of its client.
                result = {"roots": []} if message["method"] == "roots/list" else {}
                self._send({"id": message["id"], "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._server.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        """The next message; lines that are none (some servers greet on standard output) are passed over."""
        assert self._server.stdout is not None
        file = self._server.stdout.fileno()
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                try:
                    message = json.loads(line)
                except ValueError:
                    continue
                if isinstance(message, dict):
                    return message
                continue
            left = self._deadline - time.monotonic()
            if left <= 0 or not select.select([file], [], [], left)[0]:
                raise Failed("it did not answer in time:")
            data = os.read(file, 1 << 20)
            self._read += len(data)
            if not data:
                raise Failed("it ended:")
            if self._read > MAX_OUTPUT:
                raise Failed("it wrote too much:")
            self._buffer += data
