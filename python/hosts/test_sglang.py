"""SGLang 0.5.23 with Maskwright as its grammar backend: `cargo xtask hosts sglang`.

First the scheduler's own code for grammars, step by step over random logits: nothing of it is replaced, and no model is
needed. Then SGLang's server on the CPU.
"""

import itertools
import json
import random
import re
import threading
import time
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from types import SimpleNamespace

import hostile
import jsonschema
import maskwright
import pytest
import torch
from conftest import FOLDER, SCHEMAS, run_page
from openai import OpenAI
from pages import run_by
from sglang.srt import runtime_context
from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
from sglang.srt.plugins import load_plugins
from sglang.srt.sampling.sampling_params import SamplingParams
from server_process import load, memory_of
from sglang_server import Server
from transformers import AutoTokenizer

PERSON = SCHEMAS["person"]
TAG = {"type": "tag", "begin": "<t>", "content": {"type": "json_schema", "json_schema": {"type": "boolean"}}, "end": "</t>"}
LEGACY = {"type": "structural_tag", "structures": [{"begin": "<t>", "schema": None, "end": "</t>"}], "triggers": ["<t"]}
GBNF = 'root ::= "(" root ")" | [0-9]+'
LARK = '%llguidance {}\nstart: NUMBER ("+" NUMBER)*\nNUMBER: /[1-9][0-9]*/'


def is_person(text):
    jsonschema.Draft202012Validator(PERSON).validate(json.loads(text))
    return True


#: What requests ask for, and a judge that knows nothing of this package.
ASKED = {
    "json": ({"json_schema": json.dumps(PERSON)}, is_person),
    "any json": ({"json_schema": "$$ANY$$"}, lambda text: json.loads(text) or True),
    "regex": ({"regex": r"[ab]{2,9}-(yes|no)*"}, lambda text: re.fullmatch("[ab]{2,9}-(yes|no)*", text)),
    "gbnf": ({"ebnf": GBNF}, lambda text: re.fullmatch(r"\(*\d+\)*", text)),
    "lark": ({"ebnf": LARK}, lambda text: eval(text) > 0),
    "tag": (
        {"structural_tag": json.dumps({"type": "structural_tag", "format": TAG})},
        lambda text: text in ("<t>true</t>", "<t>false</t>"),
    ),
    "legacy tag": (
        {"structural_tag": json.dumps(LEGACY | {"at_least_one": True})},
        lambda text: all(json.loads(each) or True for each in re.findall("<t>(.*?)</t>", text, re.DOTALL)) and "<t>" in text,
    ),
}


@pytest.fixture(scope="module")
def tokenizer():
    made = AutoTokenizer.from_pretrained(FOLDER)
    made.additional_stop_token_ids = None
    return made


def manager_of(tokenizer, *options):
    """SGLang's GrammarManager, for a server with these options."""
    load_plugins()
    from sglang.srt.server_args import prepare_server_args

    given = ["--model-path", str(FOLDER), "--device", "cpu", "--grammar-backend", "maskwright", *options]
    arguments = prepare_server_args(given)
    runtime_context.publish(arguments, role="scheduler", ranks=runtime_context.SpawnRanks(0))
    from sglang.srt.constrained.grammar_manager import GrammarManager

    model = SimpleNamespace(vocab_size=len(tokenizer), hf_eos_token_id={tokenizer.eos_token_id}, think_end_ids=None)
    group = SimpleNamespace(world_size=1, first_rank=0, is_first_rank=True)
    given = {"server_args": arguments, "tokenizer": tokenizer, "model_config": model}
    return GrammarManager(SimpleNamespace(**given, dp_tp_cpu_group=None, dp_tp_group=group, pp_group=None))


