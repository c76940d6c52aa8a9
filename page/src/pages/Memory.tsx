import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { AllocationChart, type Allocations } from "../components/AllocationChart";
import { Curves, type Curve } from "../components/Curves";
import { Failure } from "../components/Failure";
import { Live, Moment } from "../components/Live";
import { RankPicker, rankOf } from "../components/RankPicker";
import { SegmentChart, type Segment } from "../components/SegmentChart";
import { Shares } from "../components/Shares";
import { has, TablePanel, useTable } from "../components/TablePanel";
import { StateHistory } from "../components/StateHistory";
import { Tabs } from "../components/Tabs";
import { Prose } from "../components/Words";
import { momentOf, whereOf, type Moment as At } from "../components/memoryPlace";
import { useAnswer } from "../components/useAnswer";
import { offline } from "../data/client";
import type { Table, Value } from "../data/types";
import { moment } from "../timeline/ruler";
import type { PageProps } from "./registry";
import { t } from "../language/t";

/** Memory over time, what holds it at its peak, what never returned, and how the allocator's memory is laid out. */
export function Memory({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  const snapshot = has(report, "memory_snapshot", "allocator_timeline");
  const where = whereOf(params);
  const view = (id: string, title: string, tables: string[], sort?: string) => {
    const full = tables.filter((table) => has(report, table));
    return full.length
      ? { id, title, show: () => full.map((table) => <section key={table}>{full.length > 1 ? <h2>{HEADINGS[table] ?? table.replaceAll("_", " ")}</h2> : null}<Prose text={report.tables[table]?.description} /><TablePanel name={table} where={{ rank }} columns={COLUMNS[table] ?? []} {...(sort ? { sort } : {})} /></section>) }
      : null;
  };
  return (
    <>
      <header class="with"><h1>{t("Memory")}</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="memory" params={params}
        tabs={[
          has(report, "memory_timeline", "allocator_timeline") ? { id: "time", title: t("Over time"), show: () => <OverTime rank={rank} params={params} tables={["memory_timeline", "allocator_timeline"].filter((name) => has(report, name))} /> } : null,
          snapshot && has(report, "allocator_timeline") ? { id: "allocations", title: t("Allocations"), show: () => <Drawn rank={rank} devices={devicesOf(report, rank)} stack={where?.["stack"] ?? null} /> } : null,
          snapshot ? { id: "segments", title: t("Segments"), show: () => <LaidOut rank={rank} devices={devicesOf(report, rank)} /> } : null,
          has(report, "allocator_timeline") && !offline ? { id: "history", title: t("State history"), show: () => <>{devicesOf(report, rank).map((device) => <StateHistory key={`${rank} ${device}`} rank={rank} device={device} />)}</> } : null,
          has(report, "memory_peaks", "memory_holders", "memory_peak_stacks") ? { id: "peak", title: t("At the peak"), show: () => <Peak rank={rank} report={report} /> } : null,
          view("components", t("Components"), ["memory_components"]),
          view("steps", t("By step"), ["memory_steps"]),
          view("spikes", t("Spikes"), ["memory_spikes"], "rise_bytes"),
          view("kept", t("Not returned"), ["memory_unreturned"], "bytes"),
          view("pools", t("Fragmentation"), ["memory_snapshot", "memory_pools"]),
          view("churn", t("Churn"), ["memory_churn", "segment_churn", "cache_flushes", "out_of_memory"]),
        ]}
      />
    </>
  );
}

/** Columns that are shown first, where a table has more than fit. */
const COLUMNS: Record<string, readonly string[]> = {
  memory_churn: ["step", "allocations", "frees", "allocated_bytes", "growths", "grown_bytes", "shrinks", "shrunk_bytes", "changes_per_1000", "driver_allocation_ns", "driver_free_ns"],
  memory_unreturned: ["bytes", "count", "share", "place", "module", "category", "is_candidate", "first_ts", "last_ts", "bytes_per_step", "frames"],
  memory_spikes: ["ts", "dur", "top_bytes", "rise_bytes", "rise_share", "place", "module", "category", "transient_count", "largest_bytes", "frames"],
  memory_peaks: ["device", "peak_bytes", "peak_is_lower_bound", "peak_ts", "peak_step", "peak_share", "peak_reserved_bytes", "reserved_share", "total_bytes"],
  memory_snapshot: ["device", "segments", "reserved_bytes", "allocated_bytes", "inactive_bytes", "stranded_bytes", "stranded_share", "cached_share", "largest_free_bytes"],
  memory_pools: ["device", "pool", "kind", "stream", "segments", "reserved_bytes", "allocated_bytes", "inactive_bytes", "stranded_bytes", "stranded_share", "largest_free_bytes"],
};
const HEADINGS: Record<string, string> = {
  memory_snapshot: t("By device"), memory_pools: t("By pool"), memory_churn: t("Allocations and frees"), segment_churn: t("Segments taken and given back"),
  cache_flushes: t("Flushes of the cache"), out_of_memory: t("Out of memory"),
};

function devicesOf(report: PageProps["report"], rank: number): number[] {
  const found = report.ranks.flatMap((one) => (one.rank === rank && one.device !== null ? [one.device] : []));
  return found.length ? [...new Set(found)] : [0];
}

const NAMES: Record<string, string> = { allocated_bytes: t("allocated"), reserved_bytes: t("reserved"), active_bytes: t("active"), requested_bytes: t("requested") };

/** Curves over time; at first at the moment that the address refers to, by rows of a table that have one. */
function OverTime({ rank, tables, params }: { rank: number; tables: string[]; params: URLSearchParams }) {
  const where = whereOf(params);
  const name = where && params.get("table");
  const { table, error } = useTable(name);
  if (name && !table && !error) return <p class="aside" aria-busy="true">{t("loading the moment")}</p>;
  const ts = Number(params.get("ts") ?? NaN);
  const moment = where && table ? momentOf(table, rank, where) : Number.isFinite(ts) ? { ts, device: undefined } : null;
  return <>{tables.map((name) => <TimeCurves key={name} name={name} rank={rank} moment={moment} />)}</>;
}

function TimeCurves({ name, rank, moment }: { name: string; rank: number; moment: At | null }) {
  const { table } = useTable(name);
  const drawn = useMemo(() => (table ? devices(table, rank) : []), [table, rank]);
  return (
    <>
      {drawn.map(({ device, times, curves, events }) => (
        <DeviceCurves key={`${device} ${moment?.ts}`} rank={rank} device={device} times={times} curves={curves} events={events} when={moment && (moment.device === undefined || moment.device === device) ? moment.ts : null} />
      ))}
      <TablePanel name={name} where={{ rank }} most={20} />
    </>
  );
}

interface DeviceCurvesProps {
  rank: number;
  device: number | null;
  times: number[];
  curves: Curve[];
  /** Of a snapshot, the event of the history at each point. */
  events: number[] | null;
  /** The moment that is shown at first, ns; null for the peak. */
  when: number | null;
}

/** The curves of one device, and what was allocated at the chosen point. */
function DeviceCurves({ rank, device, times, curves, events, when }: DeviceCurvesProps) {
  const used = curves.find((curve) => curve.label === NAMES["allocated_bytes"])?.values ?? [];
  const peak = used.reduce<number>((most, value, i) => ((value ?? 0) > (used[most] ?? 0) ? i : most), 0);
  const at = useSignal(when === null ? peak : Math.max(0, times.filter((ts) => ts <= when).length - 1));
  const words = events ? t("at {moment}, after event {event}", { moment: moment(times[at.value] ?? 0), event: events[at.value]!.toLocaleString("en-US") }) : t("at {moment}", { moment: moment(times[at.value] ?? 0) });
  return (
    <>
      <Curves title={device === null ? t("Host memory") : t("Memory of device {device}", { device })} times={times} curves={curves} unit="bytes" chosen={at.value} onChoose={(i) => (at.value = i)} />
      {times.length ? (
        <>
          <Moment label={t("Moment")} value={at.value} low={0} high={times.length - 1} words={words} onChoose={(i) => (at.value = i)} />
          <Live rank={rank} device={device} at={events ? `seq=${events[at.value]}` : `ts=${times[at.value]}`} words={words} used={events ? null : (used[at.value] ?? null)} />
        </>
      ) : null}
    </>
  );
}

function devices(table: Table, rank: number) {
  const at = Object.fromEntries(table.columns.map((column, i) => [column.name, i]));
  const rows = table.rows.filter((row) => row[at["rank"]!] === rank && typeof row[at["ts"]!] === "number");
  const shown = table.columns.filter((column) => column.name in NAMES);
  return [...new Set(rows.map((row) => row[at["device"]!] as number | null))].map((device) => {
    const own = rows.filter((row) => row[at["device"]!] === device).sort((a, b) => Number(a[at["ts"]!]) - Number(b[at["ts"]!]));
    const curves = shown
      .map((column) => ({ label: NAMES[column.name] ?? column.name, values: own.map((row) => row[at[column.name]!] as number | null) }))
      .filter((curve) => curve.values.some((value) => value !== null));
    const events = at["seq"] === undefined ? null : own.map((row) => Number(row[at["seq"]!]));
    return { device, times: own.map((row) => Number(row[at["ts"]!])), curves, events };
  });
}

function Peak({ rank, report }: { rank: number; report: PageProps["report"] }) {
  const stacks = has(report, "memory_peak_stacks");
  return (
    <>
      {has(report, "memory_peaks") ? <><Prose text={report.tables["memory_peaks"]?.description} /><TablePanel name="memory_peaks" where={{ rank }} columns={COLUMNS["memory_peaks"] ?? []} /></> : null}
      {has(report, "memory_holders") ? <><h2>{t("What held it")}</h2><Prose text={report.tables["memory_holders"]?.description} /><TablePanel name="memory_holders" where={{ rank }} sort="bytes" /></> : null}
      {stacks ? <><h2>{t("By kind, module and call stack")}</h2><PeakStacks rank={rank} /></> : null}
    </>
  );
}

function PeakStacks({ rank }: { rank: number }) {
  const { table } = useTable("memory_peak_stacks");
  return (
    <>
      {table ? (
        <div class="beside">
          <Shares table={table} by="name" value="bytes" where={{ rank, by: "category" }} caption={t("By category")} most={8} />
          <Shares table={table} by="name" value="bytes" where={{ rank, by: "module" }} caption={t("By module")} most={8} />
        </div>
      ) : null}
      <TablePanel name="memory_peak_stacks" where={{ rank }} sort="bytes" columns={["by", "name", "bytes", "share", "count", "largest_bytes", "frames"]} />
    </>
  );
}

function Drawn({ rank, devices, stack }: { rank: number; devices: number[]; stack: Value }) {
  return <>{devices.map((device) => <DrawnDevice key={`${device} ${stack}`} rank={rank} device={device} stack={stack} />)}</>;
}

function DrawnDevice({ rank, device, stack }: { rank: number; device: number; stack: Value }) {
  const { found, error } = useAnswer<Allocations>(`api/snapshot/allocations?rank=${rank}&device=${device}`);
  if (error) return <Failure error={error} />;
  if (!found) return <p class="aside" aria-busy="true">{t("loading allocations")}</p>;
  return <AllocationChart found={found} rank={rank} device={device} stack={stack} />;
}

function LaidOut({ rank, devices }: { rank: number; devices: number[] }) {
  return <>{devices.map((device) => <LaidOutDevice key={device} rank={rank} device={device} />)}</>;
}

function LaidOutDevice({ rank, device }: { rank: number; device: number }) {
  const { found, error } = useAnswer<{ segments: Segment[] }>(`api/snapshot/segments?rank=${rank}&device=${device}`);
  if (error) return <Failure error={error} />;
  if (!found) return <p class="aside" aria-busy="true">{t("loading segments")}</p>;
  return <SegmentChart segments={found.segments} device={device} rank={rank} />;
}
