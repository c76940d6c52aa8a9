import { offline } from "../data/client";
import type { Value } from "../data/types";
import { href } from "../shell/router";
import type { Board } from "./board";
import type { Brief } from "./types";

/** Tables that an event of a category is summed up in, by its name or by the event itself. */
const TABLES: Record<string, readonly (readonly [table: string, by: "name" | "event"])[]> = {
  collective: [["collective_calls", "event"]],
  op: [["operators", "name"]],
  python: [["modules", "name"]],
  module: [["modules", "name"]],
  annotation: [["annotations", "name"], ["modules", "name"]],
  dataloader: [["dataloader", "name"], ["annotations", "name"]],
  runtime: [["api_calls", "name"]],
  launch: [["launches", "name"], ["api_calls", "name"]],
  sync: [["synchronisations", "name"], ["api_calls", "name"]],
  other: [["os_runtime", "name"]],
};
const DEVICE: ReadonlySet<string> = new Set(["kernel", "collective", "copy", "set"]);

/** From an event, or a range of time, to the pages that it is a part of. */
export function Back({ board, rank, start, event, name }: { board: Board; rank: number; start: number; event?: Brief; name?: string }) {
  const { tables } = board;
  const row = (table: string, where: Record<string, Value>) => (tables.has(table) ? [{ to: href("tables", { table, where: JSON.stringify({ rank, ...where }) }), words: table.replaceAll("_", " ") }] : []);
  const links = [];
  if (event && name !== undefined) {
    if (DEVICE.has(event.category) && tables.has("kernels") && !offline) links.push({ to: href("kernels", { rank, name }), words: "all its executions" });
    for (const [table, by] of TABLES[event.category] ?? []) links.push(...row(table, by === "event" ? { event: event.id } : { name: name.replace(/^nn\.Module: /, "") }));
    if (event.step !== null) links.push(...row("step_budget", { step: event.step }), ...row("critical_path", { step: event.step }));
  }
  if (tables.has("memory_timeline")) links.push({ to: href("memory", { rank, tab: "time", ts: Math.round(start - board.shiftOf(rank)) }), words: "memory then" });
  if (!links.length) return null;
  return (
    <>
      <h3>In the tables</h3>
      <ul class="tl-links">{links.map((one) => <li><a href={one.to}>{one.words}</a></li>)}</ul>
    </>
  );
}
