"""Fetching from the network: https only, bounded in bytes and in time."""

import time
from http.client import HTTPException
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from gpudash.errors import GpudashError

# Limits of our choice: the largest feed has about 30 MB and comes within a minute over a slow line.
MEGABYTES = 60
TIMEOUT_S = 30
TOTAL_S = 180


def fetch(url: str) -> bytes:
    """What stands at an address; GpudashError if it cannot be reached, is too large or takes too long."""
    if urlsplit(url).scheme != "https":
        raise GpudashError("catalogue_refresh.unreachable", url=url, problem="https")
    content, start = bytearray(), time.monotonic()
    try:
        with urlopen(Request(url, headers={"User-Agent": "gpudash"}), timeout=TIMEOUT_S) as answer:
            if urlsplit(answer.url).scheme != "https":
                raise GpudashError("catalogue_refresh.unreachable", url=url, problem=answer.url)
            while part := answer.read(1 << 20):
                content += part
                if len(content) > MEGABYTES * 1_000_000:
                    raise GpudashError("catalogue_refresh.too_large", url=url, limit=MEGABYTES)
                if time.monotonic() - start > TOTAL_S:
                    raise GpudashError("catalogue_refresh.unreachable", url=url, problem=f"> {TOTAL_S} s")
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise GpudashError("catalogue_refresh.unreachable", url=url, problem=str(error)[:120]) from None
    return bytes(content)
