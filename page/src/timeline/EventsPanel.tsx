import { DataTable } from "../components/DataTable";
import type { Column, Value } from "../data/types";
import type { Board } from "./board";
import { entriesOf, tilesOf } from "./hit";

const COLUMNS: Column[] = [
  { name: "name", type: "string", unit: "", description: "Name of the event, of a run that of its longest event." },
  { name: "track", type: "string", unit: "", description: "Section and track." },
  { name: "kind", type: "string", unit: "", description: "Category; of kernels also the class." },
  { name: "start_ns", type: "int64", unit: "ns", description: "Start on the common time axis." },
  { name: "duration_ns", type: "int64", unit: "ns", description: "Duration, of a run from its first start to its last end." },
  { name: "events", type: "int64", unit: "count", description: "1 for an event; of a run how many events are too short to be drawn alone." },
  { name: "busy_ns", type: "int64", unit: "ns", description: "Sum of durations." },
  { name: "event", type: "int64", unit: "id", description: "Id of the event; of a run that of its longest event." },
];
/** Rows beyond these are left out; a narrower window has fewer. */
const MOST = 2000;

/** What the canvas draws, as a table: the same entries, in the same window. */
export function EventsPanel({ board, name = "events in view" }: { board: Board; name?: string }) {
  void board.moved.value;
  const { view, info } = board;
  const rows: Value[][] = [];
  let more = 0;
  const extent: [number, number] = [info.first, info.last];
  const open = [...board.rows("pinned"), ...board.rows("scrolled")];
  const ranks = new Map<number, number>();
  for (const row of open) {
    if (row.form !== "track" || row.track?.form !== "events") continue;
    const track = row.track;
    for (const one of entriesOf(row, tilesOf(row, board.store, view, info.tile_bits, extent))) {
      if (one.start > view.to || one.start + one.span < view.from) continue;
      if (rows.length >= MOST) {
        more++;
        continue;
      }
      const where = `${info.ranks.length > 1 ? `rank ${track.rank}, ` : ""}${track.section}: ${track.label}`;
      if (track.source !== "steps") ranks.set(rows.length, track.rank);
      rows.push([one.name, where, info.kinds[one.kind] ?? "", one.start, one.span, one.count, one.busy, track.source === "steps" ? null : one.event]);
    }
  }
  const rankOf = new Map(rows.map((row, i) => [row, ranks.get(i)]));
  return (
    <>
      <p class="aside">
        What is drawn between {view.from < info.first ? "the start" : "the window's start"} and {view.to > info.last ? "the end" : "its end"}.
        {more ? ` ${more.toLocaleString("en-US")} further entries are left out: zoom in to see them.` : ""}
      </p>
      <DataTable
        name={name}
        table={{ columns: COLUMNS, rows, description: "" }}
        sort="duration_ns"
        most={100}
        cell={(column, value, _text, row) => {
          const rank = rankOf.get(row as Value[]);
          return column.name === "event" && typeof value === "number" && rank !== undefined ? (
            <button type="button" class="link" onClick={() => void board.choose(rank, value, "reveal")}>{value}</button>
          ) : undefined;
        }}
      />
    </>
  );
}
