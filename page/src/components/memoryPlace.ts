/** Where the Memory page shows what rows of the memory tables say: a moment, an allocation, the segments. */

import type { EvidenceRow, Table, Value } from "../data/types";
import { href } from "../shell/router";
import { t } from "../language/t";

/** The view of the page, and what the link to it says, by table. */
const VIEWS: Record<string, readonly [tab: string, words: string]> = {
  memory_timeline: ["time", t("Memory over time")],
  allocator_timeline: ["time", t("Memory over time")],
  memory_peaks: ["time", t("What was allocated at the peak")],
  memory_holders: ["time", t("What was allocated at the peak")],
  memory_peak_stacks: ["time", t("What was allocated at the peak")],
  memory_spikes: ["time", t("What was allocated at the highest spike")],
  out_of_memory: ["time", t("What was allocated when memory ran out")],
  cache_flushes: ["time", t("What was allocated when the cache was flushed")],
  memory_unreturned: ["allocations", t("The allocation that stayed")],
  memory_snapshot: ["segments", t("Segments and their blocks")],
  memory_churn: ["churn", t("Allocations and frees")],
  segment_churn: ["churn", t("Segments taken and given back")],
};

/** The place of a finding's rows on the Memory page; null for other tables. */
export function memoryPlace({ table, where }: EvidenceRow, rank: number): { href: string; words: string } | null {
  const view = VIEWS[table];
  if (!view) return null;
  const [tab, words] = view;
  return { href: href("memory", { rank: Number(where["rank"] ?? rank), tab, table, where: JSON.stringify(where) }), words };
}

/** A moment on a device, null for the host's memory; undefined for whichever device there is. */
export interface Moment {
  device: number | null | undefined;
  ts: number;
}

/** When the foremost of the rows that a link names was: the one of most bytes where there are several, else the first. */
export function momentOf(table: Table, rank: number, where: Record<string, Value>): Moment | null {
  const at = (name: string) => table.columns.findIndex((column) => column.name === name);
  const [ts, most, device] = [Math.max(at("ts"), at("peak_ts")), Math.max(at("top_bytes"), at("peak_bytes"), at("bytes")), at("device")];
  const asked = Object.entries({ rank, ...where }).map(([name, value]) => [at(name), value] as const);
  const rows = table.rows.filter((row) => asked.every(([i, value]) => i < 0 || row[i] === value) && typeof row[ts] === "number");
  const size = (row: Value[]) => Number(row[most] ?? 0);
  const first = rows.reduce<Value[] | null>((best, row) => (best === null || size(row) > size(best) ? row : best), null);
  return first && { ts: Number(first[ts]), device: (first[device] ?? null) as number | null };
}

/** What an address says of rows: `where`, a JSON object. */
export function whereOf(params: URLSearchParams): Record<string, Value> | null {
  try {
    const found: unknown = JSON.parse(params.get("where") ?? "null");
    return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Record<string, Value>) : null;
  } catch {
    return null;
  }
}
