from enum import IntEnum

STATE = {"callback": None}


class _FrameAction(IntEnum):
    DEFAULT = 0
    SKIP = 1
    RUN_ONLY = 2


class _FrameExecStrategy:
    def __init__(self, cur_action, recursive_action):
        self.cur_action, self.recursive_action = cur_action, recursive_action


def set_eval_frame(callback):
    before, STATE["callback"] = STATE["callback"], callback
    return before


def set_code_exec_strategy(code, strategy):
    assert isinstance(code, type(set_code_exec_strategy.__code__))