class Scheduler:
    """Steps of many requests by SGLang's own objects, with random tokens that the masks allow."""

    def __init__(self, tokenizer, seed=0, options=()):
        from sglang.srt.managers.scheduler_components.batch_result_processor import SchedulerBatchResultProcessor
        from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo
        from sglang.srt.speculative import spec_utils

        torch.manual_seed(seed)
        self.tokenizer, self.draw, self.manager = tokenizer, random.Random(seed), manager_of(tokenizer, *options)
        self.accept = SchedulerBatchResultProcessor._accept_grammar_tokens
        self.info, self.spec_utils = SamplingBatchInfo, spec_utils
        self.n_drafted = self.n_trees = 0
        likely = {tokenizer.eos_token_id, *(tokenizer.convert_tokens_to_ids(each) for each in '}",:0123<>/et)')}
        self.likely = torch.tensor([8.0 if token in likely else 0.0 for token in range(len(tokenizer))])

    def add(self, *asked, reasoning=False, **options):
        """Requests whose grammars are compiled in SGLang's threads."""
        from sglang.srt.managers.schedule_batch import Req

        made = []
        for n, each in enumerate(asked):
            params = SamplingParams(**({"max_new_tokens": 60} | options | each))
            params.normalize(self.tokenizer)
            req = Req(str(n), "", array("q", [1, 2]), params, require_reasoning=reasoning, vocab_size=len(self.tokenizer))
            req.tokenizer = self.tokenizer
            self.manager.process_req_with_grammar(req)
            made.append(req)
        while self.manager.has_waiting_grammars():
            self.manager.get_ready_grammar_requests()
        return made

    def masks(self, grammars):
        """The masks of a step without drafts, put onto random logits."""
        logits = torch.randn(len(grammars), len(self.tokenizer)) + self.likely
        info = object.__new__(self.info)
        info.__dict__.update(grammars=grammars, temperatures=logits[:, :1], vocab_size=logits.shape[1], device="cpu")
        info.update_regex_vocab_mask()
        info.grammar_mask.apply(logits)
        return logits

    def take(self, req, tokens):
        """What the scheduler does with new tokens."""
        tokens = self.accept(SimpleNamespace(), req, tokens)
        req.output_ids.extend(tokens)
        req.update_finish_state(len(tokens))
        if req.grammar is not None:
            req.grammar.finished = req.finished()

    def run(self, reqs):
        while running := [req for req in reqs if not req.finished()]:
            logits = self.masks([req.grammar for req in running])
            assert logits.isfinite().any(dim=1).all()
            for req, row in zip(running, logits, strict=True):
                self.take(req, int(row.argmax()))

    def run_drafts(self, reqs, n_nodes=8):
        """The same with trees of drafted tokens. Each mask is compared with that of SGLang's own walk."""
        for req, row in zip(reqs, self.masks([req.grammar for req in reqs]), strict=True):
            self.take(req, int(row.argmax()))
        while running := [req for req in reqs if not req.finished()]:
            trees = [self.tree(req, n_nodes) for req in running]
            child, sibling, tokens = (torch.tensor(each) for each in zip(*trees, strict=True))
            masks, grammar = self.spec_utils.generate_token_bitmask(running, child, sibling, tokens, len(self.tokenizer))
            naive = torch.full_like(masks, -1)
            for n, req in enumerate(running):
                rows = naive[n * n_nodes : (n + 1) * n_nodes]
                walk = self.spec_utils.traverse_tree.__wrapped__
                walk(child[n], sibling[n], tokens[n], req.grammar, rows, vocab_size=len(self.tokenizer))
            assert torch.equal(masks, naive)
            self.n_trees += len(running)
            logits = torch.randn(masks.shape[0], len(self.tokenizer)) + self.likely
            grammar.apply_vocab_mask(logits, masks)
            for n, req in enumerate(running):
                self.take(req, self.verify(trees[n], logits[n * n_nodes : (n + 1) * n_nodes]))

    def tree(self, req, n_nodes):
        """A tree of tokens: some that the grammar allows after each other, and some at random."""
        child, sibling, tokens = [-1] * n_nodes, [-1] * n_nodes, [req.output_ids[-1]]
        inner = getattr(req.grammar, "grammar", req.grammar)
        good = inner.text._begun().finish() if inner.text._begun().n_tokens else []
        depth = {0: 0}
        for node in range(1, n_nodes):
            parent = self.draw.choice([node - 1, self.draw.randrange(node)])
            depth[node] = depth[parent] + 1
            likely = good[depth[parent]] if depth[parent] < len(good) else self.tokenizer.eos_token_id
            tokens.append(likely if self.draw.random() < 0.7 else self.draw.randrange(len(self.tokenizer)))
            child[parent], sibling[node] = node, child[parent]
        return child, sibling, tokens

    def verify(self, tree, logits):
        """The tokens of a path from the root, each allowed by the mask before, and one more."""
        child, sibling, tokens = tree
        path, node = [], 0
        while True:
            new, after = int(logits[node].argmax()), child[node]
            while after != -1 and not (logits[node][tokens[after]].isfinite() and self.draw.random() < 0.8):
                after = sibling[after]
            path.append(new if after == -1 else tokens[after])
            if after == -1 or path[-1] == self.tokenizer.eos_token_id:
                return path
            self.n_drafted += 1
            node = after


