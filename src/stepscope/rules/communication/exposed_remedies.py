"""What helps against exposed communication, by what is exchanged and what the program is made with."""

from __future__ import annotations

from stepscope.rules.finding import Action

REDUCE = Action(
    "Let DistributedDataParallel reduce gradients bucket by bucket while the backward pass still runs",
    before="loss.backward()\nfor p in model.parameters():\n    dist.all_reduce(p.grad)",
    after="model = DistributedDataParallel(model, gradient_as_bucket_view=True)\n"
    "loss.backward()  # each bucket is reduced as soon as it is full",
    page="overlapping-communication",
    needs=("gradients reduced by hand",),
)
PREFETCH = Action(
    "Gather the parameters of the next layers while this one computes",
    before="FSDP(model)",
    after="FSDP(model, forward_prefetch=True, backward_prefetch=BackwardPrefetch.BACKWARD_PRE)\n"
    "# FSDP2: layer.set_modules_to_forward_prefetch([next_layer])",
    page="overlapping-communication",
)
EXCHANGE = Action(
    "Split the batch in two, so that one half's exchange runs while the other half computes; issue it asynchronously",
    before="dist.all_to_all_single(out, tokens)",
    after="work = dist.all_to_all_single(out, tokens, async_op=True)\n"
    "...  # compute what does not need `out`\nwork.wait()",
    page="overlapping-communication",
)
ACCUMULATE = Action(
    "With gradient accumulation, reduce only in the last micro-batch",
    before="loss.backward()",
    after="with model.no_sync():  # in all but the last micro-batch\n    loss.backward()",
    page="overlapping-communication",
    needs=("gradients are reduced",),
)
COMPRESS = Action(
    "Send gradients in half the bytes where the link is the limit",
    before="model = DistributedDataParallel(model)",
    after="model = DistributedDataParallel(model, gradient_as_bucket_view=True)\n"
    "model.register_comm_hook(None, default_hooks.bf16_compress_hook)",
    page="overlapping-communication",
    needs=("ddp", "trains", "cuda or rocm"),
)
#: PyTorch refuses its hook for bf16 where there is no NCCL.
HALVED = Action(
    "Send gradients in half the bytes where the link is the limit",
    before="model = DistributedDataParallel(model)",
    after="model = DistributedDataParallel(model, gradient_as_bucket_view=True)\n"
    "model.register_comm_hook(None, default_hooks.fp16_compress_hook)",
    page="overlapping-communication",
    needs=("ddp", "trains", "npu"),
)
STAGES = Action(
    "Let more micro-batches go through the pipeline in each step, so that stages wait less for each other",
    before="--micro-batch-size 4 --global-batch-size 16",
    after="--micro-batch-size 1 --global-batch-size 16",
    page="pipeline-parallelism",
    needs=("may train",),
)
FEWER = Action(
    "Split the model over fewer devices if it fits into their memory: each layer is exchanged by fewer ranks",
    before="vllm serve MODEL --tensor-parallel-size 8",
    after="vllm serve MODEL --tensor-parallel-size 4 --data-parallel-size 2",
    page="serving",
)
OWN_KERNEL = Action(
    "Let the server reduce with a kernel of its own over NVLink or xGMI, which takes a fraction of the library's time "
    "for small messages",
    before="vllm serve MODEL --tensor-parallel-size 8 --disable-custom-all-reduce",
    after="vllm serve MODEL --tensor-parallel-size 8",
    page="serving",
    needs=("cuda or rocm",),
)
MULTIPLIED = Action(
    "Let one operator multiply and reduce: it sends parts of its result while it computes others",
    before="y = x @ w\ndist.all_reduce(y)",
    after="y = torch_npu.npu_mm_all_reduce_base(x, w, hcom, reduce_op='sum')   # hcom: the name of HCCL's communicator",
    page="npu-operators",
    needs=("npu",),
)
#: What helps where single layers are divided over ranks.
DIVIDED_LAYERS = (
    Action(
        "Let one operator multiply and exchange: it sends parts of its result while it computes others",
        before="--tensor-model-parallel-size 8",
        after="--tensor-model-parallel-size 8 --sequence-parallel\n--use-ascend-mc2   # MindSpeed; for dense models",
        page="overlapping-communication",
        needs=("npu",),
    ),
    Action(
        "Exchange parts of each layer's result while others are computed",
        before="--tensor-model-parallel-size 8",
        after="--tensor-model-parallel-size 8 --sequence-parallel --tp-comm-overlap",
        page="overlapping-communication",
        needs=("cuda",),
    ),
    Action(
        "Divide layers over fewer ranks, all of one server, if the model fits into their memory: each layer exchanges "
        "less",
        before="--tensor-model-parallel-size 8",
        after="--tensor-model-parallel-size 4",
        page="overlapping-communication",
    ),
)
MEGATRON = Action(
    "Let Megatron reduce gradients during the backward pass, and gather parameters during the forward pass",
    before="--use-distributed-optimizer",
    after="--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
    page="overlapping-communication",
)
#: What reduces gradients is seen on the host only.
EITHER = Action(
    "Reduce gradients while the backward pass still runs: data-parallel wrappers do it by themselves, Megatron and its "
    "like when told to",
    before="--use-distributed-optimizer",
    after="--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
    page="overlapping-communication",
    needs=("host not recorded", "gradients are reduced"),
)
ASIDE = Action(
    "Issue it asynchronously as soon as its data is there, and wait only where its result is read",
    before="dist.broadcast(batch, src=0)",
    after="work = dist.broadcast(batch, src=0, async_op=True)\n...  # what does not need `batch`\nwork.wait()",
    page="overlapping-communication",
)
EVENTS = Action(
    "Give the profiler's whole result folders of all ranks: only events tell transfer from waiting for other ranks",
    page="recording",
)
LESS = Action(
    "Send less, or over a faster link: shard within a host only, in narrower types, more computing per exchange",
    before="fully_shard(model)",
    after="mesh = init_device_mesh('cuda', (hosts, 8), mesh_dim_names=('copies', 'shards'))\n"
    "fully_shard(model, mesh=mesh)  # parameters are gathered within a host, gradients reduced between hosts",
    page="collective-bandwidth",
)
