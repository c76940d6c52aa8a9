"""The profiler's API that scripts know, on GPUs by torch.profiler and on NPUs by torch_npu.profiler."""
