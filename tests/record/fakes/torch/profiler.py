import json
from enum import Enum
from pathlib import Path

from .autograd import record_function

RUNNING = None

__all__ = ["ProfilerActivity", "_KinetoProfile", "record_function", "supported_activities"]


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

    def start_trace(self):
        global RUNNING
        assert self.state == "prepared"
        self.state, RUNNING = "started", self

    def stop_trace(self):
        global RUNNING
        assert self.state == "started"
        self.state, RUNNING = "stopped", None

    def add_metadata_json(self, key, value):
        assert self.state == "started"
        self.metadata[key] = json.loads(value)

    def export_chrome_trace(self, path, use_python_export=False):
        assert self.state == "stopped"
        text = json.dumps({"schemaVersion": 1, **self.metadata, "traceEvents": self.events})
        Path(path).write_text(text)
