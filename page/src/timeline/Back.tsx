import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getTable, offline } from "../data/client";
import type { Value } from "../data/types";
import { href } from "../shell/router";
import type { Board } from "./board";
import type { Brief } from "./types";
import { t } from "../language/t";

/** Tables that an event of a category is summed up in, by its name or by the event itself. */
const TABLES: Record<string, readonly (readonly [table: string, by: "name" | "event"])[]> = {
  collective: [["collective_calls", "event"]],
  op: [["operators", "name"]],
  module: [["modules", "name"]],
  annotation: [["annotations", "name"], ["modules", "name"]],
  dataloader: [["dataloader", "name"], ["annotations", "name"]],
  runtime: [["api_calls", "name"]],
  launch: [["launches", "name"], ["api_calls", "name"]],
  sync: [["synchronisations", "name"], ["api_calls", "name"]],
  other: [["os_runtime", "name"]],
};
const DEVICE: ReadonlySet<string> = new Set(["kernel", "collective", "copy", "set"]);

interface Candidate {
  table: string;
  where: Record<string, Value>;
}

/** Those of some tables' rows that are there: not every event of a category is summed up. */
function useThere(candidates: readonly Candidate[]): readonly Candidate[] {
  const there = useSignal<readonly Candidate[]>([]);
  useEffect(() => {
    let wanted = true;
    there.value = [];
    void Promise.all(candidates.map(hasRow)).then((found) => wanted && (there.value = candidates.filter((_, i) => found[i])));
    return () => {
      wanted = false;
    };
  }, [JSON.stringify(candidates)]);
  return there.value;
}

async function hasRow({ table, where }: Candidate): Promise<boolean> {
  // A table of single events has a row of each, and may be long.
  if ("event" in where) return true;
  try {
    const { columns, rows } = await getTable(table);
    const asked = Object.entries(where).map(([name, value]) => [columns.findIndex((column) => column.name === name), value] as const);
    return rows.some((row) => asked.every(([i, value]) => row[i] === value));
  } catch {
    return false;
  }
}

/** From an event, or a range of time, to the pages that it is a part of. */
export function Back({ board, rank, start, event, name }: { board: Board; rank: number; start: number; event?: Brief; name?: string }) {
  const candidates: Candidate[] = [];
  if (event && name !== undefined) {
    const by = { event: { event: event.id }, name: { name: name.replace(/^nn\.Module: /, "") } };
    for (const [table, key] of TABLES[event.category] ?? []) candidates.push({ table, where: { rank, ...by[key] } });
    if (event.step !== null) for (const table of ["step_budget", "critical_path"]) candidates.push({ table, where: { rank, step: event.step } });
  }
  const links = useThere(candidates.filter(({ table }) => board.tables.has(table))).map(({ table, where }) => ({ to: href("tables", { table, where: JSON.stringify(where) }), words: table.replaceAll("_", " ") }));
  if (event && name !== undefined && DEVICE.has(event.category) && board.tables.has("kernels") && !offline) links.unshift({ to: href("kernels", { rank, name }), words: t("all its executions") });
  if (board.tables.has("memory_timeline")) links.push({ to: href("memory", { rank, tab: "time", ts: Math.round(start - board.shiftOf(rank)) }), words: t("memory then") });
  if (!links.length) return null;
  return (
    <>
      <h3>{t("In the tables")}</h3>
      <ul class="tl-links">{links.map((one) => <li><a href={one.to}>{one.words}</a></li>)}</ul>
    </>
  );
}