def text_of(tokenizer, req):
    assert req.output_ids[-1] == tokenizer.eos_token_id, (req.finished_reason, req.output_ids)
    return tokenizer.decode(req.output_ids[:-1])


def test_sglang_s_loader_finds_the_backend(tokenizer):
    manager = manager_of(tokenizer)
    assert "maskwright" in GRAMMAR_BACKEND_CHOICES
    assert type(manager.grammar_backend).__module__ == "maskwright.integrations.sglang"


def have_exact_masks(monkeypatch):
    """A mask with bounded work may be larger when it is made again, and two ways to make masks are compared."""
    monkeypatch.setenv("MASKWRIGHT_MASK_WORK", "none")


@pytest.mark.parametrize("drafts", [False, True])
def test_all_kinds_in_one_batch_are_complete_within_their_limits(tokenizer, drafts, monkeypatch):
    if drafts:
        have_exact_masks(monkeypatch)
    n_texts = n_drafted = n_trees = 0
    for seed in range(3):
        scheduler = Scheduler(tokenizer, seed)
        reqs = scheduler.add(*(asked for asked, _ in ASKED.values()), max_new_tokens=random.Random(seed).randint(24, 40))
        (scheduler.run_drafts if drafts else scheduler.run)(reqs)
        for (name, (_, judge)), req in zip(ASKED.items(), reqs, strict=True):
            text = text_of(tokenizer, req)
            assert judge(text), (name, text)
            n_texts += 1
        # The grammars come from SGLang's cache now.
        (again,) = scheduler.add(ASKED["json"][0], max_new_tokens=24)
        scheduler.run([again])
        assert is_person(text_of(tokenizer, again))
        n_drafted, n_trees = n_drafted + scheduler.n_drafted, n_trees + scheduler.n_trees
    assert n_texts == 3 * len(ASKED)
    assert not drafts or (n_drafted > 30 and n_trees > 30), (n_drafted, n_trees)


@pytest.mark.parametrize("drafts", [False, True])
def test_reasoning_is_free_and_taken_from_the_limit(tokenizer, drafts, monkeypatch):
    if drafts:
        have_exact_masks(monkeypatch)
    scheduler = Scheduler(tokenizer, options=["--reasoning-parser", "qwen3"])
    assert isinstance(scheduler.manager.grammar_backend, ReasonerGrammarBackend)
    (req,) = scheduler.add(ASKED["json"][0], reasoning=True, max_new_tokens=60)
    assert scheduler.masks([req.grammar]).isfinite().all()
    reasoning = [*tokenizer.encode("Let me see {"), *tokenizer.encode("</think>", add_special_tokens=False)]
    for token in reasoning:
        scheduler.take(req, token)
    assert req.grammar.grammar.text._begun().max_tokens == 60 - len(reasoning)
    (scheduler.run_drafts if drafts else scheduler.run)([req])
    assert len(req.output_ids) <= 60
    assert is_person(text_of(tokenizer, req).split("</think>")[1])


def test_reasoning_that_ends_within_a_draft(tokenizer):
    scheduler = Scheduler(tokenizer, options=["--reasoning-parser", "qwen3"])
    (req,) = scheduler.add(ASKED["json"][0], reasoning=True, max_new_tokens=60)
    scheduler.take(req, tokenizer.encode("Hm")[0])
    ends = tokenizer.encode("</think>", add_special_tokens=False)
    chain = torch.tensor([[req.output_ids[-1], *ends, *tokenizer.encode('{"name')]])
    tree = scheduler.spec_utils.GrammarTree.from_linear_chain(chain).resolve()
    masks, _ = scheduler.spec_utils.generate_token_bitmask([req], *tree, len(tokenizer))
    is_free = (masks == -1).all(dim=1)
    assert is_free[: len(ends)].all() and not is_free[len(ends) :].any()
    assert scheduler.masks([req.grammar]).isfinite().all()


