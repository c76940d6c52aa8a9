"""Decide framework, purpose, libraries and parallelism of a program from the names in its recording."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, cast

from stepscope.analyses.program import marks
from stepscope.analyses.program.compiled import compiled_share, graph_share, is_mostly
from stepscope.analyses.program.platform import platform_of
from stepscope.analyses.program.program_names import ProgramNames, program_names
from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.ingest.inputs import source_of
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.program import FRAMEWORKS, Framework, Kind, Program
from stepscope.model.trace import Trace

_OPTIONS: Final = ("record_shapes", "with_stack", "profile_memory", "with_modules", "with_flops")
_OF_HOST: Final = ("op", "python", "module", "runtime", "launch")
_PYTHON: Final = re.compile(r"^(i?python|pt_main_thread|jupyter|torchrun|pytest)|\(i?python", re.ASCII)
_IN_PYTHON: Final = frozenset(("pytorch", "jax", "tensorflow", "mindspore", "paddle", "cupy"))
#: Names of kernels with types are C++, written out or mangled; those of OpenMP have the mangled name inside.
_SIGNATURE: Final = re.compile(r"[(<]|_Z")
_BACKWARD_FRAMES: Final = re.compile(r": (backward|_engine_run_backward)$")
#: What changes where a model's weights lie, even on one rank.
_ALONE_TOO: Final = frozenset(("fsdp", "deepspeed"))
_GROUPS_SQL: Final = """
SELECT DISTINCT "group", description FROM groups WHERE size IS NULL OR size > 1 ORDER BY ALL
"""

#: What was decided, and what each decision rests on.
Evidence = dict[str, str]


def program_of(trace: Trace) -> Program:
    """The program that a trace of one rank is of, decided once from the whole trace, however it was narrowed."""
    return trace.whole.once(_decided)


def _decided(trace: Trace) -> Program:
    names, why = trace.once(program_names), Evidence()
    [recording] = trace.recordings.values()
    executable = str(recording.attributes.get("executable", ""))
    told = str(recording.attributes.get("framework", ""))
    framework = _framework(names, told, source_of(recording.reader).framework, why)
    language = _language(framework, names, executable, why)
    if framework == "unknown" and language in ("c++", "native"):
        framework = "native"
    libraries = _libraries(names, why)
    share = {"jax": 1.0, "tensorrt": 1.0, "pytorch": compiled_share(trace)}.get(framework)
    compiled, graphs = is_mostly(share), graph_share(trace)
    if compiled:
        why["compiled"] = f"{share:.0%} of the kernels come out of compiled graphs"
    if is_mostly(graphs):
        why["graphs"] = f"{graphs:.0%} of the kernels are replayed by graphs"
    return Program(
        kind=_kind(trace, names, libraries, why),
        framework=framework,
        platform=platform_of(trace, names),
        language=language,
        offload=_offload(names, str(recording.attributes.get("apis", "")), why) if framework == "native" else "",
        libraries=libraries,
        network=next((name for one in marks.NETWORKS for name in names.classes if one.search(name)), ""),
        compiled=compiled,
        graphs=bool(is_mostly(graphs)),
        parallel=_parallel(trace, names, why),
        host=trace.once(recorded_events).on_host(_OF_HOST) > 0,
        operators=trace.once(recorded_events).on_host(("op",)) > 0,
        loader=bool(trace.once(recorded_events).names(("dataloader",))),
        executable=executable,
        recorder=recording.reader,
        recorded=frozenset(name for name in _OPTIONS if recording.attributes.get(name) is True),
        evidence=tuple(why.items()),
    )


def _first(patterns: marks.Marks, names: Iterable[str], aspect: str, why: Evidence) -> str:
    """The first value whose names occur in the recording; the name found is noted as evidence."""
    listed = tuple(names)
    for value, pattern in patterns:
        if found := next(filter(pattern.search, listed), ""):
            why[aspect] = found
            return value
    return ""


def _framework(names: ProgramNames, told: str, usual: Framework, why: Evidence) -> Framework:
    if told in FRAMEWORKS:
        why["framework"] = "files of its profiler"
        return cast("Framework", told)
    found = _first(marks.FRAMEWORK_NAMES, (*names.work, *names.files), "framework", why)
    # Profilers that come with a framework record that framework, unless their files tell otherwise.
    return cast("Framework", found or told or usual)


def _language(
    framework: Framework, names: ProgramNames, executable: str, why: Evidence
) -> Literal["python", "c++", "native", "unknown"]:
    if framework in _IN_PYTHON or names.frames:
        return "python"
    if mark := names.first(_PYTHON, (executable,), names.threads):
        why["language"] = mark
        return "python"
    if not names.kernels or not (executable or framework == "ggml"):
        return "unknown"
    return "c++" if names.first(_SIGNATURE, names.kernels) else "native"


def _offload(names: ProgramNames, apis: str, why: Evidence) -> str:
    traced = next((api for api in ("openacc", "openmp") if api in apis), "")
    if traced:
        why["offload"] = f"calls of {traced} in the export"
    return traced or _first(marks.OFFLOAD_NAMES, names.kernels, "offload", why)


def _libraries(names: ProgramNames, why: Evidence) -> tuple[str, ...]:
    """Known libraries whose code the program runs, servers first."""
    found = {name: names.packages[part] for part, name in marks.PACKAGES.items() if part in names.packages}
    known = not marks.SERVERS_BY_NAME.isdisjoint(found)
    for name, pattern in marks.LIBRARY_NAMES:
        # Servers use each other's kernels and names of ranges: those count where no server's code is seen.
        if not (known and name in marks.SERVERS_BY_NAME) and (mark := names.first(pattern, names.work)):
            found.setdefault(name, mark)
            known = known or name in marks.SERVERS_BY_NAME
    order = list(dict.fromkeys(marks.PACKAGES.values()))
    libraries = tuple(sorted(found, key=order.index))
    if libraries:
        why["library"] = "; ".join(found[name] for name in libraries)
    return libraries


def _kind(trace: Trace, names: ProgramNames, libraries: tuple[str, ...], why: Evidence) -> Kind:
    work = DeviceWork.of(trace)
    trained = (
        names.first(marks.OPTIMIZER, names.work)
        or names.first(marks.OPTIMIZER_FILES, names.files)
        or names.first(marks.BACKWARD, names.work)
        or next((label for label in names.threads if "pt_autograd" in label), "")
        or names.first(_BACKWARD_FRAMES, names.frames)
    )
    served = next((name for name in libraries if name in marks.SERVERS_BY_NAME), "")
    made = next((name for name in libraries if name in marks.DIFFUSERS.values()), "")
    maybe = names.first(marks.MAYBE_OPTIMIZER, names.work)
    if work.is_class("optimizer").any():
        maybe = maybe or "kernels of an optimizer"
    # GEMMs alone are a benchmark of them, and what ran on the device alone does not tell that nothing trained it.
    compute = work.are("compute")
    gemms = compute & work.is_class("gemm", "convolution", "attention")
    between = compute & work.is_class("elementwise", "normalisation", "attention", "convolution", "reduction")
    # Backward of these would show by its name.
    told = work.is_class("normalisation", "attention").any() or trace.once(recorded_events).on_host(("op", "module"))
    network = told and gemms.any() and between.any()
    inferred = "GEMMs on the device, and nothing that only training runs" if network else ""
    decided: tuple[tuple[Kind, str], ...] = (
        ("training", trained), ("serving", served), ("diffusion", made), ("training", maybe),
        ("inference", names.first(marks.ANSWERING, names.work)), ("inference", inferred),
    )  # fmt: skip
    for kind, mark in decided:
        if mark:
            why["kind"] = mark
            return kind
    return "unknown"


def _parallel(trace: Trace, names: ProgramNames, why: Evidence) -> frozenset[str]:
    """How ranks share the work. A layer that could be split among ranks is not, if nothing is exchanged."""
    [recording] = trace.recordings.values()
    seen = {"mpi": "calls of MPI"} if "mpi" in str(recording.attributes.get("apis", "")) else {}
    ways = marks.PARALLEL_NAMES
    if not trace.scalar("SELECT count(*) FROM collectives"):
        # Shards may stay on the host of a single rank; what only splits work does nothing there.
        ways = tuple((way, pattern) for way, pattern in ways if way in _ALONE_TOO)
    else:
        groups = [str(part) for row in trace.rows(_GROUPS_SQL) for part in row.values() if part]
        for way, pattern in marks.PARALLEL_GROUPS:
            seen[way] = names.first(pattern, groups)
        # In a pipeline of whole layers, all ranks of a model are those of the pipeline.
        if not (seen["tensor"] or seen["pipeline"]):
            seen["tensor"] = names.first(marks.MODEL_GROUPS, groups)
    for way, pattern in ways:
        seen[way] = seen.get(way) or names.first(pattern, names.work, names.files)
    for way, argument in marks.PARALLEL_SIZES.items():
        size = recording.attributes.get(argument)
        if isinstance(size, int):
            seen[way] = f"{argument} = {size}" if size > 1 else ""
    told = {way: mark for way, mark in seen.items() if mark}
    if told:
        why["parallel"] = "; ".join(told.values())
    return frozenset(told)
