"""`python -m translation`, `python -m translation list ROOM` and `python -m translation fill ROOM FILE`."""

from __future__ import annotations

import sys

from translation import lists
from translation.update import LANGUAGES, main

if sys.argv[1:2] == ["list"]:
    print(lists.listed(sys.argv[2], LANGUAGES[0]), end="")
elif sys.argv[1:2] == ["fill"]:
    print(lists.filled(sys.argv[2], LANGUAGES[0], lists.read(sys.argv[3])), "texts filled in")
else:
    main()
