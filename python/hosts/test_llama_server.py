"""Grammars in llama-server, through the functions of `llguidance.h`: `cargo xtask hosts llama-server`.

The server is built from llama.cpp's sources as they are. Every answer is judged without the library that masked it. The same
schemas are also sent as the GBNF that llama.cpp makes of them, and a table says what became of both.
"""

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import hostile
import jsonschema
import maskwright
import pytest
from conftest import GGUF, run_page
from pages import run_by
from server_process import ServerProcess, memory_of

SCHEMAS = json.loads(Path(__file__).with_name("llama_server_schemas.json").read_text(encoding="utf-8"))
#: Texts of each schema.
N_TEXTS = 2
#: A text that is cut here is not valid.
N_PREDICT = 300
#: Where the server tells of grammars that it refuses.
LOG = Path(os.environ["MASKWRIGHT_HOSTS_MODEL"]).parent / "hosts-llama-server.log"


class Server(ServerProcess):
    """`with Server() as server`: two requests at a time."""

    def __init__(self):
        super().__init__(LOG, 120, {})
        fixed = ["--model", str(GGUF), "--host", "127.0.0.1", "--port", str(self.port), "--no-webui"]
        # Threads that wait for each other are slow where other programs run too.
        n_threads = str(max(1, len(os.sched_getaffinity(0)) // 2))
        self.command = [os.environ["MASKWRIGHT_HOSTS_LLAMA_SERVER"], *fixed, "-c", "8192", "-np", "2", "-t", n_threads]

    def request(self, path, body):
        headers = {"content-type": "application/json"}
        return urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(), headers)

    def post(self, path, body):
        """The answer; the one of a refused request has `error`."""
        try:
            with urllib.request.urlopen(self.request(path, body), timeout=300) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def complete(self, prompt, **body):
        return self.post("/completion", {"prompt": prompt, "n_predict": N_PREDICT, "temperature": 0.7} | body)

    def complete_all(self, requests):
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda request: self.complete(**request), requests))

    def gbnf(self, schema):
        """What llama.cpp makes of a schema; a text that begins with "error" if it refuses.

        The built-in door takes the place of the conversion in `/completion`, but not in the chat interface.
        """
        asked = {"type": "json_schema", "json_schema": {"name": "asked", "schema": schema}}
        body = {"messages": [{"role": "user", "content": ""}], "response_format": asked, "max_tokens": 1, "verbose": True}
        answer = self.post("/v1/chat/completions", body)
        if "error" in answer:
            return f"error: {answer['error']['message']}"
        rules = answer["__verbose"]["generation_settings"]["grammar"]
        assert "\nresponse-format ::=" in rules, rules
        return re.sub("^root ::=.*$", "root ::= response-format", rules, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture(scope="module")
def compiler():
    return maskwright.Compiler(maskwright.Tokenizer.from_gguf(GGUF))


def verdict(answer, judge):
    """One word for an answer: refused, cut, wrong or valid. A judge raises an error."""
    if "error" in answer:
        return "refused"
    if answer["stop_type"] != "eos":
        return "cut"
    try:
        judge(answer["content"])
    except (ValueError, AssertionError, jsonschema.ValidationError):
        return "wrong"
    return "valid"


def fits(schema):
    """A judge of texts by a schema."""
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    return lambda text: validator.validate(json.loads(text))


def worst(verdicts):
    return next(each for each in ("refused", "wrong", "cut", "valid") if each in verdicts)


def test_schemas(server):
    table = []
    for case in SCHEMAS:
        judge, verdicts = fits(case["schema"]), []
        gbnf = server.gbnf(case["schema"])
        for grammar in ({"json_schema": case["schema"]}, {"grammar": gbnf}):
            if gbnf.startswith("error") and "grammar" in grammar:
                verdicts.append("refused")
                continue
            requests = [{"prompt": case["prompt"], "seed": seed, **grammar} for seed in range(N_TEXTS)]
            answers = server.complete_all(requests)
            verdicts.append(worst([verdict(answer, judge) for answer in answers]))
            if verdicts[-1] != "valid":
                print([answer.get("content", answer.get("error")) for answer in answers])
        table.append((case["title"], *verdicts))
    print(f"\n| {len(table)} schemas, {N_TEXTS} texts of each | Maskwright | llama.cpp's own GBNF |\n|---|---|---|")
    for row in table:
        print(f"| {' | '.join(row)} |")
    for name, verdicts in (("Maskwright", [row[1] for row in table]), ("its own", [row[2] for row in table])):
        print(f"{name}: " + ", ".join(f"{verdicts.count(each)} {each}" for each in ("valid", "wrong", "cut", "refused")))
    assert [row[0] for row in table if row[1] != "valid"] == []


#: Grammars, and what Python's `re` says of their texts.
LARK = [
    ('start: "heron" | "stork" | "crane"', "heron|stork|crane"),
    ("start: /[A-Z][a-z]{2,7}/", "[A-Z][a-z]{2,7}"),
    ('start: NUMBER ("+" NUMBER){1,3}\nNUMBER: /[1-9][0-9]?/', r"[1-9]\d?(\+[1-9]\d?){1,3}"),
    ('start: "weather: " ("rain"i | "snow"i) "."', "weather: (?i:rain|snow)[.]"),
    (
        'start: greeting " " NAME\ngreeting: "hello" | "good day"\nNAME: /[A-Z]/ /[a-z]{2,6}/',
        "(hello|good day) [A-Z][a-z]{2,6}",
    ),
    ('start: "(" pair ")" | pair\npair: /[0-9]{1,3}/ | "[" /[a-z]{2}/ "]"', r"\(?(\d{1,3}|\[[a-z]{2}\])\)?"),
    ('start: line{2}\nline: "- " /[a-z ]{3,20}/ "\\n"', r"(- [a-z ]{3,20}\n){2}"),
    ('start: title body\ntitle: "# " /[A-Z][a-z]{2,8}/ "\\n"\nbody: /[a-z]{3,12}/ "!"', "# [A-Z][a-z]{2,8}\n[a-z]{3,12}!"),
    ('start: "lamp " state ["," " " state]\nstate: "on" | "off" | "dim"', "lamp (on|off|dim)(, (on|off|dim))?"),
    ('start: "port=" /[1-9][0-9]{3}/ ("," "port=" /[1-9][0-9]{3}/)?', r"port=[1-9]\d{3}(,port=[1-9]\d{3})?"),
    (
        'start: "x = " %json {"type": "array", "items": {"enum": [1, 2]}, "minItems": 2, "maxItems": 3}',
        r"x = \[\s*[12](\s*,\s*[12]){1,2}\s*\]",
    ),
    ('start: hour ":" MINUTE\nhour: /0[0-9]/ | /1[0-9]/ | /2[0-3]/\nMINUTE: /[0-5][05]/', "([01][0-9]|2[0-3]):[0-5][05]"),
]


def test_lark(server, compiler):
    texts = [f"%llguidance {{}}\n{text}\n" for text, _ in LARK]
    requests = [{"prompt": "Answer in a word or a line.", "grammar": text, "seed": n} for n, text in enumerate(texts)]
    for text, answer, (_, pattern) in zip(texts, server.complete_all(requests), LARK, strict=True):
        assert answer.get("stop_type") == "eos", (text, answer)
        assert re.fullmatch(pattern, answer["content"]), (text, answer["content"])
        assert compiler.compile_lark(text, dialect="llguidance").check(answer["content"]), (text, answer["content"])
    print(f"\nllama-server: {len(LARK)} texts of Lark grammars are valid")


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": name.replace("_", " "), "parameters": schema}}


WORD = {"type": "string", "pattern": "^[a-z]{2,9}$"}
TOOLS = [
    tool("ring_bell", tower={"enum": ["north", "south"]}, times={"type": "integer", "minimum": 1, "maximum": 12}),
    tool(
        "book_ferry", port=WORD, seats={"type": "integer", "multipleOf": 2, "minimum": 2, "maximum": 8}, car={"type": "boolean"}
    ),
    tool(
        "mark_trail",
        colours={"type": "array", "items": {"enum": ["red", "blue"]}, "minItems": 1, "maxItems": 2, "uniqueItems": True},
    ),
]
FORMATS = [
    "qwen_3",
    "llama",
    "mistral_v3",
    "deepseek_v3_1",
    "glm_4_5",
    "hunyuan",
    "harmony",
    "phi_4",
    "pythonic",
    "granite_3",
    "qwen_3_coder",
    "minimax",
    "seed_oss",
]


def test_tool_calls(server, compiler):
    schemas = {each["function"]["name"]: each["function"]["parameters"] for each in TOOLS}
    options = {"tool_choice": "required", "text": False, "parallel": False}
    grammars = [compiler.compile_tool_calls(TOOLS, format=each, **options) for each in FORMATS]
    prompts = [
        "Ring the bell of the north tower.",
        "Two seats on the ferry to Mellow, please.",
        "Mark the trail in red and white.",
    ]
    requests = [{"prompt": prompts[n % 3], "grammar": grammar.to_llguidance(), "seed": n} for n, grammar in enumerate(grammars)]
    for name, grammar, answer in zip(FORMATS, grammars, server.complete_all(requests), strict=True):
        assert answer.get("stop_type") == "eos", (name, answer)
        (call,) = grammar.parse(answer["content"]).calls
        fits(schemas[call.name])(call.arguments_json)
    print(f"\nllama-server: calls in {len(FORMATS)} formats are valid")


def test_chat(server, compiler):
    """The chat interface takes a grammar, with the model's template around the messages."""
    grammar = compiler.compile_tool_calls(TOOLS, format="qwen_3", tool_choice="required", text=False, parallel=False)
    messages = [{"role": "user", "content": "Ring the bell of the south tower."}]
    # The template may show the tools; a choice other than "none" would exclude grammars.
    body = {"messages": messages, "tools": TOOLS, "tool_choice": "none", "grammar": grammar.to_llguidance()}
    answer = server.post("/v1/chat/completions", body | {"max_tokens": N_PREDICT})
    (call,) = grammar.parse(answer["choices"][0]["message"]["content"]).calls
    assert call.name in {each["function"]["name"] for each in TOOLS}


@pytest.mark.parametrize("page", run_by("cargo xtask hosts llama-server"))
def test_pages(server, page, tmp_path):
    replaced = {"localhost:8080": f"127.0.0.1:{server.port}", "MODEL.gguf": GGUF}
    runner = run_page(page, "cargo xtask hosts llama-server", tmp_path, replaced)
    assert runner.printed


def compiled(compiler, case):
    """The grammar of a hostile request."""
    if case.kind == "regex":
        return compiler.compile_regex(case.source, dialect="python")
    kind = {"json": "json_schema"}.get(case.kind, case.kind)
    return getattr(compiler, f"compile_{kind}")(case.source)


def n_refused():
    return LOG.read_text(errors="replace").count("llg error")


def test_hostile_grammars_do_not_stop_the_server(server, compiler):
    words = []
    for case in hostile.OF_A_STRANGER + hostile.OURS:
        try:
            grammar = compiled(compiler, case)
        except (maskwright.SchemaError, maskwright.LimitError):
            grammar = None
        body = {"json_schema": case.source} if case.kind == "json" else {"grammar": grammar.to_llguidance()}
        before, start = n_refused(), time.monotonic()
        answer = server.complete("Text:", seed=1, n_predict=case.max_tokens, **body)
        assert (n_refused() > before) == (grammar is None), (case.name, answer)
        words.append("refused, by the log" if grammar is None else verdict(answer, case.judge))
        print(f"{case.name}: {time.monotonic() - start:.1f} s, {words[-1]}")
        # Nothing here is told to end within a number of tokens, so a text may be cut.
        if words[-1] == "cut":
            assert answer["tokens_predicted"] == case.max_tokens, case.name
            assert maskwright.Matcher(grammar).accept_bytes(answer["content"]), case.name
        else:
            assert words[-1] != "wrong", (case.name, answer)
    assert verdict(server.complete("A number.", json_schema={"type": "boolean"}), json.loads) == "valid"


def test_a_cancelled_request(server):
    """Who goes away while a text is written does not hold up others."""
    endless = {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{4,8}$"}, "minItems": 5000}
    body = {"prompt": "Words.", "json_schema": endless, "n_predict": 4000, "stream": True}
    for _ in range(4):
        with urllib.request.urlopen(server.request("/completion", body), timeout=60) as answer:
            assert answer.readline().startswith(b"data:")
    start = time.monotonic()
    case = SCHEMAS[0]
    answers = server.complete_all([{"prompt": case["prompt"], "json_schema": case["schema"], "seed": n} for n in range(4)])
    assert [verdict(answer, fits(case["schema"])) for answer in answers] == ["valid"] * 4
    assert time.monotonic() < start + 30


def test_many_requests_take_no_more_memory(server):
    """Different grammars two at a time, again and again."""

    def all_at_once(round):
        requests = [
            {"prompt": each["prompt"], "json_schema": each["schema"], "seed": round, "n_predict": 30} for each in SCHEMAS
        ]
        return server.complete_all(requests)

    all_at_once(0)
    before = memory_of(server.process.pid)
    for round in range(1, 5):
        assert all("error" not in answer for answer in all_at_once(round))
    grown = memory_of(server.process.pid) - before
    print(f"\nafter {4 * len(SCHEMAS)} more requests: {grown} MB more")
    assert grown < 100


def test_a_refused_grammar_is_in_the_log(server):
    """llama.cpp writes without a grammar if there is an error in it, and says so in its log only."""
    server.complete("A word.", grammar="%llguidance {}\nstart: nowhere", n_predict=2)
    assert "`nowhere` is used but not defined" in LOG.read_text(errors="replace")
    answer = server.complete("A word.", grammar="root ::= nowhere")
    assert answer["error"]["code"] == 400


LONG = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "legs": {"type": "integer"},
            "note": {"type": "string", "maxLength": 60},
        },
        "required": ["name", "legs", "note"],
        "additionalProperties": False,
    },
    "minItems": 30,
}
N_TOOLS = 263


