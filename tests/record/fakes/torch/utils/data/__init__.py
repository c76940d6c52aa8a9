from .dataloader import DataLoader


def get_worker_info():
    return None


__all__ = ["DataLoader", "get_worker_info"]
