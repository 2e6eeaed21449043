"""A server in a process of its own."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path


class ServerProcess:
    """Up when the address `health` answers, and ended by its own pid: `with ServerProcess(…) as server`. Who inherits from it sets `command`."""

    health = "/health"

    def __init__(self, log, seconds, environment):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log, self.seconds, self.environment = log, seconds, environment
        self.command = []

    def __enter__(self):
        with self.log.open("w") as log:
            environment = {**os.environ, **self.environment}
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=environment)
        start = time.monotonic()
        while time.monotonic() < start + self.seconds and self.process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}{self.health}", timeout=30):
                print(f"\n{self.log.name}: up after {time.monotonic() - start:.0f} s")
                return self
            time.sleep(1)
        self.__exit__()
        raise RuntimeError(f"the server did not start: see {self.log}\n{self.log.read_text(errors='replace')[-3000:]}")

    def __exit__(self, *_):
        # Its first process ends the others.
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def memory_of(pid):
    """Resident memory of a process, in MB."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1000


@contextlib.contextmanager
def load(n):
    """So many processes that compute."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for each in burners:
            each.kill()
            each.wait()
