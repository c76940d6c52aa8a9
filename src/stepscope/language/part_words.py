"""What parts, phases, idle causes, roles and levels, which tables have as names, are called in texts."""

from __future__ import annotations

from typing import Final

from stepscope.language.said import said

#: Names of tables whose words other languages have too.
_WORDS: Final = {
    # parts of a step
    "compute": said("compute"),
    "exposed_communication": said("exposed communication"),
    "exposed_copy": said("exposed copy"),
    "communication": said("communication"),
    "copies": said("copies"),
    "host": said("host"),
    "idle": said("idle"),
    "busy": said("busy"),
    "step": said("step"),
    # causes of idleness, and their details
    "data_wait": said("data wait"),
    "synchronisation": said("synchronisation"),
    "allocation": said("allocation"),
    "host_dispatch": said("host dispatch"),
    "launch_latency": said("launch latency"),
    "dependency": said("dependency"),
    "profiler_overhead": said("profiler overhead"),
    "unknown": said("unknown"),
    "blocked": said("blocked"),
    "refill": said("refill"),
    "op_overhead": said("op overhead"),
    "gc": said("gc"),
    "runtime_call": said("runtime call"),
    "other": said("other"),
    "host_work": said("host work"),
    "first_use": said("first use"),
    "empty_queue": said("empty queue"),
    "queued": said("queued"),
    "event": said("event"),
    "other_stream": said("other stream"),
    "delayed start": said("delayed start"),
    "launch not recorded": said("launch not recorded"),
    "host not recorded": said("host not recorded"),
    "work not recorded": said("work not recorded"),
    # phases
    "recomputation": said("recomputation"),
    "saving": said("saving"),
    "optimizer": said("optimizer"),
    "data_loading": said("data loading"),
    "postprocessing": said("postprocessing"),
    "preprocessing": said("preprocessing"),
    "sampling": said("sampling"),
    "mixed": said("mixed"),
    "prefill": said("prefill"),
    "decode": said("decode"),
    "denoise": said("denoise"),
    "backward": said("backward"),
    "forward": said("forward"),
    "rest": said("rest"),
    # roles of a server's kernels
    "attention": said("attention"),
    "moe": said("moe"),
    "gemm": said("gemm"),
    "cache": said("cache"),
    "normalisation": said("normalisation"),
    "pointwise": said("pointwise"),
    "copy": said("copy"),
    "all": said("all"),
    # what the time of tokens is made of
    "output token": said("output token"),
    "verification of drafts": said("verification of drafts"),
    "1,000 prompt tokens": said("1,000 prompt tokens"),
    "prefill in between": said("prefill in between"),
    "between passes, busy": said("between passes, busy"),
    "between passes, idle": said("between passes, idle"),
    "in passes, idle": said("in passes, idle"),
    "not in the passes": said("not in the passes"),
    "pass": said("pass"),
    "gap": said("gap"),
    # memory
    "peak_memory": said("peak memory"),
    "peak_reserved": said("peak reserved"),
    # what memory is for
    "older than the recording": said("older than the recording"),
    "older than the recording, freed during it": said("older than the recording, freed during it"),
    "parameters": said("parameters"),
    "workspaces": said("workspaces"),
    "input data": said("input data"),
    "autotuning": said("autotuning"),
    "weights cast by autocast": said("weights cast by autocast"),
    "private pools": said("private pools"),
    "temporaries": said("temporaries"),
    "optimizer state": said("optimizer state"),
    "parameters and optimizer state": said("parameters and optimizer state"),
    "activations": said("activations"),
    "gradients": said("gradients"),
    # roles of steps
    "typical": said("typical"),
    "partial": said("partial"),
    "warm-up": said("warm-up"),
    "edge": said("edge"),
    "outlier": said("outlier"),
    # severity
    "error": said("error"),
    "warning": said("warning"),
    "info": said("info"),
    "high": said("high"),
    "medium": said("medium"),
    "low": said("low"),
    "advice": said("advice"),
}


def in_words(name: str) -> str:
    """`data_wait` as `data wait`, which other languages can be told; a name that is not known stays its own words."""
    return _WORDS.get(name) or name.replace("_", " ")
