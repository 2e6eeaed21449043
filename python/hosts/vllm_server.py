"""A server of vLLM with a small model, and requests with judges of their own."""

import asyncio
import json
import os
import random
import re
import sys
import time
import urllib.request
from pathlib import Path

import jsonschema
from openai import APIError, AsyncOpenAI
from prometheus_client.parser import text_string_to_metric_families
from server_process import ServerProcess

FOLDER = Path(os.environ["MASKWRIGHT_HOSTS_MODEL"])
LOGS = FOLDER.parent
MODEL = "smollm2"

SCHEMAS = json.loads((Path(__file__).parent / "schemas.json").read_text(encoding="utf-8"))
PATTERNS = [
    r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
    r"[a-z]{2,12}(\.[a-z]{2,8})?@[a-z]{3,12}\.(com|org)",
    r"(?P<area>0\d{2,4})[ /-](?P<number>\d{4,8})",
    r"(?:[A-Z][a-z]+ ){1,3}[A-Z][a-z]+\.",
    r"#[0-9a-fA-F]{6}",
    r"(?i:yes|no)[.!]?",
    r"\w+(, \w+){0,4}",
    r"-?\d+(\.\d{1,3})?",
]
CHOICES = [["definitely", "definitely not", "maybe", "no", "yes"], ["red", "green"], ["1", "12", "123"], ['"quoted"', "\\", "é"]]
GBNF = 'root ::= term ("+" term)*\nterm ::= [1-9] [0-9]? | "(" root ")"\n'
LARK = 'start: PAIR (";" PAIR)*\nPAIR: /[a-z]+=[0-9]+/\n'
CALL = {
    "type": "tag",
    "begin": "<call>",
    "content": {"type": "json_schema", "json_schema": SCHEMAS["boolean"]},
    "end": "</call>",
}
ONE = {"at_least_one": True, "stop_after_first": True}
TAGS = [
    {"type": "structural_tag", "format": CALL},
    {"type": "structural_tag", "format": {"type": "tags_with_separator", "tags": [CALL], "separator": ",", **ONE}},
    {
        "type": "structural_tag",
        "structures": [{"begin": "<call>", "schema": SCHEMAS["boolean"], "end": "</call>"}],
        "triggers": ["<call"],
    },
]
TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "description": f"Use {name}", "parameters": SCHEMAS[name], "strict": True},
    }
    for name in ("boolean", "price", "person")
]
PROMPTS = [
    "Describe Ada Lovelace.",
    "Which colours do you like?",
    "Where is the treasure?",
    "Say something kind to a friend who has had a long day.",
    "When did the war end?",
    "What is your address?",
    "Will it rain tomorrow?",
    "How much is it?",
]


FORMATS = jsonschema.FormatChecker(["email", "ipv4", "uuid"])
#: Python's own dates have no year 0.
DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
FORMATS.checks("date")(lambda text: re.fullmatch(DATE, text))
MOMENT = DATE + r"[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)"
FORMATS.checks("date-time")(lambda text: re.fullmatch(MOMENT, text))


def is_json(schema):
    def judge(text):
        jsonschema.Draft202012Validator(schema, format_checker=FORMATS).validate(json.loads(text))

    return judge


def is_match(pattern):
    def judge(text):
        assert re.fullmatch(pattern, text), text

    return judge


def is_one_of(choices):
    def judge(text):
        assert text in choices, text

    return judge


def is_sum(text):
    assert re.fullmatch(r"[0-9+()]+", text) and isinstance(eval(text), int), text


def is_tagged(text):
    parts = re.split(r"<call>(.*?)</call>", text, flags=re.DOTALL)
    assert "<call" not in "".join(parts[::2]), text
    for call in parts[1::2]:
        is_json(SCHEMAS["boolean"])(call)


