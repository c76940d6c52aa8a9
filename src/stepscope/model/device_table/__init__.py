"""Peak rates and sizes of devices as their vendors state them, one file per vendor."""

from stepscope.model.device_table.amd import AMD
from stepscope.model.device_table.ascend import ASCEND
from stepscope.model.device_table.device import Device
from stepscope.model.device_table.nvidia import NVIDIA
from stepscope.model.device_table.others import OTHERS

DEVICES: tuple[Device, ...] = (*NVIDIA, *AMD, *ASCEND, *OTHERS)

__all__ = ["DEVICES", "Device"]
