"""`profile` and `_KinetoProfile`, which record with the profiler that is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.api.backend import Backend, say
from stepscope.record.api.config import ExperimentalConfig
from stepscope.record.api.handlers import TraceHandler
from stepscope.record.api.notices import notices
from stepscope.record.api.parity import PROFILE

#: What stacks may be weighted by, with the name that each profiler has for it.
_METRICS: Final = {
    "self_cpu_time_total": {"torch": "self_cpu_time_total", "npu": "self_cpu_time_total"},
    "self_cuda_time_total": {"torch": "self_cuda_time_total", "npu": "self_npu_time_total"},
    "self_npu_time_total": {"torch": "self_cuda_time_total", "npu": "self_npu_time_total"},
}


class _KinetoProfile:
    """A recording from `start` to `stop`, which is exported by hand; see `profile` for the options.

    What it does not have itself is the profiler's own, if that has it.
    """

    _class = "_KinetoProfile"

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        **more: Any,
    ) -> None:
        self._backend = Backend.installed()
        options: dict[str, Any] = {
            "activities": self._backend.activities(activities),
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "with_modules": with_modules,
            "experimental_config": self._config(experimental_config),
            "execution_trace_observer": execution_trace_observer,
            "acc_events": acc_events,
            "custom_trace_id_callback": custom_trace_id_callback,
            "post_processing_timeout_s": post_processing_timeout_s,
            **more,
        }
        self._with_stack = with_stack
        self._writes_itself = isinstance(more.get("on_trace_ready"), TraceHandler)
        self._native: Any = getattr(self._backend.module, self._class)(**self._given(options))

    def _config(self, config: Any) -> Any:
        return config.native(self._backend) if isinstance(config, ExperimentalConfig) else config

    def _given(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options that are given and that the profiler has; says which it does not have."""
        kind, found = self._backend.kind, {}
        for name, value in options.items():
            if value is None or value is False:
                continue
            if name == "use_cuda" and kind == "npu":
                say("use_cuda has no effect on an NPU; give activities with ProfilerActivity.NPU")
            elif kind not in PROFILE[name]:
                say(f"{name} has no effect with {self._backend.module.__name__}")
            else:
                found[name] = value
        return found

    def start(self) -> None:
        """Start to record."""
        self._native.start()

    def stop(self) -> None:
        """Stop recording."""
        self._native.stop()

    def export_chrome_trace(self, path: str) -> None:
        """Write the recording to a file; says so and does nothing where a trace handler has written it."""
        if self._writes_itself:
            say("export_chrome_trace does nothing: tensorboard_trace_handler has written the recording")
            return
        self._native.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks, weighted by a metric, for flame graphs.

        Raises:
            UserError: There is no such metric.
        """
        if metric not in _METRICS:
            message = said("export_stacks: there is no metric {metric}", metric=metric)
            raise UserError(message, hint=said("give one of {names}", names=", ".join(_METRICS)))
        if not self._with_stack:
            say("export_stacks does nothing: the recording has no stacks; give with_stack=True")
            return
        self._native.export_stacks(path, _METRICS[metric][self._backend.kind])

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the recording."""
        self._native.add_metadata(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add JSON to the recording."""
        self._native.add_metadata_json(key, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not hasattr(self._native, name):
            raise AttributeError(f"{self._backend.module.__name__} has no {name}")
        return getattr(self._native, name)


class profile(_KinetoProfile):  # noqa: N801 - the name that scripts know
    """A recording of the steps that a schedule chooses, as a context manager.

    Args:
        activities: What to record, as `ProfilerActivity`; all that is supported if not given.
        schedule: Which steps to record, as `schedule`; everything if not given.
        on_trace_ready: What to do with a recording, as `tensorboard_trace_handler`.
        use_cuda: As in PyTorch, which wants activities instead; has no effect on an NPU.
        options: As in PyTorch and torch_npu; docs/profiler-api.md says which profiler has which.
    """

    _class = "profile"

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        use_cuda: bool | None = None,
        **options: Any,
    ) -> None:
        for name in options:
            if name not in PROFILE:
                raise TypeError(f"neither torch.profiler nor torch_npu.profiler has an option {name!r}")
        backend = Backend.installed()
        compiles = backend.kind == "npu" or "torch._dynamo" in sys.modules
        for sentence in notices(options, schedule, on_trace_ready, compiles):
            say(sentence)
        super().__init__(
            activities=activities,
            schedule=backend.actions(schedule) if schedule is not None else None,
            on_trace_ready=on_trace_ready,
            use_cuda=use_cuda,
            **options,
        )

    def __enter__(self) -> profile:
        """Start to record."""
        self._native.__enter__()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        """Stop recording."""
        self._native.__exit__(exc_type, exc_value, traceback)

    def step(self) -> None:
        """A step is over."""
        self._native.step()
