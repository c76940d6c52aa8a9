import { DataTable } from "../components/DataTable";
import type { Column, Value } from "../data/types";
import type { Board } from "./board";
import { entriesOf, tilesOf } from "./hit";
import { t, woven } from "../language/t";
import { named } from "./naming";

const COLUMNS: Column[] = [
  { name: "name", type: "string", unit: "", description: t("Name of the event, of a run that of its longest event.") },
  { name: "track", type: "string", unit: "", description: t("Section and track.") },
  { name: "kind", type: "string", unit: "", description: t("Category; of kernels also the class.") },
  { name: "start_ns", type: "int64", unit: "ns", description: t("Start on the common time axis.") },
  { name: "duration_ns", type: "int64", unit: "ns", description: t("Duration, of a run from its first start to its last end.") },
  { name: "events", type: "int64", unit: "count", description: t("1 for an event; of a run how many events are too short to be drawn alone.") },
  { name: "busy_ns", type: "int64", unit: "ns", description: t("Sum of durations.") },
  { name: "event", type: "int64", unit: "id", description: t("Id of the event; of a run that of its longest event.") },
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
      const where = `${info.ranks.length > 1 ? t("rank {rank}, ", { rank: track.rank }) : ""}${named(track.section)}: ${named(track.label)}`;
      if (track.source !== "steps") ranks.set(rows.length, track.rank);
      rows.push([one.name, where, info.kinds[one.kind] ?? "", one.start, one.span, one.count, one.busy, track.source === "steps" ? null : one.event]);
    }
  }
  const rankOf = new Map(rows.map((row, i) => [row, ranks.get(i)]));
  return (
    <>
      <p class="aside">{woven("What is drawn between {from} and {to}.{left}", { from: view.from < info.first ? t("the start") : t("the window's start"), to: view.to > info.last ? t("the end") : t("its end"), left: more ? t(" {count} further entries are left out: zoom in to see them.", { count: more.toLocaleString("en-US") }) : "" })}
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
