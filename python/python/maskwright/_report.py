"""What of a schema is enforced, as a list that notebooks show as a table."""

from __future__ import annotations

import html
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwright._maskwright import ReportEntry

    Entries = list[ReportEntry]
else:
    Entries = list

#: Of longer reports, notebooks show the entries that need a look first, and this many in all.
_MOST_SHOWN = 200


class Report(Entries):
    """A list of ReportEntry, one for each keyword of a schema, in the order of its text."""

    def _repr_html_(self) -> str:
        """A table, with what is not enforced or may be misspelt first."""
        if not self:
            return "<p>every rule of the grammar is enforced</p>"
        tally = ", ".join(f"{count} {status}" for status, count in Counter(entry.status for entry in self).items())
        has_tools = any(entry.tool is not None for entry in self)
        rows = []
        for entry in sorted(self, key=_needs_no_look)[:_MOST_SHOWN]:
            hint = f" (did you mean {entry.suggestion}?)" if entry.suggestion else ""
            cells = [entry.tool or ""] * has_tools
            cells += [entry.pointer or "the top", entry.keyword, entry.status, (entry.reason or "") + hint]
            style = "" if _needs_no_look(entry) else ' style="font-weight:bold"'
            rows.append(f"<tr{style}>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
        names = ["tool"] * has_tools + ["at", "keyword", "status", "why"]
        head = "".join(f'<th style="text-align:left">{name}</th>' for name in names)
        left = f"<p>and {len(self) - _MOST_SHOWN} more</p>" if len(self) > _MOST_SHOWN else ""
        return f"<p>{html.escape(tally)}</p><table><tr>{head}</tr>{''.join(rows)}</table>{left}"


def _needs_no_look(entry: ReportEntry) -> bool:
    return entry.status != "not enforced" and entry.suggestion is None
