"""`LogitsProcessor`: `generate` of DiffusionGemma in `transformers` writes only what a grammar allows.

>>> from maskwright.integrations.diffusion_gemma import LogitsProcessor
>>> processor = LogitsProcessor(Person, tokenizer=tokenizer)
>>> model.generate(input_ids, max_new_tokens=200, logits_processor=LogitsProcessorList([processor]))

Such a model has no mask token: it writes a block of 256 tokens at once, and each of them may change at every step. `generate` keeps the most
likely token of each position of the last step. So at each step the processor finds the likeliest block that the grammar allows
(`Matcher.likeliest`), and lifts its tokens above all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from maskwright._maskwright import Likeliest, Matcher, likeliest_batch
from maskwright.integrations._rows import Refusal, check_prompts, counted
from maskwright.integrations._session import Grammars, as_array, compiler_of_hf, grammars_of, refused, running_call

if TYPE_CHECKING:
    import torch


#: A position that the model is sure of is not made surer than that.
_MOST_SURE = 1 - 1e-6


class LogitsProcessor:
    """Makes DiffusionGemma's `generate` keep the likeliest block that a grammar allows.

    * `grammar`: one for all rows, or a list with one for each row of the batch: a `CompiledGrammar`, or anything that `Compiler.compile`
      takes, such as a Pydantic model or a JSON Schema as a dict.
    * `tokenizer`: the model's tokenizer, as `transformers` loads it, or a `Tokenizer` or `Compiler` of this package. Only a grammar that isn't
      compiled needs it.
    * `max_tokens`: the most tokens of a text, the end-of-sequence token included. In `generate`, `max_new_tokens` (or
      `max_length`) is the limit if it is lower: texts are complete within it. A limit that is too low for any text is a ValueError. In a loop of your own, a text without a
      limit is complete within its first block.
    * `candidates`: how many tokens of each position are looked at; the others stay on the model's device. Where the grammar allows
      none of them, all scores are looked at.
    * `beam`: as in `Matcher.likeliest`.

    A block that is not the last may end in the middle of a text, which the next blocks complete. Texts end with the ids at which `generate`
    stops. The scores are not changed in place. A processor can be used again, but not for two calls at once.

    Raises ValueError if the text so far has a token that the grammar does not allow.
    """

    def __init__(
        self,
        grammar: object,
        tokenizer: Any = None,
        max_tokens: int | None = None,
        *,
        candidates: int = 64,
        beam: int = 32,
    ) -> None:
        for name, value in {"candidates": candidates, "beam": beam}.items():
            if value < 1:
                raise ValueError(f"{name} is {value}, expected 1 or more")
        self._grammars = grammars_of(grammar, lambda: compiler_of_hf(tokenizer))
        if not self._grammars.each:
            raise ValueError("no grammar: expected one, or a list of one for each row of the batch")
        self._max_tokens, self._candidates, self._beam = max_tokens, candidates, beam
        self._texts: _Texts | None = None

    def reset(self) -> None:
        """The next call begins a new generation. Calls of `generate` do so by themselves."""
        self._texts = None

    # `transformers` passes `cur_step` because a parameter has that name, and refuses any further one.
    def __call__(self, input_ids: Any, scores: torch.Tensor, cur_step: Any) -> torch.Tensor:
        """The scores, with those of the likeliest block above all others of their positions.

        `input_ids`: (rows, tokens), the prompts and the blocks so far. `scores`: (rows, positions, vocabulary). `cur_step`: counts down to 1; any step may be the last
        one of a block.
        """
        if len(input_ids.shape) != 2 or len(scores.shape) != 3 or input_ids.shape[0] != scores.shape[0]:
            raise ValueError(
                f"input_ids of shape {tuple(input_ids.shape)} with scores of shape {tuple(scores.shape)}, expected (rows, tokens) with "
                "(rows, positions, vocabulary)"
            )
        call = self._call()
        # If this call raises, the next one begins anew.
        texts, self._texts = self._texts, None
        if texts is None or not texts.continues(input_ids, call):
            texts = _Texts(self._grammars, input_ids, self._max_tokens, call)
        texts.update(as_array(input_ids[:, texts.width :]), input_ids.shape[1], call.ended)
        self._texts = texts
        rows = [row for row in range(scores.shape[0]) if row not in call.finished]
        lifted = scores.clone()
        for row, ids in zip(rows, texts.likeliest(rows, scores, self._candidates, self._beam), strict=True):
            lifted[row] = _lifted(scores[row], ids)
        return lifted

    def _call(self) -> _Call:
        """What the running `generate` says."""

        def has_this(local: Mapping[str, Any]) -> bool:
            return any(processor is self for processor in local.get("logits_processor") or ())

        local = running_call("transformers.models.diffusion_gemma.generation_diffusion_gemma", "generate", has_this)
        if local is None:
            return _Call()
        config, ended = local["generation_config"], _rows(local["finished_sequences"])
        ends = config.eos_token_id
        return _Call(
            key=config,
            max_tokens=local["max_new_tokens"],
            ends=None if ends is None else [ends] if isinstance(ends, int) else list(ends),
            padding=config.pad_token_id,
            ended=ended,
            finished=ended | _rows(local["finished_denoising"]),
        )


def _rows(flags: torch.Tensor) -> frozenset[int]:
    """The rows for which a flag is set."""
    return frozenset(flags.nonzero().flatten().tolist())


class _Call(NamedTuple):
    """What is known of the call of `generate`."""

    key: object = None
    """The same object in every step of one call, and in no other call; None if no call is known."""
    max_tokens: int | None = None
    ends: Sequence[int] | None = None
    """The ids at which the host stops."""
    padding: int | None = None
    ended: frozenset[int] = frozenset()
    """Rows whose text the host has ended, for whatever reason; it pads them."""
    finished: frozenset[int] = frozenset()
    """Rows at whose scores the host does not look: their block or their text is done."""


class _Texts:
    """The texts of one generation: where each stands before the present block."""

    def __init__(self, given: Grammars, prompts: Any, max_tokens: int | None, call: _Call) -> None:
        n_rows, self.width = prompts.shape
        self._prompts = as_array(prompts)
        grammars = given.each
        if n_rows % len(grammars):
            rows, shown = counted(n_rows, "row"), counted(len(grammars), "grammar")
            raise ValueError(f"{rows} for {shown}; expected one grammar, or one for each row of the batch")
        if given.is_list:
            check_prompts(len(grammars), self._prompts)
        self.key, self._ends, self._padding = call.key, call.ends, call.padding
        limits = [limit for limit in (max_tokens, call.max_tokens) if limit is not None]
        self._limit = min(limits, default=None)
        each = [grammars[row // (n_rows // len(grammars))] for row in range(n_rows)]
        self._matchers = [
            # Raises ValueError if no text is so short.
            Matcher(grammar, self._limit, stop_token_ids=list(self._ends or ()))
            for grammar in each
        ]
        self._n_written = 0
        self._n_vocab = max(grammar.tokenizer.vocab_size for grammar in each)

    def continues(self, ids: Any, call: _Call) -> bool:
        """Whether a step is one of this generation."""
        if call.key is not None or self.key is not None:
            return call.key is self.key
        n_rows, n_prompt = self._prompts.shape
        return ids.shape[0] == n_rows and ids.shape[1] >= self.width and bool((as_array(ids[:, :n_prompt]) == self._prompts).all())

    def update(self, blocks: Any, width: int, ended: frozenset[int]) -> None:
        """Reads what was appended to each text, but to those that have ended."""
        for row, (matcher, tokens) in enumerate(zip(self._matchers, blocks.tolist(), strict=True)):
            n_accepted = 0
            # A call may stop at a compiler's limit on work.
            while row not in ended and (n_more := matcher.accept_tokens(tokens[n_accepted:])):
                n_accepted += n_more
            if n_accepted < len(tokens) and row not in ended and not matcher.is_terminated():
                token = tokens[n_accepted]
                raise refused(Refusal(row, self._n_written + n_accepted, token, matcher.explain(token)))
        self._n_written += blocks.shape[1]
        self.width = width

    def likeliest(self, rows: Sequence[int], scores: torch.Tensor, n_candidates: int, beam: int) -> list[list[int]]:
        """The tokens of the likeliest block of each of `rows`."""
        if not rows:
            return []
        if scores.shape[2] < self._n_vocab:
            raise ValueError(
                f"the grammar was compiled for a tokenizer of {self._n_vocab} tokens, but the model gives scores to {scores.shape[2]}: compile "
                "the grammar for this model's tokenizer"
            )
        import torch

        wanted = scores if len(rows) == scores.shape[0] else scores[list(rows)]
        best = wanted.topk(min(n_candidates, wanted.shape[2]), dim=-1)
        normalizers = torch.stack([row.float().logsumexp(-1) for row in wanted])
        ids, log_probabilities = best.indices.cpu(), (best.values.float() - normalizers[..., None]).cpu()
        left = None if self._limit is None else max(self._limit - self._n_written, 0)
        matchers = [self._matchers[row] for row in rows]
        found = likeliest_batch(
            matchers, candidates=(ids, log_probabilities), beam=beam, max_tokens=[left] * len(rows), padding=self._padding
        )
        # Where the grammar allows none of the candidates of a position, all scores decide.
        again = [at for at, text in enumerate(found) if not _are_candidates(text, ids[at].tolist())]
        if again:
            better = likeliest_batch(
                [matchers[at] for at in again],
                wanted[again],
                candidates=(ids[again], log_probabilities[again]),
                beam=beam,
                max_tokens=[left] * len(again),
                padding=self._padding,
            )
            for at, text in zip(again, better, strict=True):
                found[at] = text
        return [self._with_host_ends(text, wanted[at]) for at, text in enumerate(found)]

    def _with_host_ends(self, text: Likeliest, scores: torch.Tensor) -> list[int]:
        """The ids of a block; the token that ends its text is one at which the host stops."""
        ids = text.token_ids
        if text.is_complete and self._ends and text.n_tokens and ids[text.n_tokens - 1] not in self._ends:
            ends = scores[text.n_tokens - 1][self._ends]
            ids[text.n_tokens - 1] = self._ends[int(ends.argmax())]
        return ids


def _are_candidates(text: Likeliest, candidates: list[list[int]]) -> bool:
    """Whether each token of a text, padding left out, is a candidate of its position."""
    return all(id in of_position for id, of_position in zip(text.token_ids[: text.n_tokens], candidates, strict=False))


def _lifted(scores: torch.Tensor, ids: list[int]) -> torch.Tensor:
    """Scores of shape (positions, vocabulary) in which each of `ids` is the highest of its position.

    It becomes as probable as the highest one was before, and a little more, so that what the model is sure of stays so; the others keep their scores.
    """
    import torch

    chosen = torch.tensor(ids, device=scores.device)[:, None]
    highest = scores.amax(-1, keepdim=True).float()
    rest = scores.float().logsumexp(-1, keepdim=True)
    sure = (highest - rest).exp().clamp(max=_MOST_SURE)
    # With e^wanted beside the rest of them, the probability is `sure`.
    wanted = rest + (sure / (1 - sure)).log()
    # Far enough above for the type of the scores, and for a division by a temperature.
    gap = 8 * torch.finfo(scores.dtype).eps * highest.abs().clamp(min=1.0)
    wanted = torch.maximum(wanted, highest + gap).to(scores.dtype)
    before = scores.gather(-1, chosen)
    is_highest = (before.float() >= highest) & ((scores.float() >= highest).sum(-1, keepdim=True) == 1)
    return scores.scatter(-1, chosen, torch.where(is_highest, before, wanted))
