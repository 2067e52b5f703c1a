"""Output of ``fio --output-format=json``: what was read and written, and whether what was read is right.

Messages of fio itself (``fio: …``) may stand before the document. ``error`` of a job is an errno:
84 (EILSEQ) is data that does not verify, 5 (EIO) a disk that does not read or write; with any
other, and with no document at all, fio did not measure.
Forms: axboe/fio, ``stat.c`` (3.28 to 3.41): ``bw_bytes`` is B/s, ``runtime`` is ms.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field, ValidationError

from rackwright.spec.base import Model
from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.core.unreadable import object_of
from rackwright.validate.parsers.unread import agree, corrupt, incomplete, misfit, not_run, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = re.compile(r"fio-3\.(\d+)")
_MINORS = range(28, 42)
_MESSAGE = re.compile(r"fio: .*")
_EIO, _EILSEQ = 5, 84
_MIB = 2**20
_RUNTIME_MS = 1
"""Resolution of fio's run time: bandwidth and bytes agree within it."""
_TYPES = {"K": 2**10, "M": 2**20, "G": 2**30, "": 1}
_SIZE = re.compile(r"(\d+)([KMG]?)(?:i?B)?", re.IGNORECASE)

Count = Annotated[int, Field(ge=0)]


class _Part(Model):
    """A part of the document; what is not read here is left alone."""

    model_config = ConfigDict(extra="ignore")


class Traffic(_Part):
    """One direction of a job."""

    io_bytes: Count
    bw_bytes: Count
    runtime: Count
    total_ios: Count
    short_ios: Count
    drop_ios: Count


class Job(_Part):
    """One job."""

    jobname: str
    error: Count
    options: Annotated[dict[str, str], Field(alias="job options")]
    """As given; ``rw`` and ``size`` say what there is to be read back."""
    read: Traffic
    write: Traffic


class Document(_Part):
    """All that is read."""

    version: Annotated[str, Field(alias="fio version")]
    jobs: Annotated[tuple[Job, ...], Field(min_length=1)]


@strict
def parse(text: str) -> Iterator[Reading]:
    """Errors of each job, and the bandwidth of those without, MiB/s."""
    messages, document = _document(text)
    names = {job.jobname for job in document.jobs}
    if len(names) != len(document.jobs):
        raise corrupt("two jobs have one name")
    for job in document.jobs:
        yield from _job(job, messages)


def _document(text: str) -> tuple[str, Document]:
    """The messages before the document, and the document."""
    head, brace, _ = text.partition("{")
    messages = [line for line in head.splitlines() if line.strip()]
    strange = next((line for line in messages if not _MESSAGE.fullmatch(line)), None)
    if strange is not None:
        raise corrupt(f"neither a message of fio nor its document: {strange[:80]!r}")
    if not brace:
        raise not_run("; ".join(messages))
    fields = object_of(text[len(head) :], "document")
    _check_version(fields.get("fio version"))
    try:
        return "; ".join(messages), Document.model_validate_json(json.dumps(fields), strict=True)
    except ValidationError as error:
        raise misfit(error, "document") from None


def _check_version(version: object) -> None:
    known = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if known is None or int(known[1]) not in _MINORS:
        raise corrupt(f"version {version!r} of fio: none whose output is known here")


def _job(job: Job, messages: str) -> Iterator[Reading]:
    if job.error not in (0, _EIO, _EILSEQ):
        raise not_run(messages or f"{job.jobname}: error {job.error}")
    if not {"rw", "size"} <= job.options.keys():
        raise corrupt(f"{job.jobname}: its options lack rw or size")
    if not job.error and messages:
        raise corrupt(f"a message, and no error: {messages[:80]}")
    context = Context(parameters=_parameters(job))
    if "verify" in job.options or job.error:
        _check_verified(job)
        errors = int(job.error != 0)
        yield Reading(name="verify_errors", value=errors, unit=Unit.COUNT, context=context)
    if not job.error:
        yield from _bandwidths(job, context)


def _parameters(job: Job) -> dict[str, str | int | float]:
    keys = ("rw", "bs", "size", "direct", "verify")
    return {"job": job.jobname, **{key: job.options[key] for key in keys if key in job.options}}


def _check_verified(job: Job) -> None:
    """An absence of errors counts only where all that was written, or is there, was read back."""
    if job.error:
        return
    wanted = max(job.write.io_bytes, _bytes(job.options["size"]))
    if not job.read.io_bytes or job.read.io_bytes < wanted:
        raise incomplete(f"{job.jobname}: {job.read.io_bytes} of {wanted} bytes were read back")


def _bytes(size: str) -> int:
    known = _SIZE.fullmatch(size.strip())
    return int(known[1]) * _TYPES[known[2].upper()] if known else 0


def _bandwidths(job: Job, context: Context) -> Iterator[Reading]:
    for name, traffic in (("read", job.read), ("write", job.write)):
        if traffic.short_ios or traffic.drop_ios:
            raise incomplete(f"{job.jobname}: {name} was cut short or dropped")
        if traffic.io_bytes:
            _check_traffic(f"{job.jobname}: {name}", traffic)
            value = traffic.bw_bytes / _MIB
            yield Reading(name=f"{name}_bandwidth", value=value, unit=Unit.MIB_S, context=context)


def _check_traffic(what: str, traffic: Traffic) -> None:
    if not traffic.total_ios:
        raise corrupt(f"{what}: bytes without operations")
    runtime = max(traffic.runtime, 1)
    agree(
        traffic.bw_bytes,
        traffic.io_bytes / runtime * 1000,
        f"{what}: bandwidth",
        tolerance=0.02 + _RUNTIME_MS / runtime,
    )
