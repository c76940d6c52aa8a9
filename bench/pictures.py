"""Pictures of the page for the documentation: `python -m bench.pictures [NAME...]` writes `docs/images`.

Each is 1280 by 800 pixels, or as its name says (`SIZES`), of a real recording beside the checkout; that of a pipeline
is simulated, since none is recorded with all its stages. It needs Chromium; what is drawn depends on its fonts.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from stepscope.simulate import SimJob, simulate

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "images"
SHARED: Final = ROOT.parent / "shared" / "traces"
#: Width and height by how a picture's name ends.
SIZES: Final = {"wide": (1920, 1080), "phone": (390, 844), "": (1280, 800)}
#: The step without the wait of the first finding, and with convolutions in half the time.
WITHOUT_WAIT: Final = '#/whatif?findings=DAT001&factors={"kernel:convolution":0.5}'
#: Places of the page and colour schemes, by picture, and the recording: the training of a ResNet whose loader has no
#: workers, a forward pass of a BERT model, a recommendation model on eight GPUs, the memory of a training.
RECORDED: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "kineto/v100_resnet50_workers0": {
        "overview": ("#/overview", "light"),
        "overview-wide": ("#/overview", "dark"),
        "overview-phone": ("#/overview", "light"),
        "timeline": ("#/timeline", "light"),
        "timeline-wide": ("#/timeline", "dark"),
        "timeline-phone": ("#/timeline", "light"),
        "whatif": (WITHOUT_WAIT, "light"),
        "whatif-wide": (WITHOUT_WAIT, "dark"),
        "whatif-phone": (WITHOUT_WAIT, "light"),
        "transfers": ("#/transfers", "light"),
    },
    "kineto/h100_bert_small": {
        "kernels": ("#/kernels", "light"),
        "roofline": ("#/roofline", "light"),
        "operators": ("#/operators", "light"),
        "modules": ("#/modules", "light"),
        "memory": ("#/memory", "light"),
        "flame": ("#/flame", "dark"),
        "sql": (
            "#/sql?sql=SELECT%20name%2C%20count(*)%2C%20sum(dur)%20FROM%20kernels%20GROUP%20BY%201%20ORDER%20BY%203%20DESC",
            "light",
        ),
        "tables": ("#/tables", "light"),
    },
    "kineto/v100_dlrm_8ranks": {
        "communication": ("#/communication", "light"),
        "machine": ("#/machine", "light"),
        "cluster": ("#/cluster", "light"),
    },
    "memory/train_ctx150.pickle": {
        "allocations": ("#/memory?tab=allocations", "light"),
        "segments": ("#/memory?tab=segments", "light"),
    },
}
COMPARED: Final = {"compare": ("#/compare", "light")}
#: The same training without workers of the loader and with four.
BEFORE, AFTER = "kineto/v100_resnet50_workers0", "kineto/v100_resnet50_workers4"
#: A pipeline with a slow stage.
PIPELINE: Final = SimJob(ranks=4, stages=4, micro_batches=6, layers=8, batch=48, hidden=2048, slow_rank=2)
STAGES: Final = {"pipeline": ("#/cluster?tab=pipeline", "light")}


def main() -> None:
    """Write all pictures."""
    sys.path[:0] = [str(ROOT / "tests")]
    import browser
    from web.pages import READY
    from web.serving import compared, viewed

    program = browser.found()
    if program is None:
        sys.exit("there is no Chromium or Chrome (BROWSER_FOR_TESTS names another place)")
    if not SHARED.is_dir():
        sys.exit(f"the recordings are not beside the checkout: {SHARED}")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        served: list[tuple[Callable[[], Any], Mapping[str, tuple[str, str]]]] = [
            (partial(viewed, SHARED / recording), places) for recording, places in RECORDED.items()
        ]
        served.append((partial(compared, SHARED / BEFORE, SHARED / AFTER), COMPARED))
        simulate(PIPELINE, folder / "pipeline")
        served.append((partial(viewed, folder / "pipeline"), STAGES))
        with browser.opened(program, folder / "profile") as running:
            for serve, places in served:
                asked = {name: place for name, place in places.items() if not sys.argv[1:] or name in sys.argv[1:]}
                if not asked:
                    continue
                with serve() as address:
                    for picture, (place, scheme) in asked.items():
                        size = next(size for end, size in SIZES.items() if picture.endswith(end))
                        page = running.page(address + place, size[0], scheme, size[1])
                        page.eventually(READY, 60)
                        if place == "#/timeline":
                            page.eventually("window.stepscopeTimeline?.places.value.length > 0", 60)
                            page.run("stepscopeTimeline.showFinding(0)")
                        page.run("new Promise(resolve => setTimeout(resolve, 800))")
                        (FOLDER / f"{picture}.png").write_bytes(page.picture())
                        page.close()
                        print(picture)


if __name__ == "__main__":
    main()
