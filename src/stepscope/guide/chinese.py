"""Words of Chinese-speaking users that lead to places in the guide."""

from __future__ import annotations

from typing import Final

WORDS: Final[dict[str, tuple[str, ...]]] = {
    "start": ("慢", "性能差", "吞吐", "从哪里开始"),
    "step": ("利用率", "利用率低", "空闲", "空泡", "推理", "时延"),
    "data": ("数据", "数据加载", "读数据", "预处理"),
    "scheduling": ("下发", "调度", "主机", "host 瓶颈", "同步", "抖动", "首步", "编译", "保存"),
    "communication": ("通信", "集合通信", "扩展性", "线性度", "带宽", "未掩盖"),
    "copies": ("拷贝", "传输"),
    "compute": ("计算", "算子", "算子慢", "矩阵乘", "注意力"),
    "memory": ("显存", "内存", "内存不足", "碎片", "泄漏"),
    "cluster": ("集群", "慢卡", "慢节点", "慢链路", "不均", "卡住", "超时", "64 卡", "64卡"),
    "layout": ("布局", "并行", "切分", "流水线", "放得下"),
}
