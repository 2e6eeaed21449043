"""Types of the compiled part. The docstrings are those of the compiled part; `python/tests/stub_docs.py` writes them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from os import PathLike
from types import UnionType
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Unpack, _SpecialForm, final, overload, type_check_only

import numpy as np
import numpy.typing as npt
from typing_extensions import deprecated

from maskwright._decoder import Decoder
from maskwright._options import JsonOptions
from maskwright._report import Report
from maskwright._trace import Trace

@type_check_only
class _Tensor(Protocol):
    """A CPU tensor of torch, which need not be installed."""

    def numpy(self) -> Any: ...

@type_check_only
class _HfTokenizer(Protocol):
    """A `tokenizers.Tokenizer`."""

    def to_str(self) -> str: ...

@type_check_only
class _HfFastTokenizer(Protocol):
    """A fast tokenizer of `transformers`."""

    @property
    def backend_tokenizer(self) -> _HfTokenizer: ...

@type_check_only
class _TiktokenEncoding(Protocol):
    """A `tiktoken.Encoding`."""

    @property
    def name(self) -> str: ...
    @property
    def n_vocab(self) -> int: ...

@type_check_only
class _TypeAdapter(Protocol):
    """A `pydantic.TypeAdapter`."""

    def json_schema(self) -> dict[str, Any]: ...
    def validate_python(self, object: Any, /) -> Any: ...

@type_check_only
class _Model(Protocol):
    """A model that writes itself as JSON, such as a `pydantic.BaseModel`."""

    def model_dump_json(self, *, by_alias: bool) -> str: ...

@type_check_only
class _AdvancedLimits(TypedDict, total=False):
    compile_bytes: int
    max_threads: int
    max_calls: int
    max_states: int
    max_residue_size: int
    liveness_fuel: int
    row_cache_bytes: int
    automaton_bytes: int
    machine_bytes: int

@type_check_only
class _Limits(TypedDict, total=False):
    compile_work: int
    mask_work: int
    infill_work: int
    memory_bytes: int
    max_positions: int
    advanced: _AdvancedLimits

@type_check_only
class _IndentationNames(TypedDict, total=False):
    """Names of terminals; "open" and "close" are brackets, and "tab_len" is the width of a tab."""

    newline: str
    indent: str
    dedent: str
    open: Sequence[str]
    close: Sequence[str]
    tab_len: int

@type_check_only
class _Indenter(Protocol):
    """A `lark.indenter.Indenter`."""

    @property
    def NL_type(self) -> str: ...
    @property
    def OPEN_PAREN_types(self) -> Sequence[str]: ...
    @property
    def CLOSE_PAREN_types(self) -> Sequence[str]: ...
    @property
    def INDENT_type(self) -> str: ...
    @property
    def DEDENT_type(self) -> str: ...
    @property
    def tab_len(self) -> int: ...

@type_check_only
class _Options(JsonOptions, total=False):
    """The options of `compile_json_schema` and `compile_lark`."""

    documents: dict[str, _Schema] | None
    start: str
    lexer: Literal["contextual", "basic", "dynamic_complete"] | None
    dialect: Literal["lark", "llguidance"]
    indentation: Literal["python"] | _IndentationNames | _Indenter | None
    import_paths: Sequence[str | PathLike[str]]
    special_tokens_in_text: bool
    capture: Sequence[str]

# A type, as `schema_from` takes it. `Literal[...]` is a `_SpecialForm` for mypy and a `type` for pyright.
_Type: TypeAlias = type[Any] | UnionType | _SpecialForm | Callable[..., Any] | _TypeAdapter | None
# JSON text, a file, a JSON Schema as a value, or a type.
_Schema: TypeAlias = str | PathLike[str] | Mapping[str, Any] | bool | _Type
# The same without text, which could be anything, and a pattern.
_Source: TypeAlias = re.Pattern[str] | PathLike[str] | Mapping[str, Any] | bool | _Type

__version__: str

class Error(ValueError):
    """The input of a call is wrong. The base class of the package's errors.

    `str(error)` says where the fault is and what to do about it. The same facts are attributes, each None if it does not
    apply:

    * `pointer`: the JSON pointer of the schema at fault; the empty string is the whole document. In another document than
      the compiled one: that document's URI, `#` and the pointer. `keyword`: the keyword at fault there.
    * `line` and `column`, from 1, in the text at fault: a grammar, a pattern (in a schema too), or JSON. Columns count
      characters.
    * `path`: the file at fault, as a str. For a schema this is the file that was compiled; if the fault is in another
      document, `pointer` names it.
    * `hint`: what to do about it. `needed`, of a MaxTokensTooSmall alone: how many tokens are enough.
    """
    pointer: str | None
    """The JSON pointer of the schema at fault; in another document than the compiled one, its URI, `#` and the pointer."""
    keyword: str | None
    """The JSON Schema keyword at fault there."""
    line: int | None
    """The line, from 1, in the text at fault: a grammar, a pattern (in a schema too), or JSON."""
    column: int | None
    """The column in characters, from 1, in the same text."""
    path: str | None
    """The file at fault. For a schema this is the file that was compiled; if the fault is in another document, `pointer` names it."""
    hint: str | None
    """What to do about it; the message has it too."""

class GrammarError(Error):
    """The grammar (regular expression, GBNF, Lark, choice) is wrong, no text fits it, or the call is not supported for its kind."""

class SchemaError(Error):
    """The JSON Schema is wrong, no text fits it, or it has a keyword that cannot be enforced."""

class TokenizerError(Error):
    """The tokenizer is wrong, or a text cannot be written with it."""

class LimitError(Error):
    """A limit on work or size was reached; raising the compiler's limits may help."""

class MaxTokensTooSmall(Error):
    """The limit on tokens is too small. `needed`: how many are enough. Within that many, and within any more, a text begins and is complete."""
    needed: int

class SchemaWarning(UserWarning):
    """A JSON Schema has a keyword that is probably misspelt, or an unknown format, which is not checked."""

class GrammarWarning(UserWarning):
    """A string of a grammar contains the name of a special token, which the string never matches."""

class BatchError(Error):
    """Some rows of a batch of masks failed. `errors` is a dict from row to exception. These rows allow no token; all others are filled."""
    errors: dict[int, Exception]

class WorkCancelled(RuntimeError):
    """The work was cancelled through its CancelToken. Not a ValueError: nothing is wrong with the input."""

class InternalError(RuntimeError):
    """A bug in this package. Every later call of the same Matcher fails too, except `reset`. Other matchers are not affected."""

