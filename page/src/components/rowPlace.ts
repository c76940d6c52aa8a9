/** Where a row of a table leads: to its event, its time, its step, or the longest of the events that it sums up. */

import { offline } from "../data/client";
import type { Column, Value } from "../data/types";
import { href } from "../shell/router";
import { memoryPlace } from "./memoryPlace";
import { t } from "../language/t";

export interface RowPlace {
  href: string;
  words: string;
}

/** What a row's place depends on besides the row. */
export interface PlaceOptions {
  /** Name of the table. */
  table: string;
  /** Rank of rows that do not say. */
  rank?: number;
  /** Range of the timeline that the table is of, ns on the common axis. */
  within?: readonly [number, number];
}

/** Tables whose names are kinds of something, of which no event is the longest. */
const KINDS: ReadonlySet<string> = new Set([
  "kernel_attribution", "core_metrics", "packet_sizes", "links", "serving_roles", "serving_times", "serving", "recorded_summary", "recorded_totals",
  "machine_use", "memory_components", "memory_peak_stacks", "tensor_cores", "communication_ranks", "comm_overlap", "graphs", "parallel_groups", "group_steps",
]);
/** What tells rows of the memory tables apart. */
const MOMENT = ["device", "ts", "peak_ts", "seq", "stack"];

let [timeline, steps] = [false, false];
/** Say whether there is a timeline to lead to, and whether steps have a place in it: those of a snapshot may have no time. */
export const leadToTimeline = (there: boolean, timed: boolean): void => void ([timeline, steps] = [there, timed]);

/** The place of a row; null if it has none. */
export function rowPlace(columns: readonly Column[], row: readonly Value[], { table, rank, within }: PlaceOptions): RowPlace | null {
  const of = (name: string): Value => row[columns.findIndex((column) => column.name === name)] ?? null;
  const number = (...names: string[]): number | null => names.map(of).find((value): value is number => typeof value === "number") ?? null;
  const ranks = of("ranks");
  const where = number("slowest_rank", "rank") ?? rank ?? (Array.isArray(ranks) && typeof ranks[0] === "number" ? ranks[0] : 0);
  const memory = memoryPlace({ table, where: Object.fromEntries(MOMENT.flatMap((name) => (of(name) === null ? [] : [[name, of(name)]]))) }, where);
  if (memory && !memory.href.includes("tab=churn")) return memory;
  if (!timeline) return null;
  const to = (words: string, params: Record<string, string | number | undefined>): RowPlace => ({ href: href("timeline", { rank: where, ...params }), words });
  const event = number("event");
  if (event !== null && !offline) return to(t("In the timeline"), { event });
  const start = number("start_ns", "ts");
  const end = number("end_ns") ?? (start === null ? null : start + (number("dur", "total_ns") ?? 0));
  // The path over ranks counts from the start of its step.
  if (start !== null && end !== null && end > start && table !== "cluster_critical_path") return to(t("In the timeline"), { from: start, to: end });
  const [name, step] = [of("name") ?? of("kernel"), number("step")];
  if (typeof name === "string" && !offline && !KINDS.has(table)) {
    return to(t("The longest in the timeline"), { longest: name, table, step: step ?? undefined, dur: number("max_ns") ?? undefined, ...(within ? { in: within.join() } : {}) });
  }
  if (step !== null) return !steps ? null : to(t("Its step in the timeline"), { step });
  return columns.some((column) => column.name === "rank" || column.name === "ranks") && RANKED.has(table) ? to(t("Its rank in the timeline"), {}) : null;
}

/** Tables whose rows are about ranks. */
const RANKED: ReadonlySet<string> = new Set(["devices", "ranks", "slow_ranks", "slow_links", "clock_offsets", "comm_overlap", "parallel_groups", "communication_ranks", "links"]);