def of_json(name):
    schema = {"name": name, "schema": SCHEMAS[name], "strict": True}
    return name, {"response_format": {"type": "json_schema", "json_schema": schema}}, is_json(SCHEMAS[name])


def extra(**asked):
    return {"extra_body": {"structured_outputs": asked}}


def requests():
    """60 requests: a name, what the client is called with, and the judge of the text."""
    made = [of_json(name) for name in SCHEMAS]
    made += [(f"regex {n}", extra(regex=pattern), is_match(pattern)) for n, pattern in enumerate(PATTERNS)]
    made += [(f"choice {n}", extra(choice=each), is_one_of(each)) for n, each in enumerate(CHOICES)]
    made += [("gbnf", extra(grammar=GBNF), is_sum), ("lark", extra(grammar=LARK), is_match(r"[a-z]+=\d+(;[a-z]+=\d+)*"))] * 2
    made += [("object", {"response_format": {"type": "json_object"}}, is_json({"type": "object"}))]
    made += [(f"tag {n}", {"response_format": tag}, is_tagged) for n, tag in enumerate(TAGS)]
    made += [("tag text", extra(structural_tag=json.dumps(TAGS[0])), is_tagged)]
    made += [("tool", {"tools": TOOLS, "tool_choice": "required"}, None)] * 4
    named = {"type": "function", "function": {"name": "price"}}
    made += [("named tool", {"tools": TOOLS, "tool_choice": named}, None)] * 2
    made += [("auto tool", {"tools": TOOLS, "tool_choice": "auto"}, None)] * 2
    assert len(made) == 59, len(made)
    return [*made, ("compact", extra(json=SCHEMAS["person"], whitespace_pattern=""), is_compact)]


#: Texts of different lengths in tokens.
WORDS = "the old ship sailed at dawn towards a cold and silent northern harbour where nobody had ever waited for it".split()
LONG = [" ".join(WORDS * n)[:length] for n, length in ((1, 90), (2, 190), (3, 300), (4, 420))]


