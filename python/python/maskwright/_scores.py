"""Scores of many positions, as the compiled part takes them: contiguous arrays in the computer's memory.

torch is never imported here: who hands over a tensor has done so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwright._apply import _is_tensor

_Candidates = tuple[np.ndarray, np.ndarray]


def arrays(
    logits: Any, candidates: tuple[Any, Any] | None, n_texts: int
) -> tuple[np.ndarray | None, _Candidates | None]:
    """Logits as float32 of shape (texts, positions, vocabulary), and candidates as ids (uint32) and log-probabilities (float32) of shape (texts,
    positions, k). For one text, the first dimension may be missing.

    Raises TypeError for what are no numbers, ValueError for shapes that do not fit, or if neither is given.
    """
    if logits is None and candidates is None:
        raise ValueError("logits or candidates are needed")
    scores = None if logits is None else _floats("logits", logits, n_texts)
    if candidates is None:
        return scores, None
    ids = _ids(candidates[0], n_texts)
    log_probabilities = _floats("the log-probabilities of candidates", candidates[1], n_texts)
    if ids.shape != log_probabilities.shape:
        raise ValueError(
            f"the candidates' ids are of shape {ids.shape}, their log-probabilities of shape {log_probabilities.shape}"
        )
    if scores is not None and scores.shape[:2] != ids.shape[:2]:
        raise ValueError(f"the logits are of shape {scores.shape}, the candidates of shape {ids.shape}")
    return scores, (ids, log_probabilities)


def _floats(name: str, values: Any, n_texts: int) -> np.ndarray:
    if _is_tensor(values):
        values = values.detach().float().cpu().numpy()
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.floating):
        raise TypeError(f"{name} are of type {array.dtype}, expected a floating point type")
    return _shaped(name, np.ascontiguousarray(array, dtype=np.float32), n_texts)


def _ids(values: Any, n_texts: int) -> np.ndarray:
    if _is_tensor(values):
        values = values.detach().cpu().numpy()
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"the ids of candidates are of type {array.dtype}, expected integers")
    if array.size and not (0 <= array.min() and array.max() < 2**32):
        raise ValueError("an id of a candidate is out of range")
    return _shaped("the ids of candidates", np.ascontiguousarray(array, dtype=np.uint32), n_texts)


def _shaped(name: str, array: np.ndarray, n_texts: int) -> np.ndarray:
    shape = array.shape
    if array.ndim == 2 and n_texts == 1:
        array = array[np.newaxis]
    if array.ndim != 3 or array.shape[0] != n_texts:
        expected = "(positions, n)" if n_texts == 1 else f"({n_texts}, positions, n)"
        raise ValueError(f"{name} are of shape {shape}, expected {expected}")
    return array
