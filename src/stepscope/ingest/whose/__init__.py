"""Whose recording it is: the run, rank and span of each recording of an input, and which of them are analysed."""

from __future__ import annotations
