/** From event to event by keyboard. */

import type { Board } from "./board";
import { briefOf, entriesOf, neighbour, tilesOf } from "./hit";

/** Choose the neighbour of the chosen event. */
export function step(board: Board, way: "left" | "right" | "up" | "down"): void {
  const chosen = board.selected.value;
  const row = chosen && [...board.rows("pinned"), ...board.rows("scrolled")].find((one) => one.form === "track" && one.track?.index === chosen.track);
  if (!chosen || !row) return;
  const tiles = tilesOf(row, board.store, board.view, board.info.tile_bits, [board.info.first, board.info.last]);
  const next = neighbour(row, tiles, { start: chosen.start, lane: chosen.lane ?? 0 }, way);
  if (next && row.track) void board.choose(chosen.rank, next.event, "reveal", briefOf(next, row.track, board.info.kinds));
}

/** Choose the first event in view, of the first track that has one. */
export function first(board: Board): void {
  const { view, info } = board;
  for (const row of [...board.rows("pinned"), ...board.rows("scrolled")]) {
    if (row.form !== "track" || row.track?.form !== "events" || row.track.source === "steps") continue;
    for (const one of entriesOf(row, tilesOf(row, board.store, view, info.tile_bits, [info.first, info.last]))) {
      if (one.start + one.span < view.from || one.start > view.to) continue;
      void board.choose(row.track.rank, one.event, "reveal", briefOf(one, row.track, info.kinds));
      return;
    }
  }
}
