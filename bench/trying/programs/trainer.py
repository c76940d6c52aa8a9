"""A Trainer of transformers on a small language model."""

import torch
from own_clock import CHANGED, clocked
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Texts(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        tokens = torch.randint(0, 256, (32,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


torch.set_num_threads(1)
torch.manual_seed(0)
config = GPT2Config(vocab_size=256, n_positions=32, n_embd=64, n_layer=8, n_head=2)
arguments = TrainingArguments(
    output_dir="out", per_device_train_batch_size=4, max_steps=100_000, report_to=[], use_cpu=True,
    optim="adamw_torch_fused" if CHANGED else "adamw_torch", save_strategy="no", disable_tqdm=True,
)  # fmt: skip


class Clock(TrainerCallback):
    def __init__(self):
        self.steps = clocked(iter(int, 1))

    def on_step_end(self, _args, _state, control, **_):
        if next(self.steps, None) is None:
            control.should_training_stop = True


Trainer(GPT2LMHeadModel(config), arguments, train_dataset=Texts(), callbacks=[Clock()]).train()
