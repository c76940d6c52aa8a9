"""A Trainer of transformers on a small language model, whose texts are made into tokens in the loop."""

import itertools

import torch
from own_clock import CHANGED, clocked
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

LENGTH = 32


def tokens_of(text):
    """Pairs of bytes that are frequent become one, as in byte-pair encoding."""
    found = list(text.encode())
    for _ in range(6):
        pairs = {}
        for pair in itertools.pairwise(found):
            pairs[pair] = pairs.get(pair, 0) + 1
        best, merged = max(pairs, key=pairs.get), []
        for one in found:
            if merged and (merged[-1], one) == best:
                merged[-1] = (best[0] * 31 + best[1]) % 256
            else:
                merged.append(one)
        found = merged
    return found[:LENGTH]


class Texts(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        text = " ".join(str((index * 7919 + word * word) % 100_003) for word in range(600))
        tokens = torch.tensor(tokens_of(text))
        return {"input_ids": tokens, "labels": tokens}


torch.set_num_threads(1)
torch.manual_seed(0)
config = GPT2Config(vocab_size=256, n_positions=LENGTH, n_embd=64, n_layer=8, n_head=2)
arguments = TrainingArguments(
    output_dir="out", per_device_train_batch_size=4, max_steps=100_000, report_to=[], use_cpu=True,
    dataloader_num_workers=2 if CHANGED else 0, save_strategy="no", disable_tqdm=True,
)  # fmt: skip


class Clock(TrainerCallback):
    def __init__(self):
        self.steps = clocked(iter(int, 1))

    def on_step_end(self, _args, _state, control, **_):
        if next(self.steps, None) is None:
            control.should_training_stop = True


Trainer(GPT2LMHeadModel(config), arguments, train_dataset=Texts(), callbacks=[Clock()]).train()
