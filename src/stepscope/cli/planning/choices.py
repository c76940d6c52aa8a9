"""The choices of a layout as options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    str | None,
    typer.Argument(metavar="MODEL", help="A config.json, a JSON of your own, a folder with one, or a preset's name."),
]
Devices = Annotated[int | None, typer.Option("--devices", metavar="N", help="Number of devices.")]
DeviceName = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="Their kind: a100-80gb, h100, mi300x, 910b, ...")
]
Tp = Annotated[int | None, typer.Option("--tp", "--tensor-parallel", metavar="N", help="Tensor parallelism.")]
Pp = Annotated[int | None, typer.Option("--pp", "--pipeline-parallel", metavar="N", help="Pipeline stages.")]
Dp = Annotated[int | None, typer.Option("--dp", "--data-parallel", metavar="N", help="Data-parallel replicas.")]
Cp = Annotated[int | None, typer.Option("--cp", "--context-parallel", metavar="N", help="Context parallelism.")]
Ep = Annotated[int | None, typer.Option("--ep", "--expert-parallel", metavar="N", help="Expert parallelism.")]
ExpertTp = Annotated[
    int | None,
    typer.Option("--expert-tp", "--etp", metavar="N", help="Ranks that share one expert; if not given, as --tp."),
]
Virtual = Annotated[
    int | None,
    typer.Option("--virtual-stages", "--vpp", metavar="N", help="Model chunks per pipeline stage (interleaved)."),
]
ScheduleName = Annotated[
    str | None,
    typer.Option("--schedule", metavar="NAME", help="1f1b, interleaved, gpipe, zero-bubble or dualpipe."),
]
MicroBatch = Annotated[
    int | None, typer.Option("--micro-batch", "--micro-batch-size", "--mbs", metavar="N", help="Sequences at a time.")
]
GlobalBatch = Annotated[
    int | None,
    typer.Option("--global-batch", "--global-batch-size", "--gbs", metavar="N", help="Sequences per step."),
]
Seq = Annotated[int | None, typer.Option("--seq", "--seq-length", metavar="N", help="Tokens per sequence.")]
RecomputeName = Annotated[
    str | None,
    typer.Option("--recompute", metavar="WHAT", help="none, selective, modules, moe, full, layers, or a share: 50%."),
]
Zero = Annotated[str | None, typer.Option("--zero", metavar="STAGE", help="0 to 3, or fsdp.")]
Shards = Annotated[
    int | None, typer.Option("--shards", metavar="N", help="Ranks over which it shards, if fewer than all replicas.")
]
SequenceParallel = Annotated[
    bool | None,
    typer.Option("--sequence-parallel/--no-sequence-parallel", help="Split norms over tensor-parallel ranks."),
]
PrecisionName = Annotated[str | None, typer.Option("--precision", metavar="NAME", help="bf16, fp16, fp8 or fp32.")]
AttentionName = Annotated[
    str | None, typer.Option("--attention", metavar="NAME", help="flash, flash3, flash1 or unfused.")
]
Flash = Annotated[bool | None, typer.Option("--flash/--no-flash", help="The same in short.")]
OffloadName = Annotated[
    str | None, typer.Option("--offload", metavar="WHAT", help="none, optimizer, or weights and optimizer.")
]
OptimizerName = Annotated[
    str | None, typer.Option("--optimizer", metavar="NAME", help="adam, adam8bit, sgd, adafactor or muon.")
]
FrameworkName = Annotated[
    str | None,
    typer.Option("--framework", metavar="NAME", help="megatron, mindspeed, fsdp, torchtitan or deepspeed."),
]
Compiled = Annotated[bool | None, typer.Option("--compile/--no-compile", help="Whether a compiler fuses kernels.")]
Overlap = Annotated[
    bool | None, typer.Option("--overlap/--no-overlap", help="Whether collectives of replicas overlap with compute.")
]
TpOverlap = Annotated[
    bool | None, typer.Option("--tp-overlap/--no-tp-overlap", help="Whether tensor-parallel collectives do.")
]
EpOverlap = Annotated[
    bool | None, typer.Option("--ep-overlap/--no-ep-overlap", help="Whether expert-parallel collectives do.")
]
GroupedDispatch = Annotated[
    bool | None,
    typer.Option("--deepep/--no-deepep", help="Whether a token crosses to a server once for all its experts there."),
]
Fp8Weights = Annotated[
    bool | None, typer.Option("--fp8-weights/--no-fp8-weights", help="Whether fp8 training keeps weights in fp8.")
]
MasterWeights = Annotated[
    bool | None,
    typer.Option("--master-weights/--no-master-weights", help="Whether 16-bit weights have an fp32 copy."),
]
ReduceEach = Annotated[
    bool | None,
    typer.Option("--reduce-each/--no-sync", help="Whether FSDP reduces gradients of every accumulated micro-batch."),
]
LoraRank = Annotated[
    int | None,
    typer.Option("--lora", metavar="N", help="LoRA: train matrices of so many columns beside frozen weights alone."),
]
NarrowReduction = Annotated[
    bool | None,
    typer.Option("--reduce-bf16/--reduce-fp32", help="Whether gradients are summed over replicas in 16 bits."),
]
FusedLoss = Annotated[
    bool | None,
    typer.Option("--fused-loss/--no-fused-loss", help="Whether the loss is one kernel that keeps no copy of logits."),
]
Tied = Annotated[bool | None, typer.Option("--tied/--untied", help="Whether embedding and output share weights.")]
Gated = Annotated[bool | None, typer.Option("--gated/--not-gated", help="Whether the MLP has a gate (SwiGLU).")]
Dropout = Annotated[bool | None, typer.Option("--dropout/--no-dropout", help="Whether it trains with dropout.")]
PerServer = Annotated[
    int | None, typer.Option("--per-server", metavar="N", help="Devices per server, if not as usual for them.")
]
Link = Annotated[
    float | None, typer.Option("--link", metavar="GB/s", help="Bus bandwidth of collectives within a server.")
]
Network = Annotated[
    float | None, typer.Option("--network", metavar="GB/s", help="Bus bandwidth per device between servers.")
]
MemoryGib = Annotated[float | None, typer.Option("--memory", metavar="GiB", help="Memory per device.")]
Calibrate = Annotated[
    Path | None,
    typer.Option("--calibrate", metavar="RECORDING", help="Take rates of this machine from a recording of it."),
]
FromRecording = Annotated[
    Path | None,
    typer.Option("--from", metavar="RECORDING", help="Plan for the recorded job, and say what changes would bring."),
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write JSON; `-` for standard output.")]
Settings = Annotated[
    str | None,
    typer.Option("--settings", metavar="FRAMEWORK", help="Print only the best plan's settings for this framework."),
]
Top = Annotated[int, typer.Option("--top", min=1, metavar="N", help="Plans to show.")]
