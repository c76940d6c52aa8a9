"""What the page of the benchmark says beside its tables."""

from __future__ import annotations

PROVISO = (
    "These rows are what the formulas were developed on: the figures say how well mechanisms explain them, not how",
    "well they do elsewhere. Set by rows of this page rather than by a source of their own are: the 0.88 and 0.93 by",
    "which long runs stay below measured GEMM rates, the shares of fused attention on Hopper and later, the hop of",
    "DeepSpeed's ZeRO-3 rings, the imbalance of PyTorch's context parallelism, bytes per logit of the loss-parallel",
    "loss, which gradients Megatron keeps with fp8, the width of activations in eager mode and the shares of",
    "fragmentation. Korthikanti et al. computed the memory of their figure 1 by the formula that is used here: those",
    "rows check that it is implemented, and count embedding, logits and fragmentation against it. Their times of a",
    "layer (table 4), which are not among the rows, are met within 12 %; a test holds that.",
)
SECOND = (
    "307 further configurations ([every one](plan-benchmark-second.md)) were collected afterwards: MosaicML's table",
    "of throughput, BigScience's sweep before BLOOM, and those of NVIDIA's page that the first set lacks. Judged",
    "before anything was changed for them, steps were off by 9.7 % (llm-foundry), 20.6 % (BigScience) and 12.8 %",
    "(Megatron-Bridge) in the median, BigScience's memory by 11.5 %. What was added then, because it explains them:",
    "attention kernels of 2022, norms and losses as MPT's code has them, copies that FSDP makes, widths that are no",
    "multiple of 128 bytes, DeepSpeed's pipeline: which layers its stages hold, the buffers, copies and communicators",
    "of its optimizers and engine, the kernels that a process of the time loaded at its start (1,573 MiB, which the",
    "source states), gradients that it sums, whole tensors that it sends. All but the last are in the code of",
    "DeepSpeed; that activations are sent whole, too, is what the rows with fp16 say (some versions of the time",
    "divide them), and the rows with bf16 agree: 14.6 % before, 6.2 % after. MPT's own trainer computes two metrics",
    "of every batch's logits (use_train_metrics), 28 bytes per logit; it was found in its code, and takes the rows of",
    "llm-foundry from 3.7 to 1.9 % (A100-80GB) and from 5.5 to 2.5 % (A100-40GB). No figure was taken from",
    "Megatron-Bridge's rows; general changes of the same time (inputs kept in fp8, recomputed modules, 15 us per",
    "launch, defaults of NVIDIA's recipes: experts that tensor parallelism does not split, tokens that cross to a",
    "server once) move some of them.",
)
SECOND_MISSES = (
    "Why 206 B with 12 stages ran out of memory is not known: 203 B in the same layout ran with 67 GB of 80.",
    "",
    "What stays off, and why as far as it is known. Runs of llm-foundry within some GiB of the device's memory (30b",
    "with 8,192 tokens, 70b on 64 A100-40GB) took 25 % longer: the allocator frees and allocates anew. BigScience ran",
    "with CUDA_LAUNCH_BLOCKING=1. 7 ms for each layer and micro-batch, which the rows with fp16 say, would bring",
    "these from 10.5 to 4.9 %, and those with bf16, which did not say it, from 6.2 to 1.2 % and their tau from 0.65",
    "to 0.76; how long a blocked launch takes is not published, and the plan does not count it. Repeated runs of one",
    "of its configurations differ by 6 %, as much as many of its choices. Mixtures of experts with fp8 are predicted",
    "too fast: bf16 and fp8 runs of one layout (DeepSeek-V3 on GB300) lie 12 % apart where the plan says 24 %. Of",
    "small experts two figures are published: Qwen3-30B in one layout runs at 10,494 tokens/s and GPU on 16 H100 in",
    "NVIDIA's page of 25.09 (o015) and at 5,275 in that of 25.11 (076), on 8 B200 at 18,066 (o009) and 9,299 (n018),",
    "on GB200 alike in both. No law of the layout tells these apart, and none is set by them; the plan is 14 % below",
    "and 18 % above the step of the first page. Small experts wait for the host, too, which reads how many tokens",
    "each expert gets; how long that takes is not published.",
)
SECOND_HEAD = (
    "# The second to the fifth set of published configurations",
    "",
    "Written by `python -m bench.plan`; figures and what was made of them: [plan-benchmark.md](plan-benchmark.md).",
    "Sources: f: mosaicml/llm-foundry, scripts/train/benchmarking/README.md at 061f2c7c; b:",
    "bigscience-workshop/bigscience, train/tr11-176B-ml/chronicles-prequel.md at 053adafe (memory as nvidia-smi shows",
    "it, context included); n: NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary.md at 00b7660b. The tables lie",
    "in `bench/plan/second`, those of the other sets in `bench/plan/third`, `fourth` and `fifth`.",
    "",
)
THIRD = (
    "51 configurations of three further sources ([every one](plan-benchmark-second.md#the-third-set)) were written",
    "down before any of them was judged, and judged once: memory was off by 31.0 % in the median, 8 of 34 within 10",
    "%; steps by 10.8 %, 33 of 51 within 15 %; scaled by one row of their series by 7.4 %. That is what to expect of",
    "software whose ways the planner does not know. What was wrong: KempnerForge keeps weights and moments in bf16,",
    "and whole gradients in fp32 while it accumulates; Megatron keeps fp8 copies beside 16-bit weights unless it is",
    "told to train in fp8 weights, as NVIDIA's recipes tell it; these do not split experts by tensor parallelism, and",
    "DeepEP sends a token to a server once. These are choices now (`--no-master-weights`, `--no-sync`,",
    "`--fp8-weights`, `--expert-tp`, `--deepep`), and stated for these rows; FlagPerf's scripts set no virtual",
    "stages, which was overlooked. With that:",
)
THIRD_HEAD = (
    "## The third set",
    "",
    "Sources: k: KempnerInstitute/KempnerForge, benchmarks/mfu_scaling, weak_scaling_160gpu and 175b_360gpu (peak",
    "allocated; its mixtures of experts are left out, whose size and parameters do not agree); o: NVIDIA's",
    "Megatron-Bridge, docs/performance-summary.md at ea299063 (25.09); p: FlagOpen/FlagPerf, training/nvidia (memory",
    "as nvidia-smi shows it; runs in fp32 are left out, which do not say whether TF32 was on).",
    "",
)
FOURTH = (
    "48 configurations of NPUs ([every one](plan-benchmark-second.md#the-fourth-set)) were written down before any of",
    "them was judged: tokens per second and NPU on Atlas 900 A2 from the tables of ModelLink and its successor",
    "MindSpeed-LLM, layouts from the scripts of the models. Judged once, steps were off by 15.1 % in the median, 23",
    "of 48 within 15 %; scaled by any one row by 7.7 %; Kendall's tau over all of them 0.96. All were predicted too",
    "fast. What was wrong is in kernels that public recordings of NPUs have: fused attention runs at 0.29 of the peak",
    "with 4,096 tokens, where 0.47 was taken from kin, and takes as long in narrow heads; gradients are summed by an",
    "operator of its own; queries, keys and values are cut apart and their gradients joined; norms run at half the",
    "memory's rate. Multiplications and links were right: their kernels took what was predicted within 5 %. A",
    "collective that is fused with a multiplication (MC2) hides behind that one only, and around experts it is not",
    "fused. Which scripts fuse positions and activations and which overlap the reduction of gradients was read from",
    "them after the first judgement. No figure was taken from these rows. With that:",
    "",
)
FOURTH_MISSES = (
    "",
    "What stays off, and why as far as it is known. Rows of one layout differ: LLaMA2 34B and CodeLlama 34B are the",
    "same but for the base of their positions, and lie 11 % apart with either code; LLaMA3 8B with MC2 is 3 % slower",
    "than without. Mixtral, whose experts no script splits or groups, took twice as long; how its code computed them",
    "at the time is not known. Which 910B the servers have is not stated either: it is taken for the 910B2.",
)
FOURTH_HEAD = (
    "## The fourth set",
    "",
    "Sources: q: README.md of ModelLink (aeeeeeep/ModelLink at 01921b68) and of MindSpeed-LLM (Ascend/MindSpeed-LLM at",
    "01546f7a): pre-training on Atlas 900 A2; layouts from the scripts of the models in aeeeeeep/ModelLink and",
    "zzhx1/Hetaceso-ModelLink, examples/. Taken where model, sequence, number of nodes and code (Legacy or Mcore) of a",
    "row agree with a script. Left out: unequal lists of layers per stage (LLaMA3 70B and Qwen1.5 32B with Mcore,",
    "LLaMA3.1 70B, Qwen1.5 110B, InternLM2), sequences split by heads (ChatGLM3 with 32,768 and 65,536 tokens), and",
    "rows whose script does not say enough. Which variant of the 910B the servers have is not stated.",
    "",
)
FIFTH = (
    "87 configurations from 17 places ([every one](plan-benchmark-second.md#the-fifth-set)) were written down before",
    "any of them was judged: FSDP of PyTorch on A100 and H100, torchtitan, NeMo AutoModel and long sequences of NeMo,",
    "InternEvo, mixtures of Megatron, JAX on GPUs and a TPU, MindFormers on NPUs, small models on single cards. Judged",
    "once, steps were off by 9.6 % in the median, 48 of 78 within 15 %, nine in ten within 32 %; memory, which few of",
    "them state, by 40.8 %, 1 of 12 within 10 %, 8 of these InternEvo's. One device was not known. What could not be",
    "said, or was not: fms-fsdp reduces gradients in bf16, torchtitan compiles the loss since 2025, as do TinyLlama",
    "(a kernel of its own) and nanoGPT, and long sequences of Qwen3-235B recompute whole mixtures: these are choices",
    "now (`--reduce-bf16`, `--fused-loss`, `--recompute moe`), and stated for these rows. AutoModel's code has weights",
    "in 16 bits and fused norms, does not reshard, and recomputes nothing of GPT OSS, which was overlooked. GeForce",
    "cards come nearer to their peak than professional ones, which is taken from measured multiplications. No figure",
    "was taken from these rows. With that:",
    "",
)
FIFTH_MISSES = (
    "",
    "What stays off, and why as far as it is known. Long sequences of NeMo 24.03 on H100 agree within 7 % with",
    "FlashAttention-2 (`--attention flash`); which kernels it had is not stated, and newer ones are taken. InternEvo's",
    "memory falls with the number of ranks as 27 to 30 bytes per parameter would; why is not known. With 1,024 ranks",
    "that share its optimizer's state steps take 1.8 times as long as with 8, which its way of sending weights on may",
    "explain. torchtune steps its optimizer while gradients come (they are never all there) and pages its state to the",
    "host; its rate on RTX A6000 would be that card's peak. JAX's ways of gathering are not known, nor what Megatron's",
    "FSDP for mixtures (r066) reduces; FlexAttention (GPT OSS) is slower than what is taken.",
)
FIFTH_HEAD = (
    "## The fifth set",
    "",
    "Sources, by series: files named in `bench/plan/fifth.py`. Rows of NeMo's long sequences on H100 do not state the",
    "batch; 4 Mi tokens are taken, as on B200. The FLOP/s of Megatron-MoE-ModelZoo count the causal half of scores.",
    "Left out: fine-tuning of matrices beside frozen weights (LoRA), which do not say where these lie, and NVFP4.",
    "",
)
