"""Parameters of a simulated job, with their units."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SimJob:
    """A training (or inference) job and the machine it runs on.

    Times are nanoseconds, sizes are bytes, rates are bytes per second. Two equal jobs always give
    byte-identical files.

    Attributes:
        name: label of the job, written as the trace's name.
        model: ``transformer``, ``convnet`` or ``mlp``.
        layers: blocks of the model.
        hidden: width (channels of the first stage for a convnet).
        heads: attention heads.
        sequence: tokens per sample (transformer).
        sequence_cycle: number of different sequence lengths the batches cycle through; 1 keeps shapes fixed.
        image: height and width of a sample in pixels (convnet).
        vocab: size of the vocabulary, or the number of classes.
        batch: samples per rank and step.
        dtype: ``bf16``, ``fp16`` or ``fp32``.
        training: with backward and optimizer; otherwise forward only.
        attention: ``flash`` (one kernel) or ``math`` (matmul, scale, softmax, matmul).
        elementwise_split: kernels each pointwise operation is written as; above 1 it is unfused user code.
        gelu_split: kernels the activation function is written as (8 for a hand-written tanh form).
        recompute: run each block's forward a second time in the backward (activation checkpointing).
        optimizer: ``adamw`` or ``sgd``.
        optimizer_impl: ``fused``, ``foreach`` or ``loop`` (per tensor).
        zero_gradients: fill gradients with zeros before each backward; otherwise they are let go.
        graph: replay forward and backward as one CUDA graph.
        device: key of ``devices.DEVICES``.
        compute_scale: multiplies every compute kernel's time (1.0 is the cost model's).
        kernel_floor_ns: shortest kernel.
        kernel_gap_ns: device time between two kernels queued back to back.
        event_latency_ns: from the end of an event's work to the start of what waits for it on another stream.
        launch_latency_ns: from the return of the launch call to the start on an idle stream.
        queue_depth: launches outstanding on a stream before the launch call blocks.
        memory_bytes: device memory the allocator may reserve; 0 takes the device's own size.
        op_ns: host cost of entering an operator (leaving it costs a quarter).
        python_ns: Python between two operators the model's code calls.
        launch_ns: host time of a launch call.
        call_ns: host time of a small runtime call (event record, attribute query).
        sync_return_ns: from the device's drain to the return of a synchronising call.
        malloc_ns: host time of cudaMalloc; cudaFree takes twice that, and waits for the device.
        workers: loader processes; 0 loads in the main thread.
        prefetch: batches in flight per worker.
        load_ns: time one loader needs for one batch.
        load_jitter: relative spread of ``load_ns``.
        collate_ns: main-thread cost of taking a finished batch out of the queue.
        pinned: the batch lies in page-locked memory and is copied asynchronously.
        pinned_bandwidth: host-to-device rate of page-locked memory.
        pageable_bandwidth: host-to-device rate of pageable memory.
        copy_stream: copy the batch on a stream of its own.
        spare_copies: further copies of the batch to the device in each step, which nothing reads.
        items_per_step: ``.item()`` calls per step, spread over the forward.
        double_ops: operators on fp64 tensors per step, spread likewise; Ascend devices run them on their AI CPU.
        sync_every_op: synchronise the device after every operator that launched a kernel.
        sync_each_step: synchronise the device at the end of each step.
        empty_cache: return cached memory to the driver after each step.
        leak_bytes: memory kept from every step.
        gc_interval_ops: operators between garbage collections; 0 for none.
        gc_pause_ns: length of one garbage collection.
        pause_interval_ops: operators between two pauses of the process; 0 for none.
        pause_ns: length of such a pause.
        ranks: ranks; all of them are data-parallel but for stages.
        stages: stages of a pipeline, each on as many ranks; 1 for none.
        virtual_stages: parts of the model on each rank of a pipeline, interleaved with those of the others.
        micro_batches: parts in which a batch goes through a pipeline.
        last_stage_layers: blocks of the last stage, which has head and loss too; 0 for as many as the others have.
        parallel: ``ddp`` (all-reduce of gradients) or ``fsdp`` (sharded: all-gather, reduce-scatter).
        inner_ranks: gradients are reduced among so many neighbours, then between the groups of these; 0 for at once.
        ranks_per_host: ranks that share a host and its clock.
        bucket_bytes: gradients gathered before one all-reduce (the first bucket holds at most 1 MiB).
        overlap_comm: all-reduce a bucket as soon as it is full; otherwise after the backward.
        link_bandwidth: rate of one rank's link inside a host.
        network_bandwidth: rate of one rank's link between hosts.
        comm_latency_ns: fixed part of a collective.
        slow_rank: rank whose device is slower; -1 for none.
        slow_factor: by how much (1.5: half as long again).
        slow_host_rank: rank whose host is slower; -1 for none.
        slow_host_factor: by how much.
        slow_loader_rank: rank whose loaders are slower; -1 for none.
        slow_loader_factor: by how much.
        slow_link_rank: rank whose link is slower; -1 for none.
        slow_link_peer: only the link to this rank; -1 for those to all others.
        slow_link_factor: by how much: a collective over it takes so many times as long to move its data.
        experts: the blocks' second halves are experts, spread over all ranks, to which tokens are sent and from which
            they come back (expert parallelism).
        busy_rank: rank whose experts get more tokens than the others'; -1 for none.
        busy_factor: how many times the mean.
        clock_offset_ns: each further host's clock is ahead by this much.
        steps: recorded steps.
        warmup_steps: simulated but not recorded steps before them.
        record_shapes: write shapes, dtypes and strides of operators.
        with_stack: write Python frames.
        profile_memory: write allocations.
        record_calls: write small runtime calls beside launches.
        mark_steps: write ``ProfilerStep#N``.
        sums_from_rank: ranks from this one on leave sums alone (Ascend: steps and communication); -1 for none.
        profiler_level: detail of an Ascend recording: 0, 1 or 2; -1 for none, which leaves the host alone.
        cann: release of CANN whose names an Ascend recording has: 8.0 or 8.5.
        buffer_flush_ops: recorded runtime calls between two pauses of the profiler; 0 for none.
        buffer_flush_ns: length of such a pause.
        profiler_op_ns: host time that recording adds to each operator, as call stacks do; 0 for none.
        profiler_stop_ns: host time that the profiler takes after the last step, while nothing runs.
        context_ns: host time of the first call of the runtime, which makes the context.
        first_use_ns: host time that the first launch of each kernel takes on top: its code is loaded.
        library_copies: with its first launch, a library copies 112 bytes of pageable memory to the device.
        record_start: the recording holds the start of the job and its warm-up steps too.
        start_edge: recording starts while device work of the step before still runs; its launches are not recorded.
        device_clock_ns: the device's clock is ahead of the host's by this much.
        device_clock_ppm: and gains this many parts in a million on it.
        clock_tick_ns: recorded times are rounded down to a multiple of this.
        step_name: what steps are recorded as, with `{}` for the number.
        framework: write operators and annotations; otherwise runtime calls and device work alone, as of a C++ program.
        seed: seeds what is random in the job itself (loader jitter).
        noise: relative spread of host and kernel times; 0 for none.
        noise_seed: seeds the noise.
    """

    name: str = "tiny"
    model: str = "transformer"
    layers: int = 2
    hidden: int = 256
    heads: int = 4
    sequence: int = 128
    sequence_cycle: int = 1
    image: int = 64
    vocab: int = 1024
    batch: int = 8
    dtype: str = "bf16"
    training: bool = True
    attention: str = "flash"
    elementwise_split: int = 1
    gelu_split: int = 1
    recompute: bool = False
    optimizer: str = "adamw"
    optimizer_impl: str = "foreach"
    zero_gradients: bool = True
    graph: bool = False

    device: str = "h100"
    compute_scale: float = 1.0
    kernel_floor_ns: int = 1_600
    kernel_gap_ns: int = 700
    event_latency_ns: int = 1_500
    launch_latency_ns: int = 1_800
    queue_depth: int = 1024
    memory_bytes: int = 0

    op_ns: int = 1_600
    python_ns: int = 5_000
    launch_ns: int = 4_200
    call_ns: int = 700
    sync_return_ns: int = 5_000
    malloc_ns: int = 90_000

    workers: int = 4
    prefetch: int = 2
    load_ns: int = 1_500_000
    load_jitter: float = 0.0
    collate_ns: int = 120_000
    pinned: bool = True
    pinned_bandwidth: float = 24e9
    pageable_bandwidth: float = 5e9
    copy_stream: bool = False
    spare_copies: int = 0

    items_per_step: int = 0
    double_ops: int = 0
    sync_every_op: bool = False
    sync_each_step: bool = False
    empty_cache: bool = False
    leak_bytes: int = 0
    gc_interval_ops: int = 0
    gc_pause_ns: int = 30_000_000
    pause_interval_ops: int = 0
    pause_ns: int = 2_000_000

    ranks: int = 1
    stages: int = 1
    virtual_stages: int = 1
    micro_batches: int = 1
    last_stage_layers: int = 0
    parallel: str = "ddp"
    inner_ranks: int = 0
    ranks_per_host: int = 8
    bucket_bytes: int = 25 * MIB
    overlap_comm: bool = True
    link_bandwidth: float = 200e9
    network_bandwidth: float = 40e9
    comm_latency_ns: int = 18_000
    slow_rank: int = -1
    slow_factor: float = 1.5
    slow_host_rank: int = -1
    slow_host_factor: float = 2.0
    slow_loader_rank: int = -1
    slow_loader_factor: float = 1.0
    slow_link_rank: int = -1
    slow_link_peer: int = -1
    slow_link_factor: float = 4.0
    experts: bool = False
    busy_rank: int = -1
    busy_factor: float = 2.0
    clock_offset_ns: int = 0

    steps: int = 3
    warmup_steps: int = 1
    record_shapes: bool = True
    with_stack: bool = False
    profile_memory: bool = True
    record_calls: bool = True
    mark_steps: bool = True
    sums_from_rank: int = -1
    profiler_level: int = 1
    cann: str = "8.0"
    buffer_flush_ops: int = 0
    buffer_flush_ns: int = 400_000
    profiler_op_ns: int = 0
    profiler_stop_ns: int = 0

    context_ns: int = 0
    first_use_ns: int = 0
    library_copies: bool = False
    record_start: bool = False
    start_edge: bool = False
    device_clock_ns: int = 0
    device_clock_ppm: float = 0.0
    clock_tick_ns: int = 1
    step_name: str = "ProfilerStep#{}"
    framework: bool = True

    seed: int = 0
    noise: float = 0.0
    noise_seed: int = 1
