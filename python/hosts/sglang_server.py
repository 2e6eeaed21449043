"""A server of SGLang with a small model, on the CPU, and its own protocol."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(os.environ["MASKWRIGHT_HOSTS_MODEL"])

# The wheel's kernels are for GPUs. With these, SGLang runs on torch (and imports one kernel of vLLM).
ON_THE_CPU = "--device cpu --attention-backend torch_native --sampling-backend pytorch --cuda-graph-backend-decode=disabled"
ON_THE_CPU += " --cuda-graph-backend-prefill=disabled --disable-overlap-schedule --dtype float32"
SMALL = "--max-total-tokens 8192 --max-running-requests 16 --context-length 512 --mem-fraction-static 0.2 --skip-server-warmup"


class Server:
    """`with Server(name, *options) as server`: ended by its own pid."""

    def __init__(self, name, *options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = FOLDER.parent / f"{name}.log"
        fixed = ["--model-path", str(FOLDER), "--host", "127.0.0.1", "--port", str(self.port)]
        self.command = [sys.executable, "-m", "sglang.launch_server", *fixed, *ON_THE_CPU.split(), *SMALL.split(), *options]

    def __enter__(self):
        with self.log.open("w") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "2"})
        start = time.monotonic()
        while time.monotonic() < start + 400 and self.process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=30):
                print(f"\n{self.log.name}: up after {time.monotonic() - start:.0f} s")
                return self
            time.sleep(2)
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

    def generate(self, params):
        """The answer to one request, or the error."""
        body = json.dumps({"text": "Describe Ada Lovelace.", "sampling_params": params}).encode()
        headers = {"content-type": "application/json"}
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}/generate", body, headers)
            with urllib.request.urlopen(request, timeout=500) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"status": error.code, "error": error.read().decode()}

    def generate_all(self, params):
        """The answers to many requests at once."""
        with ThreadPoolExecutor(len(params)) as pool:
            return list(pool.map(self.generate, params))
