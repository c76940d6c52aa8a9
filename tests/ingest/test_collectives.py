"""Every collective of a device has one row, from wherever the recording tells of it."""

from __future__ import annotations

from typing import Any

from support import Facts, recorded_trace

_QUERY = 'SELECT event, "group", seq, collective, bytes, dtype, world_size, ranks FROM collectives ORDER BY event'


def test_a_device_event_keeps_its_own_row_and_takes_what_it_lacks_from_its_launch() -> None:
    facts = Facts()
    op = facts.host("op", "record_param_comms", 0, 100)
    kernel = facts.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 200, 50, launch=(10, 20))
    facts.row("collectives", event=op, group="dp", seq=7, collective="all_reduce", bytes=64, world_size=8)
    facts.row("collectives", event=kernel, group="dp", collective="all_reduce", bytes=128)
    [row] = facts.trace().sql(_QUERY).to_pylist()
    assert row == {
        "event": kernel, "group": "dp", "seq": 7, "collective": "all_reduce", "bytes": 128, "dtype": None,
        "world_size": 8, "ranks": None,
    }  # fmt: skip


def test_a_device_event_without_arguments_takes_the_row_of_the_nearest_operator_around_its_launch() -> None:
    facts = Facts()
    outer = facts.host("op", "record_param_comms", 0, 200)
    facts.host("op", "aten::copy_", 5, 150)
    kernels = [
        facts.kernel("ncclDevKernel_SendRecv", start, 50, launch=(launch, 5))
        for launch, start in ((10, 200), (20, 260))
    ]
    facts.row("collectives", event=outer, group="pp", seq=1, collective="send", bytes=64, world_size=2)
    rows = facts.trace().sql(_QUERY).to_pylist()
    assert [(r["event"], r["group"], r["collective"], r["bytes"]) for r in rows] == [
        (kernel, "pp", "send", 64) for kernel in kernels
    ]


def test_collectives_of_the_host_stay_unless_a_device_event_belongs_to_them() -> None:
    facts = Facts()
    gloo = facts.host("op", "record_param_comms", 0, 100)
    nccl = facts.host("op", "record_param_comms", 200, 100)
    kernel = facts.kernel("ncclKernel_AllGather_RING_LL", 400, 50, launch=(210, 20))
    facts.row("collectives", event=gloo, group="cpu", collective="barrier")
    facts.row("collectives", event=nccl, group="gpu", collective="all_gather")
    rows = facts.trace().sql(_QUERY).to_pylist()
    assert [(r["event"], r["group"], r["collective"]) for r in rows] == [
        (gloo, "cpu", "barrier"), (kernel, "gpu", "all_gather"),
    ]  # fmt: skip


def test_names_around_the_launch_tell_more_than_the_kernels_name() -> None:
    facts = Facts()
    facts.host("op", "record_param_comms", 0, 100)
    facts.host("annotation", "nccl:all_to_all", 5, 90)
    shuffled = facts.kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", 200, 50, launch=(10, 20))
    base = facts.host("op", "c10d::_reduce_scatter_base_", 300, 100)
    scattered = facts.kernel("ncclDevKernel_Generic", 500, 50, launch=(310, 20))
    facts.row("op_inputs", event=base, shapes="[[4, 8], [32], []]", dtypes='["float", "c10::BFloat16", ""]')
    plain = facts.kernel("ncclKernel_AllReduce_RING_LL_Sum_float", 600, 50)
    unknown = facts.kernel("ncclDevKernel_Generic", 700, 50)
    expert = facts.kernel("void deep_ep::internode::combine<true>()", 800, 50)
    trace = facts.trace()
    rows = trace.sql(_QUERY).to_pylist()
    assert [(r["event"], r["collective"], r["bytes"], r["group"]) for r in rows] == [
        (shuffled, "all_to_all", None, "default"),
        (scattered, "reduce_scatter", 128, "default"),
        (plain, "all_reduce", None, "default"),
        (unknown, "other", None, "default"),
        (expert, "all_to_all", None, "default"),
    ]
    assert trace.scalar("SELECT count FROM health WHERE code = 'collectives-by-name'") == 5


def test_inputs_that_make_no_sense_leave_the_size_unknown() -> None:
    facts = Facts()
    op = facts.host("op", "c10d::allreduce_", 0, 100)
    facts.kernel("ncclDevKernel_Generic", 500, 50, launch=(10, 20))
    facts.row("op_inputs", event=op, shapes='[[4, "', dtypes='["float"]')
    [row] = facts.trace().sql(_QUERY).to_pylist()
    assert (row["collective"], row["bytes"]) == ("all_reduce", None)


def test_annotated_collectives_of_the_host_count_where_nothing_else_is_recorded() -> None:
    facts = Facts()
    event = facts.host("annotation", "gloo:all_reduce", 0, 100)
    facts.host("annotation", "nccl:all_reduce", 200, 100)  # no device recorded: only the time to enqueue it
    rows = facts.trace().sql(_QUERY).to_pylist()
    assert [(r["event"], r["collective"]) for r in rows] == [(event, "all_reduce")]


def _summary(*parts: str) -> dict[tuple[Any, ...], int]:
    trace = recorded_trace("kineto", *parts, "trace.json.gz")
    assert trace.scalar("SELECT count(*) = count(DISTINCT event) FROM collectives")
    assert not trace.scalar(
        "SELECT count(*) FROM kernels WHERE kind = 'comm' AND event NOT IN (SELECT event FROM collectives)"
    )
    rows = trace.sql(
        'SELECT collective, "group", world_size, c.bytes, count(k.event) AS n, sum(k.dur)::BIGINT AS ns '
        "FROM collectives c LEFT JOIN kernels k USING (event) GROUP BY ALL"
    ).to_pylist()
    return {(r["collective"], r["group"], r["world_size"], r["bytes"], r["n"]): r["ns"] for r in rows}


def test_recorded_collectives_match_the_published_analysis() -> None:
    found = _summary("mi300_resnet_recompute_ddp8")
    assert {key: ns for key, ns in found.items() if key[0] != "other"} == {
        ("all_reduce", "0", 8, 17632384, 3): 26_798_240,
        ("all_reduce", "0", 8, 5746640, 3): 20_338_798,
        ("broadcast", "0", 8, 19200, 3): 43_675,
        ("broadcast", "0", 8, 160, 3): 19_597,
    }


def test_symmetric_memory_collectives_know_their_size_from_the_operator() -> None:
    found = _summary("b200_ws8_eager")
    assert {key[:2] + key[3:] for key in found} == {
        ("all_gather", "3", 402176, 1), ("all_reduce", "default", 5114880, 37), ("all_reduce", "default", 5455872, 36),
    }  # fmt: skip
