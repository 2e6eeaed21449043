"""A Prometheus that reads a server's page of metrics, where it is installed (Debian's package `prometheus`)."""

import json
import time
import urllib.parse
import urllib.request
from pathlib import Path

from server_process import ServerProcess

#: The alerts and the dashboard for operators.
OPERATING = Path(__file__).parents[2] / "docs/operating"


class Prometheus(ServerProcess):
    """`with Prometheus(folder, port, rules) as prometheus`: reads the page of the server at `port` every two seconds."""

    health = "/-/healthy"

    def __init__(self, folder, port, rules):
        super().__init__(folder / "prometheus.log", 60, {})
        scrape = {"job_name": "vllm", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
        given = {"global": {"scrape_interval": "2s", "evaluation_interval": "2s"}, "rule_files": [str(rules)], "scrape_configs": [scrape]}
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(json.dumps(given), encoding="utf-8")
        address = f"--web.listen-address=127.0.0.1:{self.port}"
        self.command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", address]

    def wait_for(self, query):
        """Returns once a query finds something."""
        for _ in range(120):
            if self.ask("query", query=query)["result"]:
                return
            time.sleep(0.5)
        raise RuntimeError(f"nothing is found for {query}")

    def ask(self, what, **given):
        """The data of an answer to a query, for example."""
        address = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(given)}"
        with urllib.request.urlopen(address, timeout=30) as answer:
            return json.load(answer)["data"]
