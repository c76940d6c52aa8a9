from enum import Enum
from pathlib import Path

HANDLERS = []


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
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    AiCoreNone = "ACL_AICORE_NONE"


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
        export_type="text",
    ):
        self.given = {name: value for name, value in locals().items() if name != "self"}


def supported_activities():
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}


class Schedule:
    def __init__(self, wait, active, warmup=0, repeat=0, skip_first=0):
        pass


def tensorboard_trace_handler(dir_name=None, worker_name=None, analyse_flag=True, async_mode=False):
    HANDLERS.append((dir_name, worker_name, analyse_flag, async_mode))
    return HANDLERS.append


def analyse(profiler_path, max_process_number=4):
    assert Path(profiler_path).is_dir()
    print(f"analysed {Path(profiler_path).name} with {max_process_number}")


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
        pass

    def stop(self):
        pass

    def export_chrome_trace(self, output_path):
        Path(output_path).write_text("{}")

    def export_stacks(self, output_path, metric="self_cpu_time_total"):
        Path(output_path).write_text(metric)

    def add_metadata(self, key, value):
        pass

    def add_metadata_json(self, key, value):
        pass


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
        self.schedule = schedule

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        pass

    def step(self):
        pass