def test_strict_reasoning_ends_within_its_budget(tokenizer, monkeypatch):
    monkeypatch.setenv("SGLANG_MAX_THINK_TOKENS", "5")
    scheduler = Scheduler(tokenizer, options=["--reasoning-parser", "qwen3", "--enable-strict-thinking"])
    scheduler.likely.zero_()
    (req,) = scheduler.add(ASKED["json"][0], reasoning=True)
    scheduler.run([req])
    end = tokenizer.encode("</think>", add_special_tokens=False)
    assert list(req.output_ids[5 : 5 + len(end)]) == end
    assert is_person(text_of(tokenizer, req).split("</think>")[1])


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ({"json_schema": '{"properties": {"a": {"type": "text"}}}'}, "`type` at /properties/a"),
        ({"json_schema": '{"type":'}, "the schema is not JSON"),
        ({"regex": "(a"}, "this group is not closed"),
        ({"ebnf": "root ::= a"}, "(line 1, column 10)"),
        ({"ebnf": "%llguidance {}\nstart: a"}, "(line 2, column 8)"),
        ({"structural_tag": '{"type":"structural_tag","format":{"type":"tog"}}'}, "/format"),
        ({"json_schema": json.dumps(PERSON), "max_new_tokens": 3}, "3 tokens are too few for the grammar: "),
    ],
)
def test_a_bad_request_fails_alone(tokenizer, asked, place):
    scheduler = Scheduler(tokenizer)
    for _ in range(2):  # the second time from SGLang's cache
        bad, good = scheduler.add(asked, {"regex": "yes"})
        assert place in bad.to_finish.message and bad.to_finish.status_code == 400
        scheduler.run([good])
        assert text_of(tokenizer, good) == "yes"


def test_stop_tokens_end_the_text_and_nothing_else(tokenizer):
    scheduler = Scheduler(tokenizer)
    stop = tokenizer.convert_tokens_to_ids("b")
    reqs = scheduler.add(*[{"regex": "[abc]{4}"}] * 30, stop_token_ids=[stop])
    scheduler.likely[stop] = 12.0
    scheduler.run(reqs)
    for req in reqs:
        assert stop not in req.output_ids[:-1]
        assert re.fullmatch("[abc]{4}", tokenizer.decode(req.output_ids[:-1]))
    assert any(req.output_ids[-1] == stop for req in reqs)


def test_limits_cost_the_scheduler_little(tokenizer, monkeypatch):
    """The first matchers of 30 schemas with generous and tight limits: what the scheduler's thread does, and all that is done."""
    from sglang.srt.constrained.grammar_manager import GrammarManager

    schemas = json.loads((Path(__file__).parent / "schemas.json").read_text(encoding="utf-8"))
    times = {}

    def timed(name):
        method = getattr(GrammarManager, name)

        def wrapped(manager, req):
            start = time.perf_counter()
            try:
                return method(manager, req)
            finally:
                times[limit].append((time.perf_counter() - start) * 1e3)

        monkeypatch.setattr(GrammarManager, name, wrapped)

    scheduler = Scheduler(tokenizer)
    for name in ("process_req_with_grammar", "_apply_request_reasoning_config"):
        timed(name)
    for limit in (400, 60, 40, 24, 10, "10 again"):
        times[limit], start = [], time.perf_counter()
        for schema in schemas.values():
            scheduler.add({"json_schema": json.dumps(schema)}, max_new_tokens=int(str(limit).split()[0]))
        everything = (time.perf_counter() - start) * 1e3
        by_time = sorted(times[limit])
        print(
            f"\nlimit {limit}: p50 {by_time[len(by_time) // 2]:.2f} ms, most {by_time[-1]:.2f} ms, ",
            f"{sum(by_time):.0f} of {everything:.0f} ms",
            end="",
        )
        assert by_time[len(by_time) // 2] < 5


TOOLS = [{"type": "function", "function": {"name": "note", "description": "Note a person", "parameters": PERSON, "strict": True}}]


def test_the_server_on_a_cpu(tmp_path_factory):
    with Server("sglang", "--grammar-backend", "maskwright", "--tool-call-parser", "hermes") as server:
        asked = [each for each, _ in ASKED.values()] + [{"regex": "("}, {"json_schema": json.dumps(PERSON), "max_new_tokens": 3}]
        params = [{"temperature": 1, "max_new_tokens": 24 + n} | each for n, each in enumerate(asked)]
        *answers, bad, short = server.generate_all(params)
        for (name, (_, judge)), answer in zip(ASKED.items(), answers, strict=True):
            assert answer["meta_info"]["finish_reason"]["type"] == "stop", (name, answer)
            assert judge(answer["text"]), (name, answer["text"])
        assert bad["status"] == short["status"] == 400
        assert "not closed" in bad["error"]
        assert "3 tokens are too few for the grammar: " in short["error"]

        client = OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0, timeout=400)
        for page in run_by("cargo xtask hosts sglang"):
            folder = tmp_path_factory.mktemp("page")
            names = run_page(page, "cargo xtask hosts sglang", folder, {"127.0.0.1:30000": f"127.0.0.1:{server.port}"}).names
            if page == "docs/guides/sglang.md":
                assert names["done"].choices[0].finish_reason == "stop"
                jsonschema.Draft202012Validator(names["schema"]).validate(json.loads(names["done"].choices[0].message.content))
        done = client.chat.completions.create(
            model="default",
            messages=[{"role": "user", "content": "Note that Ada is 36."}],
            tools=TOOLS,
            tool_choice="required",
            max_tokens=60,
        )
        (call, *_) = done.choices[0].message.tool_calls
        assert call.function.name == "note" and is_person(call.function.arguments)


