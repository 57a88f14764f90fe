"""Requests at fixed times over many connections, whether or not the ones before are answered.

A closed loop waits for a slow answer before it asks again, and so hides how long others would have
waited. Here every request has its time, and its latency counts from that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        label: The kind of page.
        seconds: From when the request was due to the last byte of the answer.
    """

    label: str
    status: int
    seconds: float
    size: int


async def drive(
    host: str,
    port: int,
    requests: Sequence[tuple[str, str]],
    *,
    connections: int,
    per_second: float,
    headers: str = "",
) -> list[Answer]:
    """Sends each ``(label, path)`` at its time, in turn over kept connections."""
    opened = [await asyncio.open_connection(host, port, limit=2**24) for _ in range(connections)]
    locks = [asyncio.Lock() for _ in opened]
    began = time.perf_counter() + 0.1
    answers: list[Answer] = []

    async def one(index: int, label: str, path: str) -> None:
        due = began + index / per_second
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        place = index % connections
        async with locks[place]:
            reader, writer = opened[place]
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
            status, size = await _read(reader)
        answers.append(Answer(label, status, time.perf_counter() - due, size))

    await asyncio.gather(*(one(i, *request) for i, request in enumerate(requests)))
    for _, writer in opened:
        writer.close()
    return answers


async def _read(reader: asyncio.StreamReader) -> tuple[int, int]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head.split(" ", 2)[1])
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    if "content-length" in fields:
        size = int(fields["content-length"])
        await reader.readexactly(size)
        return status, size
    if fields.get("transfer-encoding") != "chunked":
        return status, 0
    size = 0
    while length := int(await reader.readline(), 16):
        size += length
        await reader.readexactly(length + 2)
    await reader.readexactly(2)
    return status, size
