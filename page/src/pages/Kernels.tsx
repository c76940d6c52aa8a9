import { Columns } from "../components/Columns";
import { DataTable } from "../components/DataTable";
import { Failure } from "../components/Failure";
import { duration, visible } from "../components/format";
import { RankPicker, rankOf } from "../components/RankPicker";
import { Shares } from "../components/Shares";
import { has, TablePanel, useTable } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import { Breaking } from "../components/Words";
import { useAnswer } from "../components/useAnswer";
import { offline } from "../data/client";
import type { Column, Table, Value } from "../data/types";
import { href } from "../shell/router";
import type { PageProps } from "./registry";
import { t, woven } from "../language/t";

const COLUMNS = ["name", "op_class", "core", "total_ns", "share", "count", "mean_ns", "p99_ns", "max_ns", "tensor_core", "dtype", "occupancy"];

/** Device work by name, class, core and operator; every execution of one name; how long they are. */
export function Kernels({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  const name = params.get("name");
  if (name !== null) return <Executions name={name} rank={rank} />;
  const link = (column: Column, value: Value, text: string) =>
    column.name === "name" && !offline ? <a href={href("kernels", { rank, name: String(value) })}><Breaking text={text} /></a> : undefined;
  return (
    <>
      <header class="with"><h1>{t("Kernels")}</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="kernels" params={params}
        tabs={[
          { id: "names", title: t("By name"), show: () => <><ClassShares rank={rank} /><TablePanel name="kernels" columns={COLUMNS} sort="total_ns" where={{ rank }} cell={link} /></> },
          has(report, "kernels_by_operator") ? { id: "operators", title: t("By operator"), show: () => <><AttributionShares rank={rank} /><TablePanel name="kernels_by_operator" columns={["name", "operator", "attribution", "op_class", "total_ns", "share", "count", "mean_ns", "max_ns"]} sort="total_ns" where={{ rank }} cell={link} /></> } : null,
          has(report, "short_kernels") ? { id: "durations", title: t("Durations"), show: () => <Durations rank={rank} /> } : null,
          has(report, "occupancy") ? { id: "occupancy", title: t("Occupancy"), show: () => <TablePanel name="occupancy" columns={["name", "total_ns", "share", "count", "blocks", "threads", "registers", "shared_bytes", "waves", "tail", "theoretical_occupancy", "achieved_occupancy", "limit"]} sort="total_ns" where={{ rank }} cell={link} /> } : null,
          has(report, "tensor_cores") ? { id: "tensor", title: t("Tensor cores"), show: () => <TablePanel name="tensor_cores" sort="total_ns" where={{ rank }} /> } : null,
          has(report, "launches") ? { id: "launches", title: t("Launches"), show: () => <TablePanel name="launches" sort="total_ns" where={{ rank }} columns={["name", "total_ns", "count", "mean_ns", "max_ns", "activities", "device_ns", "delay_median_ns", "slow_calls", "short_work", "blocked_calls", "blocked_ns"]} /> } : null,
          has(report, "queue_times") ? { id: "queues", title: t("Queue times"), show: () => <TablePanel name="queue_times" sort="total_ns" where={{ rank }} columns={["name", "call", "thread", "count", "total_ns", "call_total_ns", "queue_total_ns", "queue_median_ns", "queue_max_ns", "kernel_total_ns"]} /> } : null,
          has(report, "graphs") ? { id: "graphs", title: t("Graphs"), show: () => <TablePanel name="graphs" sort="total_ns" where={{ rank }} /> } : null,
        ]}
      />
    </>
  );
}

function ClassShares({ rank }: { rank: number }) {
  const { table } = useTable("kernels");
  if (!table) return null;
  const cores = new Set(table.rows.map((row) => row[table.columns.findIndex((column) => column.name === "core")]).filter((core) => core !== null));
  return (
    <div class="beside">
      <Shares table={table} by="op_class" value="total_ns" where={{ rank }} caption={t("Time by class")} most={8} />
      {cores.size ? <Shares table={table} by="core" value="total_ns" where={{ rank }} caption={t("Time by kind of core")} most={8} /> : null}
    </div>
  );
}

function AttributionShares({ rank }: { rank: number }) {
  const { table } = useTable("kernels_by_operator");
  return table ? <Shares table={table} by="operator" value="total_ns" where={{ rank }} caption={t("Time by launching operator")} most={8} /> : null;
}

function Durations({ rank }: { rank: number }) {
  const { table } = useTable("short_kernels");
  if (!table) return null;
  const at = (name: string) => table.columns.findIndex((column) => column.name === name);
  const rows = table.rows.filter((row) => row[at("rank")] === rank);
  const numbers = (name: string) => rows.map((row) => Number(row[at(name)] ?? 0));
  return (
    <>
      <Columns title={t("How long kernels are, from")} labels={numbers("from_ns").map((ns) => duration(ns).replace(/\.0+ /, " "))} series={[{ name: t("of their number"), values: numbers("share_of_count") }, { name: t("of their time"), values: numbers("share_of_time") }]} />
      <TablePanel name="short_kernels" where={{ rank }} />
    </>
  );
}

/** Columns of executions that are shown first, and how many counters that tell something beside them. */
const OF_ONE = ["event", "ts", "dur", "wait_ns", "step", "stream", "operator", "core", "grid", "block", "shapes", "occupancy"];
const COUNTERS = 6;

function firstOf({ columns, rows }: Pick<Table, "columns" | "rows">): string[] {
  const counters = columns.filter((column, i) => column.description.startsWith("Counter") && rows.some((row) => row[i])).map((column) => column.name);
  return [...OF_ONE.filter((name) => !(counters.length && name === "shapes")), ...counters.slice(0, COUNTERS)];
}

/** How long the executions of one kernel are: their number by equal parts between the shortest and the longest. */
function Spread({ durations }: { durations: number[] }) {
  const parts = 14;
  const low = durations.reduce((least, ns) => Math.min(least, ns), Infinity);
  const high = durations.reduce((most, ns) => Math.max(most, ns), 0);
  if (durations.length < 3 || high === low) return null;
  const counts = Array.from({ length: parts }, () => 0);
  for (const ns of durations) counts[Math.min(parts - 1, Math.floor((parts * (ns - low)) / (high - low)))]! += 1;
  return <Columns title={t("How long they are, from")} labels={counts.map((_, i) => duration(low + ((high - low) * i) / parts))} series={[{ name: t("of their number"), values: counts.map((count) => count / durations.length) }]} />;
}

function Executions({ name, rank }: { name: string; rank: number }) {
  const { found, error } = useAnswer<Table & { count: number }>(`api/executions?rank=${rank}&name=${encodeURIComponent(name)}`);
  const link = (column: Column, value: Value) =>
    column.name === "event" ? <a href={href("timeline", { rank, event: String(value) })}>{String(value)}</a> : undefined;
  return (
    <>
      <p><a href={href("kernels", { rank })}>{t("All kernels")}</a></p>
      <h1 class={name.length > 60 ? "small" : ""}>{visible(name)}</h1>
      {error ? <Failure error={error} /> : null}
      {found ? (
        <>
          <p class="aside">{woven("{count} executions{listed}", { count: found.count.toLocaleString("en-US"), listed: found.count > found.rows.length ? t(", of which the {rows} longest are listed", { rows: found.rows.length.toLocaleString("en-US") }) : "" })}</p>
          <Spread durations={found.count > found.rows.length ? [] : found.rows.map((row) => Number(row[found.columns.findIndex((column) => column.name === "dur")] ?? 0))} />
          <DataTable name="executions" table={found} columns={firstOf(found)} sort="dur" cell={link} />
        </>
      ) : null}
    </>
  );
}
