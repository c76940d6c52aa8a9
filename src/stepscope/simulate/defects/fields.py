"""Defects of fields: missing values, and values of unusual types."""

from __future__ import annotations

import re
from dataclasses import replace

from stepscope.simulate.defects.document import Damaged, Document, category, unbroken


def missing_correlation(data: bytes) -> Damaged:
    """No correlation ids: launches are not linked to their work."""
    document = Document.parse(data)
    kept = [event for event in document.events if category(event) != "ac2g"]
    linked = [i for i, event in enumerate(kept) if '"correlation":' in event]
    document = replace(document, events=tuple(kept)).map(
        lambda e: re.sub(r'"External id": \d+, |, "correlation": \d+', "", e), linked
    )
    return unbroken(document, len(linked), "all are there; kernels have no launch")


def missing_sequence(data: bytes) -> Damaged:
    """Collectives without sequence numbers, as older versions of PyTorch write them; they match by order only."""
    document = Document.parse(data)
    chosen = [i for i in document.find("kernel") if '"Seq": ' in document.events[i]]
    document = document.map(lambda e: re.sub(r', "Seq": \d+', "", e), chosen)
    return unbroken(document, len(chosen), "all are right")


def string_streams(data: bytes) -> Damaged:
    """Streams and device threads are text."""
    document = Document.parse(data)
    chosen = document.find("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")

    def rename(event: str) -> str:
        event = re.sub(r'"tid": (\d+)', r'"tid": "stream \1"', event, count=1)
        return re.sub(r'"stream": (\d+)', r'"stream": "\1"', event, count=1)

    return unbroken(document.map(rename, chosen), len(chosen), "all are right")


def string_threads(data: bytes) -> Damaged:
    """Thread ids are text."""
    document = Document.parse(data)
    chosen = document.find("cpu_op", "cuda_runtime", "user_annotation", "python_function")
    document = document.map(lambda e: re.sub(r'"tid": (-?\d+)', r'"tid": "\1"', e, count=1), chosen)
    return unbroken(document, len(chosen), "all are right")


def missing_distributed_info(data: bytes) -> Damaged:
    """The rank is not recorded."""
    document = Document.parse(data)
    head = re.sub(r'  "distributedInfo": .*\n', "", document.head)
    return unbroken(replace(document, head=head), 0, "all are right; the rank must come from the file's name")


def missing_devices(data: bytes) -> Damaged:
    """The device is not described."""
    document = Document.parse(data)
    head = re.sub(r'  "deviceProperties": .*\n', "", document.head)
    return unbroken(replace(document, head=head), 0, "all are right; the device is unknown")


def missing_steps(data: bytes) -> Damaged:
    """No step is marked."""
    document = Document.parse(data)
    kept = tuple(event for event in document.events if '"name": "ProfilerStep#' not in event)
    touched = len(document.events) - len(kept)
    return unbroken(replace(document, events=kept), touched, "steps must be found otherwise, or there is one")


def missing_names(data: bytes) -> Damaged:
    """Some events lack a name or arguments."""
    document = Document.parse(data)
    chosen = document.find("cpu_op", "cuda_runtime", every=9)
    document = document.map(lambda e: re.sub(r'"name": "(?:[^"\\]|\\.)*", ', "", e, count=1), chosen)
    return unbroken(document, len(chosen), "these have no name")


def missing_metadata(data: bytes) -> Damaged:
    """No process or thread has a name."""
    document = Document.parse(data)
    kept = tuple(event for event in document.events if '"ph": "M"' not in event)
    return unbroken(replace(document, events=kept), 0, "all intervals are right")
