import json
from enum import Enum
from pathlib import Path

from . import autograd
from .autograd import record_function

RUNNING = None

__all__ = ["ProfilerActivity", "_KinetoProfile", "record_function", "supported_activities"]


class DeviceType(Enum):
    CPU = 0
    CUDA = 1


class ExecutionTraceObserver:
    pass


def kineto_available():
    return True


class ProfilerActivity(Enum):
    CPU = 0
    CUDA = 2


def supported_activities():
    return {ProfilerActivity.CPU}


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
        execution_trace_observer=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        self.events, self.metadata, self.state = [], {}, "made"

    def prepare_trace(self):
        assert self.state == "made"
        self.state = "prepared"
        self.profiler = autograd.profiler.profile()
        self.profiler._prepare_trace()

    def start(self):
        self.prepare_trace()
        self.start_trace()

    def stop(self):
        self.stop_trace()

    def start_trace(self):
        global RUNNING
        assert self.state == "prepared"
        self.profiler._start_trace()
        self.state, RUNNING = "started", self

    def stop_trace(self):
        global RUNNING
        assert self.state == "started"
        self.state, RUNNING = "stopped", None
        self.profiler.__exit__(None, None, None)

    def add_metadata_json(self, key, value):
        assert self.state == "started"
        self.metadata[key] = json.loads(value)

    def export_chrome_trace(self, path, use_python_export=False):
        assert self.state == "stopped"
        text = json.dumps({"schemaVersion": 1, **self.metadata, "traceEvents": self.events})
        Path(path).write_text(text)


class ProfilerAction(Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class profile(_KinetoProfile):  # noqa: N801 - its name in torch
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
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        super().__init__(activities=activities)
        self.given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        self.schedule, self.on_trace_ready, self.number, self.said = schedule, on_trace_ready, 0, []

    def __enter__(self):
        self.prepare_trace()
        self.start_trace()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.stop_trace()
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def start(self):
        super().start()
        self.said.append(self.schedule(self.number))

    def stop(self):
        if self.state == "started":
            super().stop()

    def step(self):
        self.number += 1
        self.said.append(self.schedule(self.number))
        if [one.name for one in self.said[-2:]] == ["RECORD_AND_SAVE", "NONE"] and self.state == "started":
            self.stop_trace()
            self.on_trace_ready(self)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        Path(path).write_text(metric)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        return "averages"
