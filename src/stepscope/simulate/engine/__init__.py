"""Run the program of a job on a model of host threads, launch queues, streams, allocator and loader."""

from __future__ import annotations
