"""Inference: by batches of a loader, or where `calls` is given by calls of a model inside another object."""

import sys
import time

import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).eval()
with torch.inference_mode():
    if "calls" in sys.argv:
        for step in range(250):
            with record_function(f"body {step}"):
                model(torch.randn(8, 16)).argmax(-1)
            time.sleep(0.02)
    else:
        for step, (inputs,) in enumerate(DataLoader(TensorDataset(torch.randn(160, 16)), batch_size=8)):
            with record_function(f"body {step}"):
                model(inputs).argmax(-1)
