"""Results of the Ascend PyTorch Profiler: text and database exports of every level."""
