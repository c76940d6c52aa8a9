def _npu_attach_out_of_memory_observer(observer, /):
    from torch import _C

    _C.OBSERVERS.append(observer)
