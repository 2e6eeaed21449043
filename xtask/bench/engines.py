"""The engines that the benchmarks run, behind one interface.

An engine is made for a tokenizer file. `compile(schema)` takes a schema as a value, `compile_lark(text, lexer,
indentation)` a grammar in Lark's language; `start()` begins a text, `fill()` computes the mask of the next token,
`allows(token)` looks into it, `commit(token)` goes on, `at_end()` says whether the text may end.
"""

import json
from time import perf_counter_ns, process_time_ns

import numpy


class Maskwright:
    """This project's package."""

    def __init__(self, tokenizer_file, property_order="schema"):
        import maskwright

        self.maskwright = maskwright
        self.property_order = property_order
        tokenizer = maskwright.Tokenizer.from_file(tokenizer_file)
        self.compiler = maskwright.Compiler(tokenizer)
        self.mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)

    def compile(self, schema):
        self.grammar = self.compiler.compile_json_schema(
            json.dumps(schema), numbers="any", property_order=self.property_order
        )

    def compile_lark(self, text, lexer, indentation):
        self.grammar = self.compiler.compile_lark(text, lexer=lexer, indentation=indentation)

    def start(self):
        self.matcher = self.maskwright.Matcher(self.grammar)

    def fill(self):
        self.matcher.fill_next_token_bitmask(self.mask)

    def allows(self, token):
        return bool(self.mask[0, token >> 5] >> (token & 31) & 1)

    def commit(self, token):
        return self.matcher.accept_token(token)

    def at_end(self):
        return self.matcher.is_accepting()


class LlGuidance:
    """llguidance: an Earley parser that walks the token trie at each step."""

    def __init__(self, tokenizer_file):
        import llguidance
        import llguidance.numpy

        self.llguidance = llguidance
        with open(tokenizer_file, encoding="utf-8") as file:
            self.tokenizer = llguidance.LLTokenizer(file.read())
        self.mask = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        self.fill_bitmask = llguidance.numpy.fill_next_token_bitmask

    def compile(self, schema):
        self.compile_grammar(json.dumps({"grammars": [{"json_schema": schema}]}))

    def compile_lark(self, text, lexer, indentation):
        # It lexes in a way of its own, and has no indentation. Since it reads `*?` as `*`, comments would not end.
        text = text.replace(r"/\/\*[\s\S]*?\*\//", r"/\/\*([^*]|\*+[^*\/])*\*+\//")
        # With its default limit it gives up in the middle of programs in Go.
        limits = self.llguidance.LLParserLimits(step_max_items=10_000_000)
        self.compile_grammar(self.llguidance.LLMatcher.grammar_from_lark(text), limits)

    def compile_grammar(self, grammar, limits=None):
        self.first = self.llguidance.LLMatcher(self.tokenizer, grammar, limits=limits)
        if self.first.is_error():
            raise ValueError(self.first.get_error())

    def start(self):
        self.matcher = self.first.deep_copy()

    def fill(self):
        self.fill_bitmask(self.matcher, self.mask, 0)

    def allows(self, token):
        return bool(self.mask[0, token >> 5] >> (token & 31) & 1)

    def commit(self, token):
        return self.matcher.consume_token(token)

    def at_end(self):
        return self.matcher.is_accepting()


