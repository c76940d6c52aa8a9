from . import eval_frame

__all__ = ["eval_frame"]