class Stream(threading.Thread):
    """Free text, until it is stopped; with the moments at which its parts came."""

    def __init__(self, server):
        super().__init__()
        self.client = OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0, timeout=400)
        self.moments, self.is_over = [], False
        self.start()
        while len(self.moments) < 5 and self.is_alive():
            time.sleep(0.05)

    def run(self):
        messages = [{"role": "user", "content": "Tell a long story."}]
        given = {"model": "default", "messages": messages, "max_tokens": 400, "extra_body": {"min_tokens": 400}}
        with self.client.chat.completions.create(**given, stream=True) as stream:
            for _ in stream:
                self.moments.append(time.monotonic())
                if self.is_over:
                    break

    def largest_gap(self):
        self.is_over = True
        self.join()
        return max(b - a for a, b in itertools.pairwise(self.moments))


def test_hostile_requests_beside_a_stream():
    with Server("sglang-hostile", "--grammar-backend", "maskwright", "--enable-metrics") as server:
        stream = Stream(server)
        time.sleep(10)
        idle = stream.largest_gap()
        print(f"\nlargest gap of a free stream alone: {idle:.2f} s")
        n_refused = n_tokens = 0
        for each in hostile.REQUESTS:
            field = {"json": "json_schema", "gbnf": "ebnf", "lark": "ebnf", "choice": "regex"}.get(each.kind, each.kind)
            source = "|".join(map(re.escape, each.source)) if each.kind == "choice" else each.source
            source = source if isinstance(source, str) else json.dumps(source)
            params = {field: source, "max_new_tokens": each.max_tokens, "temperature": 1, "custom_params": each.options}
            stream, start = Stream(server), time.monotonic()
            answer = server.generate(params)
            seconds, gap = time.monotonic() - start, stream.largest_gap()
            said = answer["error"] if "error" in answer else f"{answer['meta_info']['completion_tokens']} tokens"
            print(f"{each.name}: gap {gap:.2f} s, {seconds:.1f} s, {said[:150]}")
            if "error" in answer:
                assert answer["status"] == 400, answer
                n_refused += 1
            else:
                assert answer["meta_info"]["finish_reason"]["type"] == "stop", answer
                n_tokens += answer["meta_info"]["completion_tokens"]
                each.judge(answer["text"])
            assert gap <= idle + 0.5, each.name
        counted = server.metrics()
        print("; ".join(f"{name} {counted(name):g}" for name in METRICS))
        assert counted("maskwright_requests_refused_total") == n_refused
        assert abs(counted("maskwright_masks_total") - n_tokens) <= 0.02 * n_tokens + len(hostile.REQUESTS)
        assert counted("maskwright_masks_total", status="bound") > 0
        assert counted("maskwright_info", version=maskwright.__version__) == 1
        log = server.log.read_text()
        assert "maskwright: grammars are those of Maskwright" in log


