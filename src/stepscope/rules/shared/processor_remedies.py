"""What to try where a model runs on the processor."""

from __future__ import annotations

from stepscope.rules.finding import Action
from stepscope.rules.wording import torch_device

THREADS = Action(
    "If the processor is what you want: compile for it, compute in bfloat16 where it is faster, and give it its cores",
    before="y = model(x)",
    after='torch.set_num_threads(physical_cores)\nmodel = torch.compile(model)\nwith torch.autocast("cpu", '
    "torch.bfloat16):\n    y = model(x)",
    page="host-cores",
)
#: The same where several threads compute side by side: each with all cores, they get into each other's way.
SHARED = Action(
    "If the processor is what you want: compile for it, compute in bfloat16 where it is faster, and give each of the "
    "threads that run models its share of the cores",
    before="y = model(x)",
    after="torch.set_num_threads(physical_cores // threads)\nmodel = torch.compile(model)\n"
    'with torch.autocast("cpu", torch.bfloat16):\n    y = model(x)',
    page="host-cores",
)
#: The same of a program that computes with narrower numbers already; quantised layers are compiled by themselves.
COMPILED = Action(
    "If the processor is what you want: compile for it, and give it its cores",
    before="y = model(x)",
    after="torch.set_num_threads(physical_cores)\nmodel = torch.compile(model)\ny = model(x)",
    page="host-cores",
)
CORES = Action(
    "If the processor is what you want: give it its cores",
    after="torch.set_num_threads(physical_cores)",
    page="host-cores",
)
SHARES = Action(
    "If the processor is what you want: give each of the threads that run models its share of the cores",
    after="torch.set_num_threads(physical_cores // threads)",
    page="host-cores",
)
CONVERTED = Action(
    "Convert tensors and lay them out once, before the loop or where batches are made, not in each step",
    before="for batch in batches:\n    y = model(torch.from_numpy(batch).float().permute(0, 3, 1, 2).contiguous())",
    after="inputs = [torch.from_numpy(batch).float().permute(0, 3, 1, 2).contiguous() for batch in batches]\n"
    "for x in inputs:\n    y = model(x)",
)
ADDED = Action(
    "Add up rows by multiplying with a sparse matrix that is made once: no row is copied, and none is added by itself",
    before="out = torch.zeros_like(h).index_add(0, target, h[source])",
    after="edges = torch.stack([target, source])  # once\n"
    "adding = torch.sparse_coo_tensor(edges, weights, (n, n)).coalesce().to_sparse_csr()\nout = adding @ h",
    needs=("pytorch",),
)
ATTENDED = Action(
    "Let one operator compute attention, unless its weights are needed: it keeps no scores in memory",
    before="weights = torch.softmax(q @ k.transpose(-2, -1) / width**0.5, dim=-1)\ny = weights @ v",
    after="y = torch.nn.functional.scaled_dot_product_attention(q, k, v)",
    needs=("pytorch",),
)
GROWN = Action(
    "Write into a tensor of the full size that is made once: to append copies all that is there",
    before="kept = torch.cat([kept, new])",
    after="kept = torch.empty(most, width)  # once\nkept[n : n + len(new)] = new",
    needs=("pytorch",),
)
SPARSE = Action(
    "Let gradients of the table hold the rows that were looked up, and let the optimizer update these alone",
    before="table = nn.Embedding(rows, width)\noptimizer = Adam(model.parameters())",
    after="table = nn.Embedding(rows, width, sparse=True)\noptimizer = SparseAdam(table.parameters())\n"
    "others = Adam(other_parameters)  # moments of rows that are not looked up stay as they are",
)
SINGLE = Action(
    "Compute in float32 unless double precision is meant: NumPy's arrays are float64, and tensors made of them as well",
    before="x = torch.from_numpy(array)",
    after="x = torch.from_numpy(array).float()",
)
LARGER = Action(
    "Do more in each call: all rows at once instead of one after another; compiled code calls fewer operators",
    before="y = [model(row) for row in x]",
    after="model = torch.compile(model)\ny = model(x)",
    page="fewer-launches",
)
#: Other frameworks fall back to the processor without an error, too.
DEVICES = (
    Action(
        "If a device is meant: see which ones JAX has found",
        after="print(jax.devices())  # CpuDevice alone: no package for the device, or no driver",
    ),
    Action(
        "If a device is meant: see what the session runs on, and ask for the device",
        before="session = InferenceSession(path)",
        after='session = InferenceSession(path, providers=["CUDAExecutionProvider"])\n'
        "print(session.get_providers())  # of CPUs alone: no package for the device",
        needs=("onnxruntime",),
    ),
)
STACKS = Action(
    "See which lines of the program call them, and on what shapes",
    before="profile(activities=[ProfilerActivity.CPU])",
    after="profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True)",
    page="recording",
)


def moved(where: str) -> Action:
    """Move the model to the device of a platform."""
    device = torch_device(where)
    return Action(
        "Move the model and its inputs to the device",
        before="model = build()\ny = model(x)",
        after=f'model = build().to("{device}")\ny = model(x.to("{device}"))\n'
        f"print(next(model.parameters()).device, x.device)  # cpu: it was left on the host\n"
        f"print(torch.{device}.is_available())  # False: a build without it, or no driver",
    )


def part_moved(where: str) -> Action:
    """Move a part of a model to the device of a platform."""
    device = torch_device(where)
    return Action(
        "Move the part of the model that they belong to to the device, too",
        before="self.head = make_head()  # on the host",
        after=f'self.head = make_head().to("{device}")\n'
        f"print({{p.device for p in model.parameters()}})  # one device, not two",
    )