@final
class Tokenizer:
    """A model's vocabulary, and how it splits text into tokens. Immutable.

    Made by `from_file`, `from_hf`, `from_tiktoken`, `from_gguf` or `from_tokens`. Unless the ids that end a
    text are given, they are read from the tokenizer's files or found by their well-known names.

    >>> tokenizer = Tokenizer.from_tokens([b"a", b"ab", b"b", b"</s>"], eos_token_ids=[3])
    >>> tokenizer.encode("abba")
    [1, 2, 0]
    """
    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        *,
        eos_token_ids: Sequence[int] | None = None,
        vocab_size: int | None = None,
    ) -> Tokenizer:
        """Reads a Hugging Face `tokenizer.json`.

        * `eos_token_ids`: the ids that end a text. By default they come from `generation_config.json` or
          `tokenizer_config.json` beside the file, or are the tokens with a well-known name.
        * `vocab_size`: the width of the model's logits, if it is larger than the tokenizer's vocabulary.

        Raises TokenizerError if the file cannot be read or understood, or no id ends a text.
        """
    @classmethod
    def from_hf(
        cls,
        tokenizer: _HfTokenizer | _HfFastTokenizer,
        *,
        model: object | None = None,
        eos_token_ids: Sequence[int] | None = None,
        vocab_size: int | None = None,
    ) -> Tokenizer:
        """Takes a fast tokenizer of `transformers`, or a `tokenizers.Tokenizer`.

        * `model`: the model of `transformers` that the tokenizer is for, or its config. `vocab_size` and the
          ids that end a text are the model's: those at which `generate` stops, and the width of its logits.
        * `eos_token_ids`: by default the model's, or else the tokenizer's `eos_token_id`, if it has one.

        Raises TypeError for another object, TokenizerError if no id ends a text.
        """
    @classmethod
    def from_tiktoken(
        cls,
        encoding: str | _TiktokenEncoding,
        *,
        eos_token_ids: Sequence[int] | None = None,
        vocab_size: int | None = None,
    ) -> Tokenizer:
        """Takes the name of one of OpenAI's encodings (`gpt2`, `r50k_base`, `p50k_base`, `cl100k_base`,
        `o200k_base`, `o200k_harmony`; they are built in) or a `tiktoken.Encoding`.

        For an Encoding of another name, `encode` takes the longest token that fits at each place: the bytes
        are the same, the tokens may differ from tiktoken's.
        """
    @classmethod
    def from_gguf(
        cls,
        path: str | PathLike[str],
        *,
        eos_token_ids: Sequence[int] | None = None,
        vocab_size: int | None = None,
    ) -> Tokenizer:
        """Reads the vocabulary inside a GGUF file.

        Raises TokenizerError if the file cannot be read or understood, or no id ends a text.
        """
    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes],
        eos_token_ids: Sequence[int] | None = None,
        special_token_ids: Sequence[int] | None = None,
        *,
        eos: Sequence[int] | None = None,
    ) -> Tokenizer:
        """Makes a vocabulary of the given byte strings; token `i` is `tokens[i]`. An empty string is a token
        that never matches. `encode` takes the longest token that fits at each place. `eos_token_ids`, for
        which `eos` is another name, are the ids that end a text; there may be none. The tokens of
        `special_token_ids` never match as text; a grammar can name them by what would be their bytes.

        Raises TokenizerError if an id is out of range, or the name of a special token is not UTF-8.
        """
    @property
    def vocab_size(self) -> int:
        """The width of the model's logits, in tokens."""
    @property
    def chat_template(self) -> str | None:
        """The model's chat template, if the tokenizer's files or the tokenizer of `transformers` have one; else
        None.
        """
    @property
    def eos_token_ids(self) -> list[int]:
        """The ids that end a text, in ascending order."""
    @property
    def special_tokens(self) -> dict[str, int]:
        """The names and ids of the special tokens, which never match as text: those of the file, or of
        `special_token_ids`.
        """
    def decoder(self) -> Decoder:
        r"""What turns tokens into text as they come, for output that is shown while it is written. A character
        whose bytes are in several tokens appears with the last of them.

        >>> decoder = Tokenizer.from_tokens([b"caf", b"\xc3", b"\xa9"], []).decoder()
        >>> [decoder.feed(token) for token in [0, 1, 2]]
        ['caf', '', 'é']
        """
    def serialize(self) -> bytes:
        """The tokenizer as bytes, for `deserialize`."""
    @staticmethod
    def deserialize(saved: bytes) -> Tokenizer:
        """Reads what `serialize` wrote. The bytes need not be trusted.

        Raises TokenizerError if they are no saved tokenizer, damaged or of another version, or what they say
        is wrong.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __copy__(self) -> Tokenizer:
        """The same: a tokenizer does not change."""
    def __deepcopy__(self, _memo: Any) -> Tokenizer:
        """The same: a tokenizer does not change."""
    def token_bytes(self, token_id: int) -> bytes | None:
        """The bytes of a token, or None for special tokens and unused ids, which never match as text.

        Raises IndexError if `token_id` is not within `vocab_size`.
        """
    def encode(self, text: str | bytes) -> list[int]:
        """The tokens of a text (str or bytes). They spell exactly the text: special tokens are neither
        recognised in it nor added.

        Raises TokenizerError if no tokens spell it.
        """
    def decode(self, token_ids: Sequence[int]) -> bytes:
        """The bytes of tokens, joined. Special tokens have none.

        Raises TokenizerError for what cannot be a token, such as -1.
        """

@final
class CancelToken:
    """Ends compilations from another thread: give it to `compile_*` as `cancel`, and call `cancel()`.

    * `work`: the work units of compilations after which it cancels itself, about; None for any number.

    A cancelled token stays cancelled. An exception raised by a signal handler during a compilation (Ctrl-C,
    for example) cancels its token too.
    """
    def __new__(cls, *, work: int | None = None) -> CancelToken: ...
    def cancel(self) -> None:
        """Ends every compilation that uses this token, soon after, with WorkCancelled."""
    @property
    def is_cancelled(self) -> bool:
        """Whether it is cancelled: `cancel()` was called, or the `work` is spent."""

@final
class Compiler:
    """Compiles grammars for one tokenizer, and owns the caches that they share. It can be used from many
    threads. Compiling releases the interpreter, and Ctrl-C ends it.

    * `limits`: a dict with any of these. Work units and sizes are the same on every machine.

      * `compile_work`: work units of one compilation.
      * `mask_work`: work units, of some 20 ns, of one mask, and of one call that accepts or checks tokens; no
        limit by default. If they do not suffice, the mask has the tokens that are proven to be allowed by
        then, and its status is "bound"; if none is proven, one is looked for with more work. A token that is
        not decided is refused, unless the last mask had it.
      * `infill_work`: work units, of 10 to 35 ns, of the first question about a Template or Canvas, and of an
        exact mask: 150,000,000 by default, some five seconds at most. A question about one token takes at
        most a third of it.
      * `max_positions`: the positions of a Canvas, or the fixed pieces and tokens of a Template.
      * `memory_bytes`: of all grammars and shared caches together. Beyond it, data that can be computed again
        is dropped, of the least recently used grammars first.
      * `advanced`: a dict with any of these. `compile_bytes`: bytes that a compilation may take, beside what
        it shares with others. `max_threads`: parses of an ambiguous text that are followed at once;
        `max_calls`: rules that may begin at one byte. `max_states`, `max_residue_size` and `liveness_fuel`:
        the states of one terminal (a pattern, for example), the work units of one step in it, and those of
        one search for a word of it. `row_cache_bytes` and `automaton_bytes`: of the shared caches;
        `machine_bytes`: of one grammar's tables.

    * `threads`: the most threads that a batch of masks uses; by default one per core.
    * `rows`: a file that `save_rows` wrote. The compiler starts with the tables in it instead of building
      them, and raises what `load_rows` raises.

    Every `compile_*` raises LimitError if a limit is reached, and WorkCancelled if `cancel` is cancelled.
    """
    def __new__(
        cls,
        tokenizer: Tokenizer,
        limits: _Limits | None = None,
        threads: int | None = None,
        *,
        rows: str | PathLike[str] | None = None,
    ) -> Compiler: ...
    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that masks are for."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __copy__(self) -> Compiler:
        """The same: its caches are to be shared."""
    def __deepcopy__(self, _memo: Any) -> Compiler:
        """The same: its caches are to be shared."""
    def compile(
        self, source: _Source, *, cancel: CancelToken | None = None, **options: Unpack[_Options]
    ) -> CompiledGrammar:
        """Compiles what `source` is, by its type:

        * a Pydantic model, a dataclass, `list[T]`, a function and whatever else `schema_from` takes, a dict
          (a JSON Schema) among them: the JSON texts of its values, as `compile_json_schema` compiles them. So
          the texts of an Enum or a Literal are in quotes; `compile_choice` compiles them without.
        * a `re.Pattern`: the texts that its `fullmatch` matches.
        * the path of a file as `os.PathLike`, ending in `.json`, `.lark` or `.gbnf`.

        `options` are those of the method that compiles it: `compile_json_schema`, `compile_regex`,
        `compile_lark` or `compile_gbnf`.

        Raises what that method raises, and TypeError for a plain str, which could be anything.
        """
    def compile_json_schema(
        self,
        schema: _Schema,
        *,
        property_order: Literal["schema", "any"] = "schema",
        whitespace: Literal["flexible", "compact", "any"] = "flexible",
        max_whitespace: int | None = None,
        numbers: Literal["plain", "any"] = "plain",
        strict: bool = True,
        documents: dict[str, _Schema] | None = None,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compiles a JSON Schema: the grammar's texts are the JSON texts that the schema allows.

        * `schema`: JSON text, the path of a file as `os.PathLike`, a dict, a bool, or a type, as
          `schema_from` takes it. The texts of a type are those that Pydantic's validator takes, as far as a
          schema can say that.
        * `property_order`: "schema" (properties come in the order of the schema) or "any".
        * `whitespace`: "flexible" (as common JSON writers produce it: none, single blanks, or line feeds with
          indentation, brackets padded on both sides or on neither), "compact" (none) or "any" (all that JSON
          allows).
        * `max_whitespace`: with `whitespace` "any" or left out, at most this many characters at each place
          where JSON allows white space, and none around the whole text.
        * `numbers`: "plain" (as common JSON writers write them: integers in digits only; other numbers within
          the range of a float, with at most 17 digits if they have a fraction, and exponents as Python or
          JavaScript writes them) or "any" (all that the schema allows: `1.0` is an integer too).
        * `strict`: if true, a keyword that cannot be enforced raises; if false, `report` names it.
        * `documents`: a dict from URIs to other schemas, each given like `schema`; a `$ref` finds them by URI
          or by their `$id`. If the schema is a file, a `$ref` finds files beside it by name. Files outside of
          its folder are not read, and at most 4,096 files of 64 MiB in total are.

        Warns (SchemaWarning) about keywords that are probably misspelt, and about unknown formats, which are
        not checked.

        Raises SchemaError, with the JSON pointer of the fault, and OSError if the file cannot be read.
        """
    def compile_structural_tag(
        self,
        tag: str | PathLike[str] | dict[str, Any] | _Model,
        *,
        property_order: Literal["schema", "any"] = "schema",
        whitespace: Literal["flexible", "compact", "any"] = "flexible",
        max_whitespace: int | None = None,
        numbers: Literal["plain", "any"] = "plain",
        strict: bool = True,
        special_tokens_in_text: bool = False,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compiles a structural tag, in the JSON of xgrammar: free text, reasoning between tags, calls of tools
        with arguments by a JSON Schema.

        * `tag`: JSON text, the path of a file as `os.PathLike`, a dict, or a model with `model_dump_json`,
          such as xgrammar's own `StructuralTag`. The old forms, with `structures` or `tags` and `triggers`,
          are read too.
        * `property_order`, `whitespace`, `max_whitespace` and `numbers`: as for `compile_json_schema`, for
          the schemas in it. A format may say otherwise with `any_order` and `max_whitespace_cnt`. Around a
          schema's text there is no white space.
        * `strict`: if true, what cannot be enforced raises: some keywords, and `uniqueItems` in a schema that
          can be mistaken for other text of the tag, unless its items have a finite list of values. If false,
          `report` names it. In such a schema, keys that it does not name may occur twice; `report` says so.
        * `special_tokens_in_text`: if true, `begin`, `end`, triggers, separators, `const_string` and quoted
          strings of grammars match the special tokens that they name, as well as text. Servers write tags
          this way. A token that ends texts matches only at the end: if a string at the end of the text is its
          name, or ends with it, only this token may end the text.

        Warns (SchemaWarning) as `compile_json_schema` does.

        Raises GrammarError if the tag is wrong, SchemaError if a schema in it is; both with the JSON pointer
        of the place in the tag.
        """
    def compile_tool_calls(
        self,
        tools: str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any] | Callable[..., Any] | _Type],
        *,
        format: str | None = None,
        tool_choice: str | Mapping[str, Any] = "auto",
        parallel: bool = True,
        reasoning: bool | Literal["auto", "open"] = False,
        text: bool = True,
        on_error: Literal["raise", "leave_out", "any_json"] = "raise",
        property_order: Literal["schema", "any"] = "schema",
        whitespace: Literal["flexible", "compact", "any"] = "flexible",
        max_whitespace: int | None = None,
        numbers: Literal["plain", "any"] = "plain",
        strict: bool = True,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compiles the messages in which a model may call tools, as its family writes them.

        * `tools`: a list of tools: dicts in OpenAI's, Anthropic's or MCP's form, Pydantic models and other
          types that `schema_from` takes, and functions. Or JSON text, or the path of a file as `os.PathLike`.
        * `format`: a name of `tool_formats()`. None: found from the tokenizer's chat template.
        * `tool_choice`: "auto" (text or calls), "none", "required", the name of a tool, or a dict as OpenAI's
          and Anthropic's interfaces have it, `allowed_tools` too.
        * `parallel`: whether a message may have several calls, where the format has that.
        * `reasoning`: whether the model reasons first: False, True, "auto" (it chooses, and writes the mark
          that begins the reasoning), or "open" (the prompt has this mark, so the text begins within the
          reasoning). True is "open" where the tokenizer's chat template writes the mark into the prompt, or
          the family's template does.
        * `text`: whether text may stand beside calls, where the format has that.
        * `on_error`: what becomes of a tool whose schema cannot be compiled or enforced: "raise", "leave_out"
          (it cannot be called) or "any_json" (its arguments are any JSON object). `report` then says why.
        * `property_order`, `whitespace`, `max_whitespace`, `numbers` and `strict` as for
          `compile_json_schema`. A tool with `"strict": false` takes any JSON object.

        The marks of a format match their text and the special tokens of these names.

        Raises GrammarError and SchemaError, which name the tool, with the place in `tools`.
        """
    def compile_regex(
        self,
        pattern: str,
        *,
        dialect: Literal["rust", "ecma", "python"] | None = None,
        unicode: bool = False,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        r"""Compiles a regular expression. It has to match the whole text.

        Without a `dialect`, the syntax is that of Rust's `regex` crate, and `\d`, `\w`, `\s`, `\b` and their
        negations are ASCII-only. With `unicode=True`, or after `(?u)` in the pattern, they match all of
        Unicode: `\d` is then any decimal digit, also `٣`.

        `dialect`: "rust" (exactly the `regex` crate's, with Unicode), "ecma" (JavaScript's, as in JSON
        Schemas) or "python" (that of `re`). The last two have look-ahead and look-behind; without a dialect a
        pattern may have them if it means the same in both. In "ecma", `\A`, `\z` and `\Z` are anchors too,
        although JavaScript has none of them. For a compiled `re.Pattern`, call `compile`.

        Raises GrammarError, with the place, if the pattern is wrong, matches nothing, or is not regular, and
        LimitError if it is too large.
        """
    def compile_gbnf(
        self,
        grammar: str | PathLike[str],
        *,
        special_tokens_in_text: bool = False,
        capture: Sequence[str] = (),
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compiles a grammar in GBNF, llama.cpp's notation: its text, or a file as `os.PathLike`. The start rule
        is `root`.

        A string that contains the name of a special token matches only the text of that name: warns
        (GrammarWarning). The token is written without quotes, `<think>`, or `<[TOOL_CALLS]>` if its name has
        no angle brackets.

        `special_tokens_in_text`: if true, quoted strings match the special tokens that they name, as well as
        text. A token that ends texts matches only at the end, if its name ends the text.

        `capture`: the names of rules whose texts `Matcher.captures` tells. None of them can begin with
        itself.

        Raises GrammarError, with the place, if the grammar is wrong or no text fits it.
        """
    def compile_choice(
        self, choices: Iterable[str] | type[Enum] | _SpecialForm, *, cancel: CancelToken | None = None
    ) -> CompiledGrammar:
        """Compiles choices: the text is exactly one of them.

        `choices`: any iterable of str, an Enum whose values are str, or a Literal of str.

        Raises GrammarError if there are none, TypeError for anything else, a single str included.
        """
    def compile_lark(
        self,
        grammar: str | PathLike[str],
        *,
        start: str = "start",
        lexer: Literal["contextual", "basic", "dynamic_complete"] | None = None,
        dialect: Literal["lark", "llguidance"] = "lark",
        indentation: Literal["python"] | _IndentationNames | _Indenter | None = None,
        import_paths: Sequence[str | PathLike[str]] = (),
        property_order: Literal["schema", "any"] = "schema",
        whitespace: Literal["flexible", "compact", "any"] = "flexible",
        max_whitespace: int | None = None,
        numbers: Literal["plain", "any"] = "plain",
        special_tokens_in_text: bool = False,
        capture: Sequence[str] = (),
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compiles a grammar in Lark's language: its text, or a file as `os.PathLike`, beside which relative
        imports are looked for.

        * `start`: the start rule.
        * `lexer`: "contextual", the default of Lark's dialect, considers only the terminals that the parser
          can accept at that point, by maximal munch and priorities. "basic" considers all terminals, like
          Lark's basic lexer. "dynamic_complete", the default of llguidance's dialect, uses no lexer: the text
          is split in any way that the rules allow, as with Lark's Earley parser.
        * `dialect`: "lark" or "llguidance". In llguidance's, a terminal is all that its pattern can match,
          and `%llguidance {}` may be the first line.
        * `indentation`: with "python", the blanks after `_NEWLINE` (or `_NL`), outside of brackets, produce
          `_INDENT` and `_DEDENT`, as with Lark's PythonIndenter. For other names: a dict with any of the keys
          "newline", "indent", "dedent", "open", "close" (both lists of brackets) and "tab_len", or an
          instance of Lark's Indenter.
        * `import_paths`: the folders that imported grammars are looked for in, relative imports too; `common`
          is built in.
        * `property_order`, `whitespace`, `max_whitespace` and `numbers`: as for `compile_json_schema`, for
          the schemas in the grammar. With "dynamic_complete", `%json {...}` in a rule stands for the texts of
          that JSON Schema, and `%json "call.json"` for those of the schema in that file, which is looked for
          in `import_paths`.
        * `special_tokens_in_text`: if true, strings in rules, and terminals that are a single string, match
          the special tokens that they name, as well as text. A token that ends texts matches only at the end.
          With a lexer, this requires a string that is only its name, and no indentation.
        * `capture`: the names of rules whose texts `Matcher.captures` tells, without ignored tokens around
          them. None of the rules can begin with itself.

        Warns (GrammarWarning) as `compile_gbnf` does.

        Raises GrammarError, with line, column and a hint, if the grammar is wrong or no text fits it.
        """
    def compile_builtin(
        self,
        name: Literal["arithmetic", "cpp", "json", "python", "smiles", "sql"],
        *,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar:
        """Compiles a built-in grammar: "arithmetic", "cpp", "json", "python", "smiles" or "sql". The one for
        Python allows indentation by tabs, except when a Template or Canvas is filled in.

        Raises GrammarError if no built-in grammar has this name.
        """
    def save_rows(self, path: str | PathLike[str]) -> None:
        """Writes the vocabulary tables built so far to a file. Another process that loads them (`load_rows`, or
        `Compiler(tokenizer, rows=path)`) makes its first masks faster. The file is replaced atomically.

        Raises OSError if it cannot be written.
        """
    def load_rows(self, path: str | PathLike[str]) -> int:
        """Reads a file that `save_rows` wrote, and returns how many of its tables were new. It changes no
        answer, only the speed. Load only files that you trust: damage is detected, manipulation is not.

        Raises Error if the file is damaged, of another version or for another vocabulary, OSError if it
        cannot be read.
        """
    def clear_caches(self) -> None:
        """Drops the shared caches. Grammars that are already compiled keep working, and keep what they have
        built.
        """
    def memory_usage(self) -> int:
        """Approximate memory of the shared caches and of all grammars that are still in use, in bytes."""

@final
class CompiledGrammar:
    """A compiled grammar. Make a Matcher from it for each sequence. It can be shared between threads."""
    @property
    def report(self) -> Report:
        """For a JSON Schema, a structural tag or calls of tools: whether and how each keyword is enforced, as a
        list of ReportEntry in the order of its text. Empty for other grammars, which are enforced entirely.
        Each access makes a new list. Notebooks show it as a table.
        """
    @property
    def compiler(self) -> Compiler:
        """The compiler that made it."""
    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that masks are for."""
    def describe(self, *, example: bool | None = None) -> str:
        """What to tell a model in the prompt, so that it wants to write a text of this grammar: the schema in
        short, the grammar, or the tools and how a call of them is written. It is in English.

        A mask only forbids: a model that was not told what is expected wants to write something else, and
        writes worse texts. Where the model's chat template writes the tools into the prompt, leave them to
        it.

        `example`: whether a short text that the grammar accepts follows. None leaves it out after a schema, a
        pattern or choices, which say it all: a small model copies the values of an example.

        >>> tokenizer = maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)])
        >>> schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
        >>> print(maskwright.Compiler(tokenizer).compile_json_schema(schema).describe())
        Answer only with JSON of this type:
        <BLANKLINE>
        {
          "age": integer
        }

        Raises LimitError if a limit is reached.
        """
    def check(self, text: str | bytes, *, special_tokens: bool = False) -> Check:
        r"""Says how far a text (str or bytes) is in the language, and if it is not, where it leaves it, why, and
        what was expected there.

        `special_tokens`: if true, the names of the tokenizer's special tokens in the text are these tokens,
        and the rest of it is read token by token. Otherwise the text is only text, and a grammar that names
        tokens by id refuses it at their places.

        In linear time for usual grammars; the limit `mask_work` does not apply. While a text is written, a
        Matcher says the same (`state`, `explain`). Raises LimitError if the text is so ambiguous that a limit
        is reached, TokenizerError if special tokens are read and no tokens spell the rest.

        >>> tokenizer = Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0])
        >>> grammar = Compiler(tokenizer).compile_gbnf('root ::= ([a-z]+ " = " [0-9]+ "\\n")+')
        >>> check = grammar.check("host = 1\nport = = 80\n")
        >>> bool(check), check.line, check.column, check.reason
        (False, 2, 8, '"=" cannot come here')
        """
    def parse(self, text: str | bytes | Iterable[int]) -> Message:
        """What a whole text (str, bytes or token ids) says: a Message, with free text, reasoning and calls of
        tools, or the value of a JSON Schema. Raises Error if the text is not one of the grammar.

        >>> compiler = Compiler(Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0]))
        >>> compiler.compile_json_schema({"type": "array"}).parse("[1, null]").value
        [1, None]
        """
    def to_llguidance(self) -> str:
        """The grammar as a text for programs that hand Lark to the C library with llguidance's functions: the
        field `grammar` of llama-server, if it was built with that library. Only that library reads it.

        Raises GrammarError if the grammar needs other documents or files, or indentation other than Python's.
        """
    def serialize(self) -> bytes:
        """The grammar as bytes: its source, with the files that it refers to. Any compiler can take them."""
    @staticmethod
    def deserialize(
        saved: bytes, compiler: Compiler, *, cancel: CancelToken | None = None
    ) -> CompiledGrammar:
        """Compiles what `serialize` wrote. The bytes need not be trusted: no file is read, and the compiler's
        limits hold. Raises GrammarError if they are no saved grammar, damaged or of another version, and what
        compiling the source raises.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __copy__(self) -> CompiledGrammar:
        """The same: a grammar does not change."""
    def __deepcopy__(self, _memo: Any) -> CompiledGrammar:
        """The same: a grammar does not change."""
    def _repr_html_(self) -> str:
        """What the grammar is, what its texts begin with, and what of it is enforced, for notebooks."""
    def memory_usage(self) -> int:
        """Approximate memory of the grammar, in bytes: its source and rules, and the tables that it has built so
        far. What it shares with other grammars is the compiler's.
        """

