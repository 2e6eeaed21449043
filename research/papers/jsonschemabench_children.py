"""An engine in a process of its own, which is stopped if it takes too much time or memory, and started again."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lab.paths import tokenizer_file

#: An engine that takes more, in MiB, is stopped.
MEMORY_LIMIT = 8192
_WORKER = Path(__file__).with_name("jsonschemabench_worker.py")
_POLL_SECONDS = 0.05
_LOAD_SECONDS = 300


class Child:
    """An engine's process; it starts when it is first asked. `seconds` are of processor time, for each schema."""

    def __init__(self, engine: str, seconds: float) -> None:
        self.engine = engine
        self.seconds = seconds
        self.process: subprocess.Popen[bytes] | None = None
        self.loaded = 0.0

    def ask(self, record: dict[str, Any]) -> dict[str, Any]:
        """The worker's answer to a schema; `timed out` or `crashed` with the reason if it was stopped or died."""
        process = self.process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(record).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # `_answer` finds out how it ended.
        answer = self._answer(process, self.seconds)
        if "timed out" in answer or "crashed" in answer:
            self.stop()
        return answer

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(_WORKER), self.engine, str(tokenizer_file("llama3_1"))]
        one_thread = dict.fromkeys(("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | one_thread | {"TOKENIZERS_PARALLELISM": "false"},
        )
        answer = self._answer(self.process, _LOAD_SECONDS)
        if "loaded" not in answer:
            raise RuntimeError(f"{self.engine} does not start: {answer}")
        self.loaded = answer["loaded"]
        return self.process

    def _answer(self, process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
        """The next line of a worker."""
        assert process.stdout is not None
        end = self._processor_seconds(process) + seconds
        # A process that waits for ever takes no processor time.
        last = time.monotonic() + 20 * seconds
        received = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while self._processor_seconds(process) < end and time.monotonic() < last:
                if selector.select(_POLL_SECONDS):
                    part = os.read(process.stdout.fileno(), 1 << 20)
                    if not part:
                        return {"crashed": f"the process ended with status {process.wait()}"}
                    received += part
                    if received.endswith(b"\n"):
                        answer: dict[str, Any] = json.loads(received)
                        return answer
                elif self._memory(process) > MEMORY_LIMIT:
                    return {"crashed": f"out of memory: more than {MEMORY_LIMIT} MiB", "memory": MEMORY_LIMIT}
        return {
            "timed out": f"more than {seconds:.0f} s of processor time",
            "memory": max(0.0, self._memory(process) - self.loaded),
        }

    @staticmethod
    def _processor_seconds(process: subprocess.Popen[bytes]) -> float:
        """The processor time that a process has taken so far."""
        try:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _memory(process: subprocess.Popen[bytes]) -> float:
        """Resident memory in MiB."""
        try:
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
        except (FileNotFoundError, IndexError):
            return 0.0
        return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
