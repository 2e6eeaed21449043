"""Loads the compiled part with an allocator that gives freed memory back to the system within milliseconds. Else a thread that compiles a hostile
grammar keeps what that took, some 200 MB, for its next ones. Costs nothing that can be measured.
"""

import os

_DELAY = "MIMALLOC_PURGE_DELAY"
_is_given = _DELAY in os.environ
os.environ.setdefault(_DELAY, "1")
# The allocator reads it once, while it is loaded.
from maskwright import _maskwright  # noqa: E402, F401

if not _is_given:
    del os.environ[_DELAY]