class GlrMask:
    """glrmask: automata that are computed before the first mask."""

    def __init__(self, tokenizer_file):
        import glrmask

        self.glrmask = glrmask
        tokens = token_bytes(tokenizer_file)
        self.vocabulary = glrmask.Vocab.from_id_to_bytes(tokens)
        self.mask = numpy.zeros(max(tokens) // 32 + 1, dtype=numpy.int32)

    def compile(self, schema):
        grammar = self.glrmask.Grammar.from_json_schema(json.dumps(schema))
        self.grammar = grammar.compile(self.vocabulary)

    def start(self):
        self.state = self.grammar.start()

    def fill(self):
        self.state.fill_mask(self.mask)

    def allows(self, token):
        return bool(self.mask[token >> 5] >> (token & 31) & 1)

    def commit(self, token):
        return self.state.commit_token(token)

    def at_end(self):
        return self.state.is_accepting()


class XGrammar:
    """xgrammar: pushdown automata, with masks computed in advance for each state where the stack does not matter.

    It compiles in one thread. `strict_mode` is off: it would forbid all properties that a schema does not name."""

    def __init__(self, tokenizer_file):
        import xgrammar

        self.xgrammar = xgrammar
        tokens = token_bytes(tokenizer_file)
        self.end_of_text = end_of_text(tokenizer_file)
        size = max([*tokens, self.end_of_text]) + 1
        vocabulary = [tokens.get(token, b"") for token in range(size)]
        info = xgrammar.TokenizerInfo(
            vocabulary, xgrammar.VocabType.RAW, vocab_size=size, stop_token_ids=[self.end_of_text]
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self.mask = xgrammar.allocate_token_bitmask(1, size)
        self.words = self.mask.numpy()

    def compile(self, schema):
        self.grammar = self.compiler.compile_json_schema(json.dumps(schema), strict_mode=False)

    def start(self):
        self.matcher = self.xgrammar.GrammarMatcher(self.grammar)

    def fill(self):
        # It does not write a mask that has every token.
        self.is_masked = self.matcher.fill_next_token_bitmask(self.mask)

    def allows(self, token):
        return not self.is_masked or bool(self.words[0, token >> 5] >> (token & 31) & 1)

    def commit(self, token):
        return self.matcher.accept_token(token)

    def at_end(self):
        return self.matcher.is_completed()


class OutlinesCore:
    """outlines-core: a schema becomes a regular expression, and an index has the tokens of each of its states."""

    def __init__(self, tokenizer_file):
        import outlines_core
        from outlines_core.json_schema import build_regex_from_schema

        self.outlines_core = outlines_core
        self.to_regex = build_regex_from_schema
        ids = {}
        tokens = token_bytes(tokenizer_file)
        for token, text in tokens.items():
            ids.setdefault(text, []).append(token)
        self.end_of_text = end_of_text(tokenizer_file)
        self.vocabulary = outlines_core.Vocabulary(self.end_of_text, ids)
        self.mask = numpy.zeros(max([*tokens, self.end_of_text]) // 32 + 1, dtype=numpy.int32)

    def compile(self, schema):
        self.index = self.outlines_core.Index(self.to_regex(json.dumps(schema)), self.vocabulary)

    def start(self):
        self.guide = self.outlines_core.Guide(self.index)

    def fill(self):
        self.guide.write_mask_into(self.mask.ctypes.data, self.mask.size, self.mask.itemsize)

    def allows(self, token):
        return bool(self.mask[token >> 5] >> (token & 31) & 1)

    def commit(self, token):
        self.guide.advance(token, return_tokens=False)

    def at_end(self):
        return self.guide.is_finished()


ENGINES = {
    "maskwright": Maskwright,
    "maskwright, any order": lambda tokenizer_file: Maskwright(tokenizer_file, property_order="any"),
    "llguidance": LlGuidance,
    "xgrammar": XGrammar,
    "glrmask": GlrMask,
    "outlines-core": OutlinesCore,
}


def replay(engine, tokens):
    """Reads a text token by token: a mask, a look whether it has the token, a commit.

    Returns whether every token is in its mask and the end is accepted, and the times of the masks and of the commits,
    in microseconds."""
    engine.start()
    masks, commits = [], []
    for token in tokens:
        masks.append(timed(engine.fill))
        if not engine.allows(token):
            return False, masks, commits
        commits.append(timed(engine.commit, token))
    return bool(engine.at_end()), masks, commits


def timed(call, *arguments):
    """Calls, and returns how long it took, in microseconds.

    It is the lesser of the time on the clock and of the processor time of all threads: so the time that the machine
    gives to other programs does not count, nor, for short calls, the cost of asking for the processor time."""
    processor = process_time_ns()
    start = perf_counter_ns()
    call(*arguments)
    elapsed = perf_counter_ns() - start
    return min(elapsed, process_time_ns() - processor) / 1000


def token_bytes(tokenizer_file):
    """The bytes of every token that matches as text, by its id, as this project's loader has them."""
    import maskwright

    tokenizer = maskwright.Tokenizer.from_file(tokenizer_file)
    tokens = ((token, tokenizer.token_bytes(token)) for token in range(tokenizer.vocab_size))
    return {token: text for token, text in tokens if text}


def end_of_text(tokenizer_file):
    """The token that ends a text, as this project's loader finds it."""
    import maskwright

    return maskwright.Tokenizer.from_file(tokenizer_file).eos_token_ids[0]