def limited(n_requests):
    """Requests whose texts are to fit few tokens. Every eighth asks for one text, which may take more than its limit."""
    jobs = [job for job in requests() if "tool" not in job[0]]
    long = [("long", extra(choice=[text]), is_one_of([text])) for text in LONG]
    return [long[n // 8 % len(long)] if n % 8 == 0 else jobs[n % len(jobs)] for n in range(n_requests)]


def least_number(text):
    """The least number of tokens that spell a text of ASCII letters and blanks, and one for its end; by trying all."""
    tokens = set(json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"])
    text = text.replace(" ", "Ġ")
    least = [0] + [len(text) + 1] * len(text)
    for end in range(1, len(text) + 1):
        least[end] = min(1 + least[start] for start in range(end) if text[start:end] in tokens)
    return least[-1] + 1


def is_compact(text):
    is_json(SCHEMAS["person"])(text)
    assert re.fullmatch(r'{"name":".*","age":\S+}', text, re.DOTALL), text


def check_calls(calls, name):
    """Whether the calls of tools have the arguments that the tools ask for."""
    for called, arguments in calls:
        is_json(SCHEMAS[called])(arguments)
    assert name == "auto tool" or calls
    assert name != "named tool" or [called for called, _ in calls] == ["price"]


class Server(ServerProcess):
    """`with Server(name, *options, **environment) as server`: ended by its own pid."""

    def __init__(self, name, *options, **environment):
        defaults = {"VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "2", "VLLM_NO_USAGE_STATS": "1"}
        super().__init__(LOGS / f"{name}.log", 300, {**defaults, **environment})
        fixed = f"--host 127.0.0.1 --port {self.port} --served-model-name {MODEL} --dtype bfloat16 --enforce-eager"
        fixed += " --max-model-len 1024 --max-num-seqs 32 --gpu-memory-utilization 0.4 --generation-config vllm"
        fixed += " --enable-auto-tool-choice --tool-call-parser hermes"
        program = [str(Path(__file__).parent / "serve_vllm.py"), "--model", str(FOLDER)]
        self.command = [sys.executable, *program, *fixed.split(), *options]

    def metric(self, name, **labels):
        """The sum of the samples with a name and labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as page:
            families = text_string_to_metric_families(page.read().decode())
        samples = [sample for family in families for sample in family.samples]
        return sum(each.value for each in samples if each.name == name and labels.items() <= each.labels.items())

    def run(self, jobs, **options):
        """The answers to many requests at once."""

        async def all_of_them():
            address = f"http://127.0.0.1:{self.port}/v1"
            async with AsyncOpenAI(base_url=address, api_key="none", max_retries=0, timeout=280) as client:
                return await asyncio.gather(*(ask(client, n, *job, **options) for n, job in enumerate(jobs)))

        return asyncio.run(all_of_them())


class Answer:
    def __init__(self, name, n_tokens=0, text="", calls=(), finish=None, error=None):
        self.name, self.n_tokens, self.text, self.calls, self.finish = name, n_tokens, text, list(calls), finish
        self.error, self.wrong, self.token_ids = error, None, None
        #: How many tokens it might have, and when its first part came, if it was streamed.
        self.limit = self.first = None

    def __repr__(self):
        return f"{self.name}: {self.error or self.wrong or 'valid'} ({self.finish}) {self.text[:200]!r} {self.calls}"


async def ask(client, n, name, *given, **options):
    """One request, timed."""
    start = time.monotonic()
    answer = await answer_of(client, n, name, *given, **options)
    answer.seconds = time.monotonic() - start
    if answer.first is not None:
        answer.first -= start
    return answer


async def answer_of(client, n, name, asked, judge, max_tokens=None, temperature=1.0, stream_every=3):
    """One request, every third one streamed, or as many as `stream_every` says."""
    draw = random.Random(n)
    asked = dict(asked)
    given = {"model": MODEL, "messages": [{"role": "user", "content": PROMPTS[n % len(PROMPTS)]}], "seed": n}
    limit = draw.randint(*max_tokens) if isinstance(max_tokens, tuple) else max_tokens
    given |= {"max_tokens": limit, "temperature": temperature} | asked
    try:
        if stream_every and n % stream_every == 0:
            answer = await streamed(client, name, given)
        else:
            done = await client.chat.completions.create(**given)
            choice = done.choices[0]
            calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
            text = choice.message.content or ""
            answer = Answer(name, done.usage.completion_tokens, text, calls, choice.finish_reason)
            answer.token_ids = getattr(choice, "token_ids", None)
            answer.logprobs = choice.logprobs.content if choice.logprobs else None
    except APIError as error:  # in a stream there is no status
        answer = Answer(name, error=f"{getattr(error, 'status_code', 'stream')}: {error.message}")
        answer.limit = limit
        return answer
    answer.limit = limit
    try:
        if judge is None:
            check_calls(answer.calls, name)
        else:
            judge(answer.text)
    except Exception as wrong:  # of a judge
        answer.wrong = f"{type(wrong).__name__}: {str(wrong)[:200]}"
    return answer


async def streamed(client, name, given):
    text, names, arguments, finish, n_tokens, first = "", {}, {}, None, 0, None
    options = {"stream_options": {"include_usage": True}}
    async for chunk in await client.chat.completions.create(**given, stream=True, **options):
        n_tokens = chunk.usage.completion_tokens if chunk.usage else n_tokens
        for choice in chunk.choices:
            text += choice.delta.content or ""
            first = first or (time.monotonic() if choice.delta.content else None)
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or ():
                names[call.index] = call.function.name or names.get(call.index)
                arguments[call.index] = arguments.get(call.index, "") + (call.function.arguments or "")
    calls = [(names[index], arguments[index]) for index in names]
    answer = Answer(name, n_tokens, text, calls, finish)
    answer.first = first
    return answer
