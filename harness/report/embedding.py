"""The run inside its page: compressed, so that a thousand cases can still be mailed."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib

from harness.errors import FileFormatError

__all__ = ["ELEMENT", "embed", "extract", "is_page"]

ELEMENT = "run-data"
"""The id of the element that holds the run, as gzip in base64, which cannot end a script element."""

_DATA = re.compile(
    rb'<script type="application/gzip" id="run-data">\s*([A-Za-z0-9+/=\s]*)</script>'
)
_WHOLE_GZIP = 16 + zlib.MAX_WBITS
_NEXT = "name the run.json or report.html of a run as they were written"


def embed(data: bytes) -> str:
    """A run file's bytes as text for the element; the same bytes always give the same text."""
    return base64.b64encode(gzip.compress(data, mtime=0)).decode("ascii")


def is_page(data: bytes) -> bool:
    """Whether a file's bytes begin like a report."""
    return data[:64].lstrip().lower().startswith(b"<!doctype html")


def extract(page: bytes, *, source: str, largest: int) -> bytes:
    """The run file's bytes in a report; ``source`` is what messages call it.

    Raises ``FileFormatError`` when there is none, it is damaged, or it would unpack to more than ``largest``.
    """
    found = _DATA.search(page)
    if found is None:
        raise FileFormatError(f"{source}: is a web page with no run in it; {_NEXT}")
    unpacking = zlib.decompressobj(_WHOLE_GZIP)
    try:
        data = unpacking.decompress(base64.b64decode(found[1]), largest)
    except (binascii.Error, zlib.error) as error:
        raise FileFormatError(
            f"{source}: the run in this page is damaged ({error}); {_NEXT}"
        ) from None
    if not unpacking.eof:
        what = f"is larger than {largest:,} B" if len(data) >= largest else "is cut off"
        raise FileFormatError(f"{source}: the run in this page {what}; {_NEXT}")
    return data
