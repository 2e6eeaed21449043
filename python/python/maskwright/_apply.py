"""Masks onto logits: shapes, types and devices. The loop over float32 and float64 is in the compiled part.

torch is never imported here: who hands over a tensor has done so.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright._maskwright import _apply_rows

if TYPE_CHECKING:
    import torch


def apply_token_bitmask_inplace(logits: np.ndarray | torch.Tensor, mask: np.ndarray | torch.Tensor) -> None:
    """Sets the logits of tokens that are not allowed to minus infinity, in place.

    `logits`: floating point, (batch, vocabulary) or (vocabulary,), a numpy array or a torch tensor on any
    device. `mask`: int32, (batch, words) or (words,), as `allocate_token_bitmask` makes it, an array or a
    tensor; it is brought to the device of the logits. Logits beyond the mask's tokens are not allowed.

    Raises TypeError for wrong types, ValueError for shapes that do not fit, also for logits of fewer tokens than the mask has.
    """
    if isinstance(logits, np.ndarray):
        _apply_numpy(logits, mask)
    elif _is_tensor(logits):
        _apply_torch(logits, mask)
    else:
        raise TypeError(f"expected logits as a numpy array or a torch tensor, not {type(logits).__name__}")


def _logits_rows(logits: Any, n_rows: int, n_vocab: int) -> np.ndarray:
    """Logits of any floating point type, from any device, as contiguous float32 of shape (n_rows, n_vocab).

    Raises ValueError for another number of rows, or fewer columns; more are the padding of a model's vocabulary.
    """
    if _is_tensor(logits):
        logits = logits.detach().float().cpu().numpy()
    rows = np.asarray(logits, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[0] != n_rows or rows.shape[1] < n_vocab:
        raise ValueError(
            f"logits_fn returned logits of shape {rows.shape} for {n_rows} sequences, "
            f"expected ({n_rows}, {n_vocab}): a row for each sequence, a column for each token of the tokenizer"
        )
    return np.ascontiguousarray(rows[:, :n_vocab])


def _apply_numpy(logits: np.ndarray, mask: Any) -> None:
    if _is_tensor(mask):
        mask = mask.cpu().numpy()
    if not isinstance(mask, np.ndarray) or mask.dtype != np.int32:
        raise TypeError(f"expected a mask as an int32 array, not {_kind(mask)}")
    if not np.issubdtype(logits.dtype, np.floating):
        raise TypeError(f"expected logits of a floating point type, not {logits.dtype}")
    _check_shapes(logits.shape, mask.shape)
    if not logits.flags.writeable:
        raise ValueError("the logits are a read-only array")
    rows, words = np.atleast_2d(logits), np.ascontiguousarray(np.atleast_2d(mask))
    if rows.dtype in (np.float32, np.float64) and rows.dtype.isnative and rows.flags.c_contiguous:
        _apply_rows(rows, words)
        return
    little_endian = words.astype("<i4", copy=False)
    allowed = np.unpackbits(little_endian.view(np.uint8), axis=1, bitorder="little")[:, : rows.shape[1]]
    n_covered = allowed.shape[1]
    rows[:, :n_covered][allowed == 0] = -np.inf
    rows[:, n_covered:] = -np.inf


def _apply_torch(logits: torch.Tensor, mask: Any) -> None:
    torch = sys.modules["torch"]
    if isinstance(mask, np.ndarray):
        if mask.dtype != np.int32:
            raise TypeError(f"expected a mask as an int32 array, not {_kind(mask)}")
        mask = torch.from_numpy(np.ascontiguousarray(mask))
    if not _is_tensor(mask) or mask.dtype != torch.int32:
        raise TypeError(f"expected a mask as an int32 tensor, not {_kind(mask)}")
    if not logits.is_floating_point():
        raise TypeError(f"expected logits of a floating point type, not {logits.dtype}")
    _check_shapes(tuple(logits.shape), tuple(mask.shape))
    with torch.no_grad():
        shares_memory = logits.device.type == "cpu" and logits.dtype in (torch.float32, torch.float64)
        if shares_memory and logits.is_contiguous():
            _apply_numpy(logits.detach().numpy(), mask)
            return
        words = mask.to(logits.device, non_blocking=True)
        bits = torch.arange(32, dtype=torch.int32, device=logits.device)
        refused = (words.unsqueeze(-1) >> bits).bitwise_and_(1).eq(0).flatten(-2)
        n_covered = min(refused.shape[-1], logits.shape[-1])
        logits[..., :n_covered].masked_fill_(refused[..., :n_covered], float("-inf"))
        logits[..., n_covered:].fill_(float("-inf"))


def _check_shapes(logits: tuple[int, ...], mask: tuple[int, ...]) -> None:
    if len(logits) not in (1, 2) or len(logits) != len(mask) or logits[:-1] != mask[:-1]:
        raise ValueError(
            f"logits of shape {logits} with a mask of shape {mask}, "
            "expected (batch, vocabulary) with (batch, words), or (vocabulary,) with (words,)"
        )
    if logits[-1] <= 32 * (mask[-1] - 1):
        raise ValueError(
            f"logits of {logits[-1]} tokens with a mask of more than {32 * (mask[-1] - 1)} tokens: "
            "was the grammar compiled for another model's tokenizer?"
        )


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _kind(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    return type(value).__name__ if dtype is None else f"{type(value).__name__} of {dtype}"
