"""Pictures of the page for the documentation: `python -m bench.pictures [NAME...]` writes `docs/images`.

Each is 1280 by 800 pixels, of the recording that comes with stepscope, or, of memory snapshots, pipelines and
comparisons, of jobs of the simulator. It needs Chromium; what is drawn depends on its fonts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from stepscope.demo import recording
from stepscope.simulate import SimJob, simulate

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "images"
#: Places of the page and colour schemes, by picture.
DEMO: Final = {
    "overview": ("#/overview", "light"),
    "timeline": ("#/timeline", "light"),
    "kernels": ("#/kernels", "light"),
    "roofline": ("#/roofline", "light"),
    "memory": ("#/memory", "light"),
    "flame": ("#/flame", "dark"),
}
#: A job before and after a change: with workers, with operators fused, with a fused optimizer.
BEFORE: Final = SimJob(steps=8, workers=0, load_jitter=0.2, elementwise_split=4, optimizer_impl="loop")
AFTER: Final = SimJob(steps=8, workers=4, load_jitter=0.2)
#: A pipeline with a slow stage.
PIPELINE: Final = SimJob(ranks=4, stages=4, micro_batches=6, layers=8, batch=48, hidden=2048, slow_rank=2)
STAGES: Final = {"pipeline": ("#/cluster?tab=pipeline", "light")}
COMPARED: Final = {"compare": ("#/compare", "light")}
SNAPSHOT: Final = {"allocations": ("#/memory?tab=allocations", "light"), "segments": ("#/memory?tab=segments", "light")}


def main() -> None:
    """Write all pictures."""
    sys.path[:0] = [str(ROOT / "tests")]
    import browser
    from web.pages import opened
    from web.serving import compared, viewed

    program = browser.found()
    if program is None:
        sys.exit("there is no Chromium or Chrome (BROWSER_FOR_TESTS names another place)")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, recording() as demo:
        folder = Path(name)
        simulate(SimJob(steps=3), folder / "snapshot", "memsnapshot")
        simulate(PIPELINE, folder / "pipeline")
        simulate(BEFORE, folder / "before")
        simulate(AFTER, folder / "after")
        served = (
            (lambda: viewed(demo), DEMO),
            (lambda: viewed(folder / "snapshot"), SNAPSHOT),
            (lambda: viewed(folder / "pipeline"), STAGES),
            (lambda: compared(folder / "before", folder / "after"), COMPARED),
        )
        with browser.opened(program, folder / "profile") as running:
            for serve, places in served:
                with serve() as address:
                    for picture, (place, scheme) in places.items():
                        if sys.argv[1:] and picture not in sys.argv[1:]:
                            continue
                        page = opened(running, address, place, scheme)
                        page.run("new Promise(resolve => setTimeout(resolve, 800))")
                        (FOLDER / f"{picture}.png").write_bytes(page.picture())
                        page.close()
                        print(picture)


if __name__ == "__main__":
    main()
