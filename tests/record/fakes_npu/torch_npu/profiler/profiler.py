import json
import os
import socket
import time
from enum import Enum
from pathlib import Path

HANDLERS = []
GIVEN = {}
#: Where the last handler wants recordings: folder and worker, which the real one keeps in a singleton, too.
PLACE = [None, None]


class ProfilerActivity(Enum):
    CPU = 0
    NPU = 1


class ProfilerAction(Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerLevel:
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics:
    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB = "ACL_AICORE_MEMORY_UB"
    MemoryAccess = "ACL_AICORE_MEMORY_ACCESS"
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    AiCoreNone = "ACL_AICORE_NONE"


class HostSystem:
    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class ExportType:
    Db = "db"
    Text = "text"


class _ExperimentalConfig:
    def __init__(
        self,
        profiler_level="Level0",
        aic_metrics="ACL_AICORE_NONE",
        l2_cache=False,
        msprof_tx=False,
        data_simplification=True,
        record_op_args=False,
        op_attr=False,
        gc_detect_threshold=None,
        export_type=None,
        host_sys=None,
        mstx_domain_include=None,
        mstx_domain_exclude=None,
        sys_io=False,
        sys_interconnection=False,
        mstx=False,
    ):
        self.given = {name: value for name, value in locals().items() if name != "self"}


def supported_activities():
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}


class Schedule:
    def __init__(self, wait, active, warmup=0, repeat=0, skip_first=0):
        pass


def tensorboard_trace_handler(dir_name=None, worker_name=None, analyse_flag=True, async_mode=False):
    HANDLERS.append((dir_name, worker_name, analyse_flag, async_mode))
    PLACE[:] = dir_name, worker_name
    return lambda profiler: parse(profiler) if analyse_flag else None


def parse(profiler):
    """What becomes of the marks: a trace as CANN writes it, with a kernel in each step."""
    names = ["python3", "Ascend Hardware"]
    events = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}} for pid, name in enumerate(names)]
    for event in profiler.events:
        common = {"ph": "X", "tid": 1, "ts": f"{1_700_000_000_000_000 + event['ts']:.3f}"}
        events.append({**common, "cat": "cpu_op", "name": event["name"], "pid": 0, "dur": event["dur"]})
        events.append(
            {**common, "name": "MatMulV2", "pid": 1, "dur": event["dur"] / 2, "args": {"Task Type": "AI_CORE"}}
        )
    output = profiler.path / "ASCEND_PROFILER_OUTPUT"
    output.mkdir()
    (output / "trace_view.json").write_text(json.dumps(events))
    rank = os.environ.get("RANK")
    (profiler.path / f"profiler_info{'' if rank is None else f'_{rank}'}.json").write_text("{}")


def analyse(profiler_path, max_process_number=4, export_type=None):
    """Parses a recording, or those directly in a folder; what fails is printed."""
    path = Path(profiler_path)
    recordings = [path] if (path / "FRAMEWORK").is_dir() or list(path.glob("PROF_*")) else [*path.glob("*_ascend_pt")]
    for one in recordings:
        if "broken" in one.name:
            print("cannot parse")
            continue
        output = one / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(exist_ok=True)
        (output / "analyse.done").touch()
        (output / "how.txt").write_text(f"{max_process_number} {export_type}")


class _KinetoProfile:
    def __init__(
        self,
        *,
        activities=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
    ):
        self.given = {name: value for name, value in locals().items() if name != "self"}

    def start(self):
        self.events = []

    def stop(self):
        pass

    def export_chrome_trace(self, output_path):
        Path(output_path).write_text("{}")

    def export_stacks(self, output_path, metric="self_cpu_time_total"):
        Path(output_path).write_text(metric)

    def add_metadata(self, key, value):
        pass

    def add_metadata_json(self, key, value):
        assert len(value) <= 4096
        json.loads(value)


class profile(_KinetoProfile):  # noqa: N801 - its name in torch_npu
    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        use_cuda=None,
    ):
        self.given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        self.schedule, self.on_trace_ready, self.metadata = schedule, on_trace_ready, {}

    def start(self):
        from torch import profiler

        GIVEN.update(self.given, activities=[one.name for one in self.given["activities"]])
        folder, worker = PLACE
        name = f"{worker or f'{socket.gethostname()}_{os.getpid()}'}_{time.time_ns() // 1_000_000}_ascend_pt"
        self.path, self.events = Path(folder or Path.cwd()) / name, []
        self.path.mkdir(parents=True)
        profiler.RUNNING = self

    def stop(self):
        from torch import profiler

        profiler.RUNNING = None
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        pass

    def step(self):
        pass