def many_tools():
    verbs = ["open", "list", "mend", "paint", "count", "sort", "weigh"]
    nouns = ["gate", "hive", "kiln", "loom", "mast", "oar", "well"]
    note = {"type": "string", "maxLength": 40}
    return [
        tool(f"{verbs[n % 7]}_{nouns[n // 7 % 7]}_{n}", note=note, **{f"size_{n % 9}": {"type": "integer", "minimum": n}})
        for n in range(N_TOOLS)
    ]


def processor_seconds(pid):
    """What a process has used of the processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_speed(server, compiler):
    """Tokens a second by the server's own clock. Figures for people to read: no machine is asked for any."""
    tools = many_tools()
    calls = compiler.compile_tool_calls(tools, format="qwen_3", tool_choice="required", text=False).to_llguidance()
    free = compiler.compile_tool_calls(tools, format="qwen_3").to_llguidance()
    bodies = {
        "no grammar": {},
        "llama.cpp's own GBNF": {"grammar": server.gbnf(LONG)},
        "json_schema by Maskwright": {"json_schema": LONG},
        f"calls of {N_TOOLS} tools": {"grammar": calls},
        f"text, calls of {N_TOOLS} tools": {"grammar": free},
    }
    fixed = {"n_predict": 128, "ignore_eos": True, "cache_prompt": False}
    rates, first, used = {name: [] for name in bodies}, {}, {name: [] for name in bodies}
    for n in range(7):
        for name, body in bodies.items():
            start, before = time.monotonic(), processor_seconds(server.process.pid)
            answer = server.complete("Ten animals of the farm, each with a note.", seed=n, **fixed, **body)
            assert answer["timings"]["predicted_n"] == 128, (name, answer["content"])
            first.setdefault(name, time.monotonic() - start)
            used[name].append((processor_seconds(server.process.pid) - before) * 1000 / 128)
            rates[name].append(answer["timings"]["predicted_per_second"])
    print("\n| 128 tokens, seven times | tokens a second, median | lowest | ms of a core for a token, median | first request |")
    print("|---|---|---|---|---|")
    for name, each in rates.items():
        print(f"| {name} | {median(each):.1f} | {min(each):.1f} | {median(used[name]):.1f} | {first[name]:.2f} s |")


def test_the_sampler_of_the_examples(tmp_path):
    """`examples/llama.cpp`, on `maskwright.h`."""

    def run(*arguments):
        program = os.environ["MASKWRIGHT_HOSTS_LLAMA_SAMPLER"]
        return subprocess.run([program, str(GGUF), *arguments], check=False, capture_output=True, text=True, timeout=300)

    file = tmp_path / "source"
    for case in SCHEMAS[:4]:
        file.write_text(json.dumps(case["schema"]), encoding="utf-8")
        fits(case["schema"])(run("json_schema", str(file), case["prompt"]).stdout)
    file.write_text(json.dumps(TOOLS), encoding="utf-8")
    options = {"format": "granite_3", "tool_choice": "ring_bell", "text": False, "parallel": False}
    written = run("tool_calls", str(file), json.dumps(options), "Ring the bell.").stdout
    assert '"ring_bell"' in written, written
    refused = run("lark", str(file), "Ring the bell.")
    assert refused.returncode == 1 and "maskwright: grammar: " in refused.stderr
