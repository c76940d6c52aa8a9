"""FLOPs and bytes of an operator, from its recorded arguments.

Each module names its formulas and where they come from. An operator and the ones it calls (`linear` and `addmm`,
`conv2d` and `cudnn_convolution`) have the same cost: whoever sums must take each launch's innermost operator only.
"""

from stepscope.model.opcost.call import OpCost
from stepscope.model.opcost.cost import KNOWN, cost

__all__ = ["KNOWN", "OpCost", "cost"]
