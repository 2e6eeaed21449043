"""Installs the servers of `servers.json`, asks each for its tools, and writes the lists to a cache.

    python research/tools/collect.py [--fresh] [--only WORD] [--jobs N]

The cache is `target/experiments/tools/`: `lists/NAME.json` per server, and for the types made for the experiment
`lists/types-LIBRARY.json`. A list is made anew if its entry in `servers.json` changed, or with `--fresh`. A server that
cannot be installed or does not answer is reported and passed over.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pydantic_types
from mcp_client import Failed, kill_group, list_tools

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / "target" / "experiments" / "tools"
#: Seconds for an installation, and for a server to list its tools.
INSTALL, ANSWER = 300, 60


def collect(only: str = "", fresh: bool = False, jobs: int = 2) -> dict[str, str]:
    """Brings the cache up to date, and returns what failed: the reason by package."""
    lists = CACHE / "lists"
    lists.mkdir(parents=True, exist_ok=True)
    _types(lists)
    servers = [entry for entry in json.loads((HERE / "servers.json").read_text()) if only in entry["package"]]
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for entry, reason in zip(servers, pool.map(lambda entry: _server(entry, lists, fresh), servers), strict=True):
            if reason:
                failed[entry["package"]] = reason
                print(f"passed over: {entry['package']}: {reason}", file=sys.stderr)
    return failed


def load() -> dict[str, list[dict[str, Any]]]:
    """The lists in the cache: the tools by the name of their server, or of the types."""
    return {path.stem: json.loads(path.read_text())["tools"] for path in sorted((CACHE / "lists").glob("*.json"))}


def node_modules() -> Path:
    """The folder with this experiment's own Node programs and what they import, installed."""
    folder = CACHE / "node"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package.json").read_text()
    for program in HERE.glob("*.mjs"):
        shutil.copy(program, folder)
    if not (folder / "installed").is_file() or (folder / "installed").read_text() != wanted:
        shutil.copy(HERE / "package.json", folder)
        _run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], folder)
        (folder / "installed").write_text(wanted)
    return folder


def _types(lists: Path) -> None:
    """Writes the lists of the types made for the experiment."""
    found = {"pydantic": pydantic_types.tools()}
    found |= json.loads(_run(["node", "types.mjs"], node_modules()))
    for library, tools in found.items():
        _write(lists / f"types-{library}.json", {"entry": None, "tools": tools})


def _server(entry: dict[str, Any], lists: Path, fresh: bool) -> str | None:
    """Makes the list of one server; returns why it failed."""
    name = re.sub(r"\W+", "-", entry["package"]).strip("-")
    path = lists / f"{name}.json"
    if not fresh and path.is_file() and json.loads(path.read_text())["entry"] == entry:
        return None
    path.unlink(missing_ok=True)
    home = CACHE / "servers" / name
    try:
        programs = _install(entry, home)
        scratch = home / "scratch"
        command = [part.replace("{folder}", str(scratch)) for part in entry["command"]]
        command[0] = str(programs / command[0])
        env = {key: value.replace("{folder}", str(scratch)) for key, value in entry.get("env", {}).items()}
        for setup in entry.get("setup", []):
            scratch.mkdir(parents=True, exist_ok=True)
            _run([part.replace("{folder}", str(scratch)) for part in setup], scratch)
        tools = list_tools(command, scratch, env, ANSWER)
    except Failed as error:
        return str(error)
    if not tools:
        return "it lists no tools"
    _write(path, {"entry": entry, "tools": tools})
    return None


def _install(entry: dict[str, Any], home: Path) -> Path:
    """Installs a package in a folder of its own; returns the folder of its programs."""
    wanted = [f"{entry['package']}{'@' if entry['registry'] == 'npm' else '=='}{entry['version']}", *entry.get("with", [])]
    done = home / "installed"
    if not done.is_file() or json.loads(done.read_text()) != wanted:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        if entry["registry"] == "npm":
            _run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(home), *wanted], home)
        else:
            uv = [sys.executable, "-m", "uv"]
            _run([*uv, "venv", "--quiet", str(home / "venv")], home)
            python = str(home / "venv" / "bin" / "python")
            _run([*uv, "pip", "install", "--quiet", "--python", python, *wanted], home)
        done.write_text(json.dumps(wanted))
    return home / ("node_modules/.bin" if entry["registry"] == "npm" else "venv/bin")


def _run(command: list[str], folder: Path) -> bytes:
    """The output of a command, which ends in time with all that it started."""
    try:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        raise Failed(f"{command[0]}: {error}") from None
    try:
        out, errors = process.communicate(timeout=INSTALL)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command[:3])}: not done after {INSTALL} s") from None
    finally:
        kill_group(process)
    if process.returncode != 0:
        last = errors.decode(errors="replace").strip().splitlines()[-1:] or [""]
        raise Failed(f"{' '.join(command[:4])}: {last[0][:200]}")
    return out


def _write(path: Path, content: Any) -> None:
    """Writes a file whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, ensure_ascii=False, indent=1))
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="ask all servers again")
    parser.add_argument("--only", default="", metavar="WORD", help="only packages with this in their name")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    arguments = parser.parse_args()
    failed = collect(arguments.only, arguments.fresh, arguments.jobs)
    lists = load()
    for name, tools in lists.items():
        print(f"{len(tools):5}  {name}")
    print(f"{sum(map(len, lists.values())):5}  tools in {len(lists)} lists; {len(failed)} servers failed")


if __name__ == "__main__":
    main()
