"""What the program is."""

from stepscope.analyses.program.decide import program_of
from stepscope.analyses.program.table import ANALYSES, PROGRAM

__all__ = ["ANALYSES", "PROGRAM", "program_of"]