def test_compilations_hold_up_no_known_grammar():
    """24 schemas that take long or are refused, at once beside ten requests whose grammar is known and ten free ones."""
    known = [{"regex": "[0-9]{24}", "max_new_tokens": 25}] * 10
    free = [{"ignore_eos": True, "max_new_tokens": 25}] * 10
    hard = [{"json_schema": json.dumps(hostile.hard_to_compile(n)), "max_new_tokens": 60} for n in range(24)]
    # Of a grammar that is known, with limits that are not: each is checked in a thread. SGLang gives its answer when there is room in a batch.
    limits = [{"regex": "[0-9]{24}", "max_new_tokens": 14 - n} for n in range(10)]

    def timed(params):
        start = time.monotonic()
        return server.generate(params), time.monotonic() - start

    with Server("sglang-hard", "--grammar-backend", "maskwright", "--enable-metrics") as server, ThreadPoolExecutor(64) as pool:
        server.generate_all(known[:1] + free)
        scheduler = server.child("scheduler")
        before = memory_of(scheduler)
        idle = [said_of(each) for each in server.generate_all(hard[:3])]
        counted = server.metrics()
        n_checks = counted("maskwright_check_seconds_count")
        n_quick = counted("maskwright_check_seconds_bucket", le="0.3")
        most, done = [before], threading.Event()

        def watch():
            while not done.wait(0.05):
                most.append(memory_of(scheduler))

        watching = pool.submit(watch)
        of_hard = [pool.submit(timed, each) for each in hard]
        time.sleep(0.3)
        beside = [[pool.submit(timed, each) for each in some] for some in (known, free, limits)]
        beside = [[each.result() for each in some] for some in beside]
        of_hard = [each.result() for each in of_hard]
        done.set()
        watching.result()
        of_known, of_free, of_limits = beside
        seconds = [mean(each for _, each in some) for some in (of_known, of_free)]
        print(f"\nknown {seconds[0]:.2f} s, free {seconds[1]:.2f} s, hard {max(each for _, each in of_hard):.1f} s; ", end="")
        print(f"memory {before} MB, at most {max(most)} MB")
        assert all(re.fullmatch("[0-9]{24}", answer["text"]) for answer, _ in of_known)
        assert all("are enough, the end" in answer["error"] for answer, _ in of_limits)
        assert {answer.get("status") for answer, _ in of_hard} == {400}
        counted = server.metrics()
        # All but the hard ones are checked at once. Those of known limits are not counted: they wait for nothing.
        n_checks = counted("maskwright_check_seconds_count") - n_checks
        assert n_checks >= len(limits)
        assert n_checks - (counted("maskwright_check_seconds_bucket", le="0.3") - n_quick) <= len(hard) - 3
        assert seconds[0] <= 1.3 * seconds[1]
        assert max(most) - before <= 600
        # Three schemas were known by their errors; of the others a third are impossible, the rest reach a limit.
        assert counted("maskwright_requests_refused_total", reason="work") == 16 + 2
        with load(8):
            again = server.generate_all(hard[:3])
        assert [said_of(each) for each in again] == idle == [said_of(answer) for answer, _ in of_hard[:3]]
        after = memory_of(scheduler)
        print(f"memory after it: {after} MB")
        assert after - before <= 250


def said_of(answer):
    return answer.get("error")


METRICS = ["maskwright_compilations_total", "maskwright_masks_total", "maskwright_mask_seconds_sum", "maskwright_requests_refused_total"]


def test_options_of_a_request(tokenizer):
    schema = {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"], "additionalProperties": False}
    asked = {"json_schema": json.dumps(schema)}
    scheduler = Scheduler(tokenizer)
    given = {"maskwright_property_order": "any"}
    reqs = scheduler.add(*([asked, asked | {"custom_params": given}] * 8))
    scheduler.run(reqs)
    orders = [tuple(json.loads(tokenizer.decode(req.output_ids[:-1]))) for req in reqs]
    assert set(orders[::2]) == {("a", "b")} and ("b", "a") in orders[1::2]
    (refused,) = scheduler.add(asked | {"custom_params": {"maskwright_grammars": 3}})
    assert "custom_params: maskwright_grammars is no option of a request" in (refused.to_finish or refused.finished_reason).message
