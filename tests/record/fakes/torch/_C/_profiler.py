class _ExperimentalConfig:
    def __init__(
        self,
        profiler_metrics=(),
        profiler_measure_per_kernel=False,
        verbose=False,
        performance_events=(),
        enable_cuda_sync_events=False,
        adjust_profiler_step=False,
        disable_external_correlation=False,
        profile_all_threads=False,
        capture_overload_names=False,
        record_python_gc_info=False,
        expose_kineto_event_metadata=False,
        custom_profiler_config="",
        adjust_timestamps=False,
        trace_only=False,
    ):
        self.profile_all_threads = profile_all_threads