@final
class _TraceSteps:
    """The steps of a trace."""
    def __new__(cls, title: str, model: str | None, prompt: str | None) -> _TraceSteps: ...
    def follow(self, tokens: list[int], ends: list[int]) -> None:
        """Makes the steps those of a text. From the first token that differs on, the old steps are forgotten.
        `ends` are the tokens that end texts.
        """
    def answer(self, token: int) -> None:
        """Notes one more token."""
    def clear(self) -> None:
        """Forgets all steps."""
    def token_ids(self) -> list[int]:
        """The tokens that were noted."""
    def __len__(self) -> int: ...
    def html(self) -> str:
        """The page."""
    def text(self) -> str:
        """One line for each token."""
    def ansi(self) -> str:
        """Coloured text for a terminal."""
    def cost_nats(self) -> float | None:
        """What the grammar cut off of the model's probability, in nats; None if nothing was measured."""

@final
class Next:
    """One thing that may come next."""
    @property
    def words(self) -> str:
        """It in words: a text between backticks, or what kind of characters."""
    @property
    def examples(self) -> list[str]:
        """Some texts that it can begin with."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Keyword:
    """A keyword of a JSON Schema that limits a value."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def value(self) -> str:
        """Its value, as JSON."""
    @property
    def pointer(self) -> str:
        """The JSON pointer to the schema that has it."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class State:
    """Where the text of a Matcher is, and what may come next, in words. `str()` of it is one sentence."""
    @property
    def within(self) -> str | None:
        """What the JSON value around the place is of, the name of a tool or tag; None if it is the whole text,
        or there is none.
        """
    @property
    def path(self) -> str | None:
        """The way to the value in progress, or that is next, as a JSON pointer; None if the text is not that of
        a JSON Schema.
        """
    @property
    def rules(self) -> list[str]:
        """The rules of the grammar that are being read, the outermost first, as far as that is certain."""
    @property
    def keywords(self) -> list[Keyword]:
        """The keywords that limit the value in progress, or that is next: a list of Keyword."""
    @property
    def next(self) -> list[Next]:
        """What may come next, the most useful first, without the end of the text: a list of Next."""
    @property
    def is_complete(self) -> bool:
        """Whether the text may end here."""
    def _repr_html_(self) -> str:
        """The state as a table, for notebooks."""

@final
class Check:
    """How far a text is in the language of a grammar, where it leaves it, and why: what `CompiledGrammar.check`
    finds. It is true if the text is valid. `str()` of it shows the place in its line.
    """
    @property
    def is_valid(self) -> bool:
        """Whether the text is in the language."""
    @property
    def is_prefix(self) -> bool:
        """Whether some text of the language begins with the text."""
    @property
    def offset(self) -> int:
        """How many bytes of the text, from the first on, some text of the language begins with."""
    @property
    def line(self) -> int:
        """The line of the place after these bytes, from 1."""
    @property
    def column(self) -> int:
        """The column of that place in characters, from 1."""
    @property
    def reason(self) -> str | None:
        """Why the text is not in the language: by the keyword of a schema that refuses it, the character that
        cannot come there, or that the text ends too early. None if it is valid.
        """
    @property
    def expected(self) -> list[str]:
        """What could have come there, in words, the most useful first; empty if the text is valid."""
    @property
    def path(self) -> str | None:
        """The way to the value at that place, as a JSON pointer; None if the text is valid or has no JSON Schema
        there.
        """
    @property
    def token(self) -> str | None:
        """Why a token was refused; None if none was, or the text was not read by tokens."""
    def __bool__(self) -> bool: ...
    def _repr_html_(self) -> str:
        """The place in its line and the reason, for notebooks."""

@final
class ReportEntry:
    """Whether and how one keyword of a JSON Schema is enforced."""
    @property
    def pointer(self) -> str:
        """The JSON pointer of the schema that has the keyword."""
    @property
    def keyword(self) -> str:
        """The keyword."""
    @property
    def status(self) -> Literal["enforced", "enforced by the session", "annotation", "not enforced"]:
        """"enforced", "enforced by the session" (by each Matcher, which remembers earlier items), "annotation"
        (the specification gives it no effect) or "not enforced".
        """
    @property
    def reason(self) -> str | None:
        """Why it is not enforced; None if it is."""
    @property
    def suggestion(self) -> str | None:
        """For an unknown keyword or format, the known one that was probably meant; else None."""
    @property
    def tool(self) -> str | None:
        """The name of the tool whose arguments the schema describes; None if it is of no tool."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Matcher:
    """The state of one sequence under a grammar: the tokens accepted so far, and which ones may come next.

    With `max_tokens`, the text is complete after at most that many tokens, the end-of-sequence token
    included: each token of a mask leaves enough for the rest of the text. Close to the limit a mask may lack
    tokens that would too; then its `mask_status` is "bound". Raises MaxTokensTooSmall, whose `needed` is
    enough, if the limit is too small.

    A token of `stop_token_ids` is refused until the text may end, and ends it then, as the tokenizer's own
    end-of-sequence tokens do. Stop tokens that are text cannot be used within the text; the first matcher of
    a grammar with such a set takes longer to make, and so do its first masks. If no other tokens spell the
    bytes of such a stop token, a token is allowed only if the remaining tokens can complete the text. Raises
    ValueError if they cannot write any text of the grammar, LimitError if the limits on work are reached
    before that is decided.

    A refused token, or a call that raises, leaves the state unchanged. LimitError is raised if a text is too
    ambiguous to continue. Calls from several threads run one after another. Matchers of one grammar can be
    used in parallel.

    >>> tokenizer = Tokenizer.from_tokens([b"yes", b"n", b"o", b"</s>"], eos_token_ids=[3])
    >>> matcher = Matcher(Compiler(tokenizer).compile_choice(["yes", "no"]))
    >>> matcher.accept_token(1), matcher.accept_token(0)
    (True, False)
    >>> matcher.forced_bytes()
    b'o'
    >>> matcher.tokens_to_finish(), matcher.finish()
    (2, [2, 3])
    """
    def __new__(
        cls,
        grammar: CompiledGrammar,
        max_tokens: int | None = None,
        stop_token_ids: Sequence[int] | None = None,
    ) -> Matcher: ...
    @property
    def stop_token_ids(self) -> list[int]:
        """The tokens that end this text beside the tokenizer's own, as they were given."""
    def fill_next_token_bitmask(
        self, mask: npt.NDArray[np.int32] | _Tensor, row: int = 0, *, work: int | None = None
    ) -> bool:
        """Writes the mask of the tokens that may come next into a row of `mask`, a numpy int32 array or torch
        CPU tensor of shape (rows, words). Words beyond the vocabulary are cleared.

        After the end of the text, the mask allows the end-of-sequence tokens, so that a sampler has something
        to take, although `accept_token` refuses them. A vocabulary without such tokens ends a text when it is
        complete and nothing can follow; the mask then allows all tokens.

        Returns False if every token is allowed, so that the mask need not be applied.

        `work`: the work units (some 20 ns each) that this mask may take, instead of the compiler's limit
        `mask_work`.

        Raises ValueError if the mask is too narrow.
        """
    @property
    def mask_status(self) -> Literal["exact", "bound"]:
        """"exact" if the last mask has all allowed tokens, "bound" if some may be missing. Every token of a
        bound is safe to take.

        The status is "bound" in these cases:

        * The limit `mask_work`, or `work`, was too small for the whole mask.
        * `max_tokens` is near, and the mask lacks tokens: those after which no completion that fits is known.
          Sometimes one exists.
        * Items or keys must differ, or a stop token is text that no other tokens spell, and for some token
          the search could not decide whether the text can still be finished.
        * In a Lark grammar with a lexer, the search could not decide whether the lexer leaves a way to finish
          the text.
        * Another limit was reached while the mask was made, such as `max_states` or `max_calls`.
        """
    def accept_token(self, token_id: int) -> bool:
        """Accepts a token if it is allowed, and returns whether it is."""
    def accept_tokens(self, token_ids: Sequence[int]) -> int:
        """Accepts tokens until one is refused, and returns how many were accepted."""
    def validate_tokens(self, token_ids: Sequence[int]) -> int:
        """How many of the tokens would be accepted, one after the other. The state does not change."""
    @property
    def text(self) -> bytes:
        """The text so far: the bytes of the accepted tokens, and those given to `accept_bytes`."""
    @property
    def steps(self) -> list[int | bytes]:
        """What was accepted so far, step by step: a token's id, or the bytes given to one call of
        `accept_bytes`.
        """
    def events(self, since: int = 0) -> list[Event]:
        """What the text says, from event number `since` on: free text, reasoning, calls of tools and their
        arguments, or the value of a JSON Schema. An event is there once every reading of the text agrees on
        it: characters that may still become a mark of the format are held back. After more tokens there are
        more events, after a rollback fewer; those that stay do not change.

        The first call reads the source of the grammar again. Masks know nothing of events.

        >>> tokenizer = Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0])
        >>> schema = {"type": "array", "items": {"type": "integer"}}
        >>> matcher = Matcher(Compiler(tokenizer).compile_json_schema(schema))
        >>> matcher.accept_bytes("[1, 2")
        True
        >>> [(event.path, event.delta) for event in matcher.events()]
        [([], '['), ([0], '1'), ([1], ',2')]
        """
    def captures(self) -> list[Capture]:
        r"""The texts of the rules that `capture` named when a Lark or GBNF grammar was compiled, as Captures in
        the order of their beginnings, as far as they are certain. Takes time in the text. Raises Error if no
        rule is captured, LimitError if the text fits the rules in very many ways.

        >>> compiler = Compiler(Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0]))
        >>> grammar = compiler.compile_gbnf('root ::= item ("," item)*\nitem ::= [0-9]+', capture=["item"])
        >>> matcher = Matcher(grammar)
        >>> matcher.accept_bytes("12,3")
        True
        >>> [(capture.text, capture.end) for capture in matcher.captures()]
        [('12', 2), ('3', None)]
        """
    @property
    def n_tokens(self) -> int:
        """How many tokens the text has, an end-of-sequence token included. Bytes given to `accept_bytes` count
        as the fewest tokens that spell them.
        """
    @property
    def max_tokens(self) -> int | None:
        """The most tokens that the text can have; None if there is no limit."""
    @property
    def grammar(self) -> CompiledGrammar:
        """The grammar."""
    def accept_bytes(self, text: bytes | str) -> bool:
        """Accepts a text (bytes or str) if some text of the grammar continues with it, and returns whether one
        does. `rollback` undoes it in one step. For `n_tokens` and `max_tokens` it counts as the fewest tokens
        that spell it, or as one token per byte if no tokens do.
        """
    def rollback(self, n: int) -> None:
        """Undoes the last `n` steps. Each accepted token is a step, the end-of-sequence token too, and so is
        each call of `accept_bytes` that accepted something.

        Raises ValueError if fewer were accepted.
        """
    def fork(self) -> Matcher:
        """An independent matcher in the same state. Its cost does not depend on the length of the text."""
    def reset(self) -> None:
        """Goes back to the beginning of the text."""
    def is_accepting(self) -> bool:
        """Whether the text may end here."""
    def is_terminated(self) -> bool:
        """Whether an end-of-sequence token was accepted."""
    def tokens_to_finish(self) -> int:
        """How many tokens complete the text at most, the end-of-sequence token included; 0 if it has ended. It
        is the length of a completion that is as short as is easily found. `tokens_to_finish_status` says
        whether it is certainly the shortest.
        """
    def tokens_to_finish_with_status(self) -> tuple[int, Literal["exact", "upper"]]:
        """`tokens_to_finish()` and `tokens_to_finish_status()`."""
    def tokens_to_finish_status(self) -> Literal["exact", "upper"]:
        """"exact" if `tokens_to_finish` is certainly the least number; "upper" if a completion of that length
        exists and a shorter one may exist.
        """
    def finish(self) -> list[int]:
        """A completion of the text of as many tokens as `tokens_to_finish` says, the end-of-sequence token
        included. The state does not change.
        """
    def forced_bytes(self) -> bytes:
        """The longest run of bytes that every completion begins with, at most 64 KiB. A token that the grammar
        names by its id is in it as the tokenizer writes it; `forced_tokens` tells such tokens from text.
        """
    def forced_tokens(self) -> list[int]:
        """The tokens that can be taken without asking the model: the tokenizer's own segmentation of the forced
        bytes, up to where later text could change it or `max_tokens` is reached. If the text can only end
        here, the end-of-sequence token.
        """
    def state(self) -> State:
        """Where the text is, and what may come next, in words: the path in the value of a JSON Schema and the
        keywords that limit it there, or the rules that are being read.
        """
    def expected(self) -> str:
        """What may come next, in words, as one text: "`,` or `}`". `state()` has it as a list."""
    def explain(self, token_id: int) -> str:
        """Says in words why a token is allowed or refused here: by the keyword of a schema that refuses it, or
        by what was expected instead.
        """
    def search(
        self,
        logits_fn: Callable[[list[list[int]]], Any],
        prompt_ids: Sequence[int],
        *,
        strategy: Literal["best-of", "beam", "mcts", "likeliest", "smc"] = "beam",
        tries: int | None = None,
        temperature: float = 1.0,
        seed: int = 0,
        trace: Trace | None = None,
    ) -> list[Hypothesis]:
        """Searches for texts that go on from here, over many calls of a model, and returns them as a list of
        Hypothesis, the best first: whole ones before others. The state does not change. "beam" and "best-of"
        rank texts by their likelihood per token, so that long ones are not at a disadvantage.

        * `logits_fn`: called with a list of sequences, each a list of token ids that begins with
          `prompt_ids`; returns the logits after each, as an array or tensor of shape (sequences, vocabulary).
          It may keep what it computed.
        * `strategy`: "beam"; "mcts", a tree search; "best-of", several samples; "likeliest", the text of the
          greatest probability; "smc", samples that are true to the model's own probabilities among the
          texts of the grammar.
        * `tries`: beams, trials of the tree search, texts or particles, or beginnings of texts ("likeliest").
        * `temperature` and `seed` are for the strategies that draw at random.
        * `trace`: a Trace, which then shows what the search tried.

        A matcher with `max_tokens` finds whole texts within it; without it, texts are cut off at 256 tokens.

        NaN in the logits counts as minus infinity, and plus infinity as the largest finite number.

        Raises what `logits_fn` raises, and ValueError for options or logits that are wrong. Ctrl-C ends a
        search in any case, with KeyboardInterrupt if its handler raises nothing.
        """
    def fill_draft_tree(
        self, parents: Sequence[int], token_ids: Sequence[int], mask: npt.NDArray[np.int32] | _Tensor
    ) -> list[bool]:
        """The masks of a draft tree, for speculative decoding: row `i` of `mask` is the mask after node `i`.

        Node `i` is the token `token_ids[i]` after node `parents[i]`, an earlier node of the list; parent -1
        is this matcher's current state, which does not change. A node that is refused, or whose parent is,
        has a row of zeros.

        Returns, for each node, whether it was accepted. Raises ValueError if lengths or parents are wrong.
        """
    def _repr_html_(self) -> str:
        """The text so far and the state, for notebooks."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _replay(
        grammar: CompiledGrammar,
        max_tokens: int | None,
        steps: Sequence[int | bytes],
        stop_token_ids: Sequence[int] | None = None,
    ) -> Matcher:
        """A matcher that has taken `steps`, as the attribute of that name lists them."""
    def likeliest(
        self,
        logits: Any | None = None,
        *,
        beam: int = 32,
        max_tokens: int | None = None,
        candidates: tuple[Any, Any] | None = None,
        padding: int | None = None,
    ) -> Likeliest:
        """The likeliest text that can come next, one token for each position, given what a model says of the
        tokens of every position at once: the one with the greatest sum of log-probabilities. For models that
        write a block of text in any order, as block-diffusion models do. The state does not change.

        * `logits`: floating point, of shape (positions, vocabulary), an array or a tensor. Columns beyond the
          vocabulary are no tokens.
        * `candidates`: instead of all logits, or beside them, the best tokens of each position, as a pair of
          arrays or tensors of shape (positions, k): ids, and log-probabilities. They are tried first. Where
          none is allowed, the best token of `logits` is taken. Without logits, a token of a short completion
          is used; its score is the largest that a token outside the candidates can have.
        * `max_tokens`: how many tokens may still come, the end-of-sequence token included. If that is more
          than there are positions, the text may go on after them: it can then be completed within the rest.
          By default, the text is complete within the positions.
        * `padding`: the token that fills the positions after the end; by default the end-of-sequence token
          with the least id. Its score counts.
        * `beam`: the most states of the grammar that are followed at each position. It has no effect for
          grammars with at most 1,024 states.

        The compiler's limit `mask_work` is not heeded.

        Raises ValueError if no text fits, a score is NaN or plus infinity, or the shapes are wrong. A token
        whose logit is minus infinity is used only if every text needs one.
        """
    def __deepcopy__(self, _memo: Any) -> Matcher:
        """The same as `fork()`: the grammar is immutable and stays shared."""
    def __copy__(self) -> Matcher:
        """The same as `fork()`."""

@final
class Likeliest:
    """The likeliest text that `Matcher.likeliest` found."""
    @property
    def token_ids(self) -> list[int]:
        """A token for each position, padding after the end of the text included."""
    @property
    @deprecated("ids is called token_ids now")
    def ids(self) -> list[int]:
        """The same as `token_ids`. Deprecated."""
    @property
    def log_probability(self) -> float:
        """The sum of the logarithms of their probabilities; minus infinity if the model forbids one of them. A
        token outside the candidates counts with the largest score that it can have.
        """
    @property
    def status(self) -> Literal["exact", "bound"]:
        """"exact" if no text is likelier; "bound" if there may be one, because the beam left states out, or a
        token is not among the candidates.
        """
    @property
    def n_tokens(self) -> int:
        """How many of the tokens are the text, its end-of-sequence token included."""
    @property
    def is_complete(self) -> bool:
        """Whether the text ends within the positions."""

@final
class Hypothesis:
    """A text that `Matcher.search` found."""
    @property
    def token_ids(self) -> list[int]:
        """The tokens after the prompt, with the end-of-sequence token if the text has one."""
    @property
    def log_probability(self) -> float:
        """The sum of the logarithms of the model's probabilities for them."""
    @property
    @deprecated("log_likelihood is called log_probability now")
    def log_likelihood(self) -> float:
        """The same as `log_probability`. Deprecated."""
    @property
    def is_complete(self) -> bool:
        """Whether the text is whole; False if it was cut off at 256 tokens, which only happens without
        `max_tokens`.
        """

