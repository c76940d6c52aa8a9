CALLS = []


def init(path):
    CALLS.append(f"init {path}")


def step():
    CALLS.append("step")


def start(config_path=None):
    CALLS.append(f"start {config_path}")
