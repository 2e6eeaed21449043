"""The engines and programs of `cargo xtask bench`, which live in `xtask/bench`."""

from __future__ import annotations

import sys

from lab.paths import ROOT

sys.path.append(str(ROOT / "xtask" / "bench"))

import engines  # noqa: E402  (its folder comes first)
import programs  # noqa: E402

__all__ = ["engines", "programs"]
