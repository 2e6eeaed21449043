"""A server of SGLang with a small model, on the CPU, and its own protocol."""

import json
import os
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from server_process import ServerProcess

FOLDER = Path(os.environ["MASKWRIGHT_HOSTS_MODEL"])

# The wheel's kernels are for GPUs. With these, SGLang runs on torch (and imports one kernel of vLLM).
ON_THE_CPU = "--device cpu --attention-backend torch_native --sampling-backend pytorch --cuda-graph-backend-decode=disabled"
ON_THE_CPU += " --cuda-graph-backend-prefill=disabled --disable-overlap-schedule --dtype float32"
SMALL = "--max-total-tokens 8192 --max-running-requests 16 --context-length 512 --mem-fraction-static 0.2 --skip-server-warmup"


class Server(ServerProcess):
    """`with Server(name, *options) as server`: ended by its own pid."""

    def __init__(self, name, *options):
        super().__init__(FOLDER.parent / f"{name}.log", 400, {"OMP_NUM_THREADS": "2"})
        fixed = ["--model-path", str(FOLDER), "--host", "127.0.0.1", "--port", str(self.port)]
        self.command = [sys.executable, "-m", "sglang.launch_server", *fixed, *ON_THE_CPU.split(), *SMALL.split(), *options]

    def child(self, name):
        """The pid of the server's process of this name."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        (found,) = (pid for pid in children if name in Path(f"/proc/{pid}/cmdline").read_text())
        return int(found)

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

    def metrics(self):
        """Sums samples of the page of metrics, by name and labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as page:
            families = list(text_string_to_metric_families(page.read().decode()))
        samples = [sample for family in families for sample in family.samples]
        return lambda name, **labels: sum(
            each.value for each in samples if each.name == name and labels.items() <= each.labels.items()
        )
