"""Structural tags: what is a complete text of each, and where an error is."""

import maskwright
import pytest
from structural_tag_cases import AT_LEAST, EOS_ID, FIELDS, VOCABULARY, make_tokenizer, n_judged, read_cases

CASES = read_cases()


@pytest.fixture(scope="module")
def compiler(tmp_path_factory):
    return maskwright.Compiler(make_tokenizer(tmp_path_factory.mktemp("structural-tags")))


def fill(matcher):
    """The mask as a number: bit `i` is token `i`."""
    mask = maskwright.allocate_token_bitmask(1, len(VOCABULARY))
    matcher.fill_next_token_bitmask(mask)
    return int.from_bytes(mask.tobytes(), "little") & ((1 << len(VOCABULARY)) - 1)


def read_text(grammar, ids):
    """Whether the tokens are a complete text. The mask before each of them must say what accepting it says."""
    matcher = maskwright.Matcher(grammar)
    masks = []
    for id in ids:
        # A stop token that was accepted ends the text there: what follows it is not accepted.
        if matcher.is_terminated():
            return False, masks
        masks.append(fill(matcher))
        allowed = bool(masks[-1] >> id & 1)
        assert matcher.accept_token(id) == allowed, f"mask and session disagree about token {id}"
        if not allowed:
            return False, masks
    if matcher.is_terminated():
        return True, masks
    masks.append(fill(matcher))
    # A tag may name the token that ends a text, so it may be allowed before the end as well.
    assert bool(masks[-1] >> EOS_ID & 1) or not matcher.is_accepting()
    return matcher.is_accepting(), masks


def check(compiler, case):
    """Judges a case. Returns the masks of its texts."""
    if case.error is not None:
        with pytest.raises(maskwright.Error) as error:
            compiler.compile_structural_tag(case.document, whitespace="any", numbers="any")
        assert case.error in str(error.value), f"{error.value} does not say {case.error}"
        return []
    grammar = compiler.compile_structural_tag(case.document, whitespace="any", numbers="any")
    masks = []
    for text in case.texts:
        accepted, seen = read_text(grammar, text.ids())
        assert accepted == text.accepted, f"{text} should{'' if text.accepted else ' not'} be complete"
        masks.append(seen)
    return masks


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(compiler, case):
    check(compiler, case)


def test_every_field_has_cases():
    """A case counts for its field if the document spells it out, or the error is about it."""
    counts = dict.fromkeys(FIELDS, 0)
    for case in CASES:
        format, _, name = case.field.partition(".")
        name, _, value = name.partition("=")
        found = list(formats(case.document, format))
        assert found or case.error is not None or format in ("structural_tag", "legacy"), f"{case.name} is about no {format}"
        spelt_out = any(not name or name in one and value in ("", one[name]) for one in found)
        if spelt_out or case.error is not None or format in ("structural_tag", "legacy"):
            counts[case.field] += n_judged(case)
    assert min(counts.values()) >= AT_LEAST, counts
    assert sum(counts.values()) >= 400


def formats(value, type):
    """All formats of this type in a document. Those of `begin` and `end` need not name it."""
    if isinstance(value, dict) and (value.get("type") == type or type == "token" and set(value) == {"token"}):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    for part in parts:
        yield from formats(part, type)