@final
class Event:
    """Something that a text has said. `kind` says what; fields that a kind does not use are None.

    * "text": more free text, `delta`. `tag`: what the tag of a structural tag is called in which it stands.
    * "reasoning": more reasoning, `delta`.
    * "tool": a call begins: `index` in the message, `name`, and `id` if the model has given one by then.
      `is_custom`: whether it is a custom tool, which is given a text.
    * "argument": more of the arguments of the call `index`, or of the value of a JSON Schema (`index` is
      None): `delta` is what it adds to them as compact JSON, `raw` the text as it is written, `path` the
      place.
    * "input": more of the text that a custom tool is given: `index`, `delta`.
    * "end": the call `index` has ended, with its `id` if it has one; of the whole text `index` is None.
    """
    @property
    def kind(self) -> Literal["text", "reasoning", "tool", "argument", "input", "end"]:
        """"text", "reasoning", "tool", "argument", "input" or "end"."""
    @property
    def delta(self) -> str | None:
        """What is added."""
    @property
    def raw(self) -> str | None:
        """The same as it is written, of an "argument"."""
    @property
    def index(self) -> int | None:
        """The number of the call in the message, from 0."""
    @property
    def name(self) -> str | None:
        """The tool's name."""
    @property
    def id(self) -> str | None:
        """The call's id, if the model gave it one."""
    @property
    def path(self) -> list[str | int] | None:
        """The path of a value: keys and indices."""
    @property
    def is_custom(self) -> bool | None:
        """Whether a tool is given a text, and no arguments."""
    @property
    def tag(self) -> str | None:
        """The tag in which a text stands."""
    def __hash__(self) -> int: ...

