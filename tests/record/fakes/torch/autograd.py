import threading
import time

OPEN = threading.local()


class record_function:  # noqa: N801 - its name in torch
    def __init__(self, name, args=None):
        self.name = name

    def __enter__(self):
        from . import profiler

        self.ts = time.perf_counter_ns() / 1e3
        self.recorder = profiler.RUNNING
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        from . import profiler

        if profiler.RUNNING is not None and profiler.RUNNING is self.recorder:
            end = time.perf_counter_ns() / 1e3
            profiler.RUNNING.events.append(
                {
                    "ph": "X",
                    "cat": "user_annotation",
                    "name": self.name,
                    "pid": 1,
                    "tid": 1,
                    "ts": self.ts,
                    "dur": end - self.ts,
                }
            )


class profiler:  # noqa: N801 - its name in torch
    class profile:  # noqa: N801 - its name in torch
        RUNNING = None

        def _prepare_trace(self):
            pass

        def _start_trace(self):
            if profiler.profile.RUNNING is not None:
                raise RuntimeError("Profiler is already enabled on this thread.")
            profiler.profile.RUNNING = self

        def __exit__(self, exc_type, exc_val, exc_tb):
            assert profiler.profile.RUNNING is self
            profiler.profile.RUNNING = None

    class emit_nvtx:  # noqa: N801 - its name in torch
        def __init__(self, enabled=True, record_shapes=False):
            self.record_shapes = record_shapes

        def __enter__(self):
            from .cuda import nvtx

            nvtx.calls.append(f"operators {self.record_shapes}")

        def __exit__(self, exc_type, exc_val, exc_tb):
            from .cuda import nvtx

            nvtx.calls.append("no operators")
