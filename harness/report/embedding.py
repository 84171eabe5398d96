"""Runs inside their page: compressed, so that a thousand cases can still be mailed."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from collections.abc import Iterator

from harness.errors import FileFormatError

__all__ = ["ELEMENT", "embed", "extract", "extract_all", "is_page"]

ELEMENT = "run-data"
"""The id of the element that holds the run, as gzip in base64, which cannot end a script element.

Of several runs each has one, in order: ``run-data``, ``run-data-2`` and so on.
"""

_DATA = re.compile(
    rb'<script type="application/gzip" id="run-data(?:-\d+)?">\s*([A-Za-z0-9+/=\s]*)</script>'
)
_OPENED = re.compile(rb'<script type="application/gzip" id="run-data')
_OURS = re.compile(
    rb"<meta http-equiv=.Content-Security-Policy. content=.default-src &#39;none&#39;; script-src &#39;sha256-"
)
"""Near the head of every page of the harness, so that one that was cut off is told from somebody else's."""

_HEAD_BYTES = 500

_WHOLE_GZIP = 16 + zlib.MAX_WBITS
_NEXT = "name the run.json or report.html of a run as they were written"


def embed(data: bytes) -> str:
    """A run file's bytes as text for the element; the same bytes always give the same text."""
    return base64.b64encode(gzip.compress(data, mtime=0)).decode("ascii")


def is_page(data: bytes) -> bool:
    """Whether a file's bytes begin like a report."""
    return data[:64].lstrip().lower().startswith(b"<!doctype html")


def extract(page: bytes, *, source: str, largest: int) -> bytes:
    """The run file's bytes in the report of one run; ``source`` is what messages call it.

    Raises ``FileFormatError`` when there is none or are several, it is damaged, or it would unpack to more than
    ``largest``.
    """
    elements = _elements(page, source)
    if len(elements) > 1:
        raise FileFormatError(
            f"{source}: holds {len(elements):,} runs, where one is wanted; name the run.json of one"
        )
    return _unpacked(elements[0], source=source, largest=largest)


def extract_all(page: bytes, *, source: str, largest: int) -> Iterator[bytes]:
    """The run files' bytes in a report, one by one, at least one; raises as ``extract`` but for their number."""
    for element in _elements(page, source):
        yield _unpacked(element, source=source, largest=largest)


def _elements(page: bytes, source: str) -> list[bytes]:
    found = _DATA.findall(page)
    is_cut = not page[-_HEAD_BYTES:].rstrip().endswith(b"</html>")
    if is_cut and (_OURS.search(page[:_HEAD_BYTES]) or len(_OPENED.findall(page)) > len(found)):
        raise FileFormatError(f"{source}: this page of the harness is cut off; {_NEXT}")
    if not found:
        raise FileFormatError(f"{source}: is a web page with no run of the harness in it; {_NEXT}")
    return found


def _unpacked(text: bytes, *, source: str, largest: int) -> bytes:
    unpacking = zlib.decompressobj(_WHOLE_GZIP)
    try:
        data = unpacking.decompress(base64.b64decode(text), largest)
    except (binascii.Error, zlib.error) as error:
        raise FileFormatError(
            f"{source}: the run in this page is damaged ({error}); {_NEXT}"
        ) from None
    if not unpacking.eof:
        what = f"is larger than {largest:,} B" if len(data) >= largest else "is cut off"
        raise FileFormatError(f"{source}: the run in this page {what}; {_NEXT}")
    return data