@final
class Message:
    """What a whole text says."""
    @property
    def text(self) -> str:
        """The free text."""
    @property
    def reasoning(self) -> str:
        """The reasoning."""
    @property
    def calls(self) -> list[ToolCall]:
        """The calls, in the order of the text."""
    @property
    def value(self) -> Any:
        """The value of a JSON Schema; None for other grammars."""
    @property
    def captures(self) -> list[Capture]:
        """The texts of captured rules, in the order of their beginnings."""

@final
class Capture:
    """The text that a captured rule has matched."""
    @property
    def name(self) -> str:
        """The rule."""
    @property
    def text(self) -> str:
        """What it has matched. While the end is not certain, all of the text from its beginning."""
    @property
    def start(self) -> int:
        """The byte of the text where it begins."""
    @property
    def end(self) -> int | None:
        """The byte after its last; None while it is not certain."""
    def __hash__(self) -> int: ...

@final
class ToolCall:
    """A call of a tool."""
    @property
    def name(self) -> str:
        """The tool's name."""
    @property
    def id(self) -> str | None:
        """The id that the model gave the call; None if it gave none."""
    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments, a dict; None of a custom tool."""
    @property
    def arguments_json(self) -> str | None:
        """The arguments as compact JSON, numbers as the model wrote them; None of a custom tool."""
    @property
    def input(self) -> str | None:
        """The text that a custom tool is given; None of other tools."""

@final
class Hole:
    """A part of a Template that is to be filled in: with any text, with at most `max_tokens` tokens, or with
    exactly `tokens` tokens.

    >>> Hole(max_tokens=8)
    Hole(max_tokens=8)
    """
    def __new__(cls, *, max_tokens: int | None = None, tokens: int | None = None) -> Hole: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Template:
    """Fixed pieces of text (bytes or str) and holes that together form one text of the grammar. A piece may also
    be a list of token ids, of which some may be tokens that the grammar names by id.

    Write a hole token by token (`fill_next_token_bitmask` with the tokens so far), then `fix` it. Holes can
    be filled in any order, and the pieces after a hole are taken into account from its first token on. Holes
    are numbered from 0; a fixed one keeps its number. A piece may begin or end within a character or a
    symbol. A call that refuses or raises leaves the template unchanged.

    Raises TypeError for parts that are neither text, token ids nor Hole, GrammarError if a rule of a grammar
    with indentation opens a block or bracket that it does not close, LimitError if there are too many
    positions.

    >>> tokenizer = Tokenizer.from_tokens([b"a", b"b", b"ab", b"</s>"], eos_token_ids=[3])
    >>> template = Template(Compiler(tokenizer).compile_regex("(ab)+"), [b"a", Hole(tokens=2), b"b"])
    >>> template.complete()
    b'abab'
    >>> template.fix(0, [1, 1]), template.fix(0, [1, 0])
    (False, True)
    """
    def __new__(
        cls, grammar: CompiledGrammar, parts: Sequence[bytes | str | Sequence[int] | Hole]
    ) -> Template: ...
    def decide(self) -> Literal["possible", "impossible", "open"]:
        """Whether the holes that are not fixed can be filled: "possible" (a text that fills them is known),
        "impossible", or "open" if the limit on work was reached first.
        """
    @property
    @deprecated("status is called decide() now")
    def status(self) -> Literal["possible", "impossible", "open"]:
        """What `decide()` returns. Deprecated, since it may take long."""
    def is_possible(self) -> bool:
        """Whether the holes that are not fixed can be filled.

        Raises LimitError if the limit on work is reached first.
        """
    def why_impossible(self) -> str | None:
        """Says in words why the holes that are not fixed cannot be filled; None if they can."""
    def complete(self) -> bytes:
        """The whole text, with some valid filling of the holes that are not fixed.

        Raises ValueError, with the reason, if there is none.
        """
    def fill_next_token_bitmask(
        self, hole: int, prefix_ids: Sequence[int], mask: npt.NDArray[np.int32] | _Tensor, row: int = 0
    ) -> Literal["exact", "bound"]:
        """Writes into a row of `mask` the tokens that can follow `prefix_ids` in hole `hole` such that the rest
        of it and all other holes can be filled. The end-of-sequence tokens are allowed if the hole can end
        there.

        Returns "exact" if the mask has all such tokens. Returns "bound" if the limit on work was reached
        before: each token of the mask is possible, and others may be too.

        Raises IndexError if there is no such hole, ValueError if it is fixed already or a token is not in the
        vocabulary.
        """
    def fix(self, hole: int, token_ids: Sequence[int]) -> bool:
        """Fills hole `hole` with tokens permanently. Returns False, and changes nothing, if their number does
        not fit the hole, one of them is not text, or the other holes could not be filled.

        Raises IndexError if there is no such hole, ValueError if it is fixed already.
        """

@final
class Canvas:
    """A canvas of a diffusion model: positions of one token each, known or masked (None), filled in any order.

    The canvas is one text of the grammar, from its first position on. If the text ends before the last
    position, an end-of-sequence token follows, and then more of these, or `padding_id` (a token without text,
    for models that pad with a token of its own). A call that refuses or raises leaves the canvas unchanged.

    `mask_id`, the token that the model reads at a masked position, is never a part of the text, even where
    the grammar allows any token.

    Raises ValueError if a token is not in the vocabulary or one of those two matches as text, GrammarError if
    a rule of a grammar with indentation opens a block or bracket that it does not close, LimitError if there
    are too many positions.

    >>> tokenizer = Tokenizer.from_tokens([b"(", b")", b"()", b"</s>"], eos_token_ids=[3])
    >>> canvas = Canvas(Compiler(tokenizer).compile_gbnf('root ::= "()" "()"'), [None, None, 1])
    >>> canvas.complete()
    [2, 0, 1]
    >>> canvas.set(0, 0), canvas.set(1, 0)
    (False, True)
    """
    def __new__(
        cls,
        grammar: CompiledGrammar,
        positions: Sequence[int | None],
        *,
        padding_id: int | None = None,
        mask_id: int | None = None,
    ) -> Canvas: ...
    def decide(self) -> Literal["possible", "impossible", "open"]:
        """Whether the masked positions can be filled: "possible" (a text that fills them is known),
        "impossible", or "open" if neither was found out within the limit on work.
        """
    @property
    @deprecated("status is called decide() now")
    def status(self) -> Literal["possible", "impossible", "open"]:
        """What `decide()` returns. Deprecated, since it may take long."""
    def is_possible(self) -> bool:
        """Whether the masked positions can be filled.

        Raises LimitError if the limit on work is reached first.
        """
    def why_impossible(self) -> str | None:
        """Says in words why the masked positions cannot be filled; None if they can."""
    def allows(self, i: int, token_ids: Sequence[int]) -> list[Literal["yes", "no", "open"]]:
        """For each of the tokens `token_ids`, whether it can stand at position `i` so that the rest can be
        filled: "yes", "no", or "open" if neither was found out within the limit on work. At a known position,
        whether it could stand there instead.

        This is what a decoding loop asks: far less work than a mask. A token that is not in the vocabulary
        gets "no".

        Raises IndexError if there is no such position.
        """
    def set(self, i: int, token_id: int) -> bool:
        """Puts a token at position `i`, which may be masked or known. Returns False, and changes nothing, if no
        text was found that has it there.

        Raises IndexError if there is no such position.
        """
    def unset(self, i: int) -> None:
        """Masks position `i` again.

        Raises IndexError if there is no such position.
        """
    def undo(self) -> bool:
        """Undoes the most recent `set` or `unset` that is not yet undone. Returns False if there is none."""
    def fill_bitmask(
        self, i: int, mask: npt.NDArray[np.int32] | _Tensor, row: int = 0, exact: bool = False
    ) -> Literal["exact", "bound"]:
        """Writes into a row of `mask` tokens that position `i` can take such that the rest can still be filled
        with exactly one token each. For a known position these are tokens that it could have instead.

        Returns "exact" if the mask has all such tokens. Returns "bound" if some were not decided: each token
        of the mask is possible, and others may be too. `exact=True` decides them as well, up to the limit on
        work, and can take seconds.

        Raises IndexError if there is no such position.
        """
    def likeliest(
        self,
        logits: Any | None = None,
        *,
        beam: int = 32,
        candidates: tuple[Any, Any] | None = None,
    ) -> Likeliest:
        """The likeliest text that fills the canvas, given what a model says of the tokens of every position: the
        one with the greatest sum of log-probabilities at the masked positions. Known positions keep their
        tokens and add nothing. The canvas does not change.

        `logits`, `candidates` and `beam` are those of `Matcher.likeliest`, with a row for every position,
        known ones too. The answer is never less likely than `complete()`.

        Raises ValueError if nothing fills the canvas, and LimitError if that is not found out within the
        limit on work.
        """
    def complete(self) -> list[int]:
        """The tokens of the whole canvas, with some valid filling of the masked positions.

        Raises ValueError, with the reason, if there is none.
        """
    @property
    def grammar(self) -> CompiledGrammar:
        """The grammar."""
    @property
    def positions(self) -> list[int | None]:
        """The current tokens of the positions; None if masked. Each access makes a new list."""
    def __len__(self) -> int: ...

def _trace_ask(
    steps: _TraceSteps,
    logits: np.ndarray,
    mask: np.ndarray | None,
    matcher: Matcher | None = None,
    tokenizer: Tokenizer | None = None,
    mask_us: float | None = None,
) -> None:
    """Notes the model's logits for the next token, and the mask that it will be taken with: packed words, or
    None if all are allowed. `mask_us` is what the mask took, in microseconds.
    """
def allocate_token_bitmask(batch: int, vocab_size: int) -> npt.NDArray[np.int32]:
    """A mask for each of `batch` sequences: an int32 array of shape (batch, ceil(vocab_size / 32)), all zero.

    Token `i` of row `r` is bit `i % 32` of `mask[r, i // 32]`; set means allowed.
    """
@overload
def fill_next_token_bitmask_batch(
    matchers: Sequence[Matcher],
    mask: npt.NDArray[np.int32] | _Tensor,
    rows: Sequence[int] | None = None,
    *,
    stride: None = None,
    work: int | None = None,
) -> None:
    """Writes the mask of `matchers[i]` into row `rows[i]` of `mask` (row `i` by default), in parallel, with the
    interpreter released. Other rows do not change.

    `mask`: an int32 array or torch CPU tensor that has these rows. Or the address of such memory, as an int,
    with `stride`, the number of bytes from one row to the next; then the caller is responsible for the memory
    being valid and not in use by others.

    `work`: the work units (some 20 ns each) that each mask may take, instead of the compilers' limit
    `mask_work`.

    Fills all rows that it can. If some fail, it then raises BatchError, whose `errors` is a dict from row to
    the exception that `fill_next_token_bitmask` would have raised. Failed rows allow no token.
    """
@overload
def fill_next_token_bitmask_batch(
    matchers: Sequence[Matcher],
    mask: int,
    rows: Sequence[int] | None = None,
    *,
    stride: int,
    work: int | None = None,
) -> None:
    """Writes the mask of `matchers[i]` into row `rows[i]` of `mask` (row `i` by default), in parallel, with the
    interpreter released. Other rows do not change.

    `mask`: an int32 array or torch CPU tensor that has these rows. Or the address of such memory, as an int,
    with `stride`, the number of bytes from one row to the next; then the caller is responsible for the memory
    being valid and not in use by others.

    `work`: the work units (some 20 ns each) that each mask may take, instead of the compilers' limit
    `mask_work`.

    Fills all rows that it can. If some fail, it then raises BatchError, whose `errors` is a dict from row to
    the exception that `fill_next_token_bitmask` would have raised. Failed rows allow no token.
    """
def likeliest_batch(
    matchers: Sequence[Matcher],
    logits: Any | None = None,
    *,
    beam: int = 32,
    max_tokens: int | Sequence[int | None] | None = None,
    candidates: tuple[Any, Any] | None = None,
    padding: int | None = None,
) -> list[Likeliest]:
    """`Matcher.likeliest` for many texts, in parallel, with the interpreter released.

    `logits` are of shape (batch, positions, vocabulary), both `candidates` of shape (batch, positions, k),
    and `max_tokens` is one number for all texts or a list with one for each (None where the text is to be
    complete within the positions).

    Raises BatchError if some of them fail; its `errors` is a dict from the number of the text to the
    exception that `likeliest` would have raised.
    """
def tool_formats() -> list[str]:
    """The names of the formats in which `Compiler.compile_tool_calls` can write calls."""
def _supported_schema() -> str:
    """The text of the schema that `supported_schema` gives."""
def formats_of_template(template: str) -> list[str]:
    """The formats whose chat templates have the marks that `template` has."""
def template_opens_reasoning(format: str, template: str) -> bool:
    """Whether the prompt of a chat template may end within the reasoning of a format."""
def _before_fork() -> None:
    """Called before the process forks: waits until no thread is at work."""
def _after_fork_in_parent() -> None:
    """Called after a fork, in the parent."""
def _after_fork_in_child() -> None:
    """Called after a fork, in the child: its one thread is not at work. Threads of the parent that were about to
    begin may have been counted.
    """
def _apply_rows(logits: npt.NDArray[Any], mask: npt.NDArray[np.int32]) -> None:
    """Sets the logits of tokens that are not allowed to minus infinity. `logits`: float32 or float64, `mask`:
    int32, both two-dimensional and contiguous, with as many rows. Tokens beyond the mask are not allowed.
    """
