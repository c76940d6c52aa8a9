import { useSignal } from "@preact/signals";
import { Heat } from "../components/Heat";
import { quantity } from "../components/format";
import { RankPicker, rankOf } from "../components/RankPicker";
import { Shares } from "../components/Shares";
import { has, TablePanel, useTable } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import type { Column, Table, Value } from "../data/types";
import { href } from "../shell/router";
import type { PageProps } from "./registry";
import { t } from "../language/t";

/** Collectives by group, each call of one, the matrix of links, and what computing hides. */
export function Communication({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  const place = (column: Column, value: Value) =>
    column.name === "event" ? <a href={href("timeline", { rank, event: String(value) })}>{String(value)}</a> : undefined;
  return (
    <>
      <header class="with"><h1>{t("Communication")}</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="communication" params={params}
        tabs={[
          has(report, "collectives") ? { id: "kinds", title: t("Collectives"), show: () => <><GroupShares rank={rank} /><TablePanel name="collectives" sort="total_ns" where={{ rank }} columns={["name", "group", "world_size", "size_class", "count", "total_ns", "share", "max_ns", "bytes", "exposed_ns", "bus_bandwidth", "best_bus_bandwidth"]} /></> } : null,
          has(report, "comm_overlap") ? { id: "overlap", title: t("Overlap"), show: () => <TablePanel name="comm_overlap" sort="comm_ns" where={{ rank }} /> } : null,
          has(report, "collective_calls") ? { id: "calls", title: t("Every call"), show: () => <TablePanel name="collective_calls" where={{ rank }} cell={place} columns={["event", "name", "group", "seq", "step", "ts", "dur", "bytes", "exposed_ns", "bus_bandwidth"]} /> } : null,
          has(report, "links") ? { id: "links", title: t("Links"), show: () => <><Matrix /><TablePanel name="links" sort="total_ns" columns={["name", "transport", "rank", "src", "dst", "plane", "count", "total_ns", "share", "median_ns", "max_ns", "bytes", "bandwidth", "wait_ns"]} /></> } : null,
        ]}
      />
    </>
  );
}

function GroupShares({ rank }: { rank: number }) {
  const { table } = useTable("collectives");
  if (!table) return null;
  return (
    <div class="beside">
      <Shares table={table} by="name" value="total_ns" where={{ rank }} caption={t("Time by collective")} most={6} />
      <Shares table={table} by="group" value="exposed_ns" where={{ rank }} caption={t("Exposed time by group")} most={6} />
    </div>
  );
}

const MEASURES = { bandwidth: [t("Bandwidth"), "bytes/s"], total_ns: [t("Time"), "ns"], bytes: [t("Bytes"), "bytes"], wait_ns: [t("Wait"), "ns"] } as const;

/** Who sends to whom: the mean bandwidth of the links, or sums of the others. */
function Matrix() {
  const { table } = useTable("links");
  const measure = useSignal<keyof typeof MEASURES>("bandwidth");
  if (!table) return null;
  const { ends, cells } = matrixOf(table, measure.value);
  if (ends.length < 2) return null;
  const [name, unit] = MEASURES[measure.value];
  return (
    <>
      <label class="picker">{t("Show")}{" "}
        <select value={measure.value} onChange={(event) => (measure.value = event.currentTarget.value as keyof typeof MEASURES)}>
          {Object.entries(MEASURES).map(([key, [label]]) => <option value={key}>{label}</option>)}
        </select>
      </label>
      <Heat title={t("{name} from rank to rank", { name })} rows={ends} columns={ends} rowName={t("from rank")} columnName={t("to rank")} from={0}
        value={(y, x) => cells.get(`${ends[y]} ${ends[x]}`) ?? null} write={(value) => quantity(value, unit)} />
    </>
  );
}

function matrixOf(table: Table, measure: string): { ends: number[]; cells: Map<string, number> } {
  const at = (name: string) => table.columns.findIndex((column) => column.name === name);
  const [src, dst, bytes, total, column] = [at("src"), at("dst"), at("bytes"), at("total_ns"), at(measure)];
  const sums = new Map<string, [number, number]>();
  const ends = new Set<number>();
  for (const row of table.rows) {
    // What stays on a rank crosses no link.
    if (typeof row[src] !== "number" || typeof row[dst] !== "number" || row[src] === row[dst]) continue;
    ends.add(row[src]).add(row[dst]);
    const key = `${row[src]} ${row[dst]}`;
    const [a, b] = sums.get(key) ?? [0, 0];
    // Bandwidths do not add up: bytes over time does.
    sums.set(key, measure === "bandwidth" ? [a + Number(row[bytes] ?? 0) * 1e9, b + Number(row[total] ?? 0)] : [a + Number(row[column] ?? 0), 1]);
  }
  return { ends: [...ends].sort((a, b) => a - b), cells: new Map([...sums].filter(([, [, b]]) => b > 0).map(([key, [a, b]]) => [key, a / b])) };
}
