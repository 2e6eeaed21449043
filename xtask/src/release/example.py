"""What a new user tries first; `release --dry-run` and the release workflow run it on what they have built and installed."""

import maskwright

tokenizer = maskwright.Tokenizer.from_tokens([b"yes", b"no", b"n", b"o", b"</s>"], eos=[4])
matcher = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_choice(["yes", "no"]))
assert matcher.accept_token(2) and matcher.finish() == [3, 4], "no text is written as it should be"

print(f"maskwright {maskwright.__version__} from {maskwright.__file__} works")
