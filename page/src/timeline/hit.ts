/** What is at a point, beside an event, or in the window. */

import { LANE, SMALL, type Row } from "./rows";
import type { TileStore } from "./store";
import { needed } from "./scene";
import { eventColumns, type Tile } from "./tiles";
import type { Brief, TrackInfo } from "./types";
import type { View } from "./view";

export interface Hit {
  row: Row;
  form: "event" | "run" | "shares" | "line";
  /** Id of the event, of runs of the longest one. */
  event: number;
  name: string;
  kind: number;
  lane: number;
  start: number;
  span: number;
  busy: number;
  count: number;
  /** Of shares: ns by position in the server's list; of a line: its value. */
  shares: [number, number][];
  value: number | null;
}

/** What is drawn of an event, in the form in which the server tells of it. Kernels are drawn by class, as `kernel:gemm`. */
export function briefOf(hit: Hit, track: TrackInfo, kinds: readonly string[]): Brief {
  const category = (kinds[hit.kind] ?? "").split(":")[0] ?? "";
  return { rank: track.rank, id: hit.event, name: hit.name, category, start: hit.start, dur: hit.span, step: null, track: track.index, lane: hit.lane };
}

type Extent = [number, number];

export function tilesOf(row: Row, store: TileStore, view: View, bits: number, extent: Extent): Tile[] {
  return needed(row, view, bits, ...extent).flatMap((one) => store.get(one.track, one.level, one.tile) ?? []);
}

export function rowAt(rows: readonly Row[], y: number): Row | null {
  return rows.find((row) => y >= row.y && y < row.y + row.height) ?? null;
}

/** Every entry of a track in the window, once. */
export function* entriesOf(row: Row, tiles: readonly Tile[]): Generator<Hit> {
  for (const [at, tile] of tiles.entries()) {
    if (tile.form !== "events") continue;
    const { start, span, busy, event, lane, kind, name, count } = eventColumns(tile);
    const earlier = at > 0 && tiles[at - 1]?.tile === tile.tile - 1;
    for (let i = 0; i < start.length; i++) {
      if (earlier && (start[i] as number) < 0) continue;
      yield {
        row,
        form: (count[i] as number) > 1 ? "run" : "event",
        event: event[i] as number,
        name: tile.names[name[i] as number] ?? "",
        kind: kind[i] as number,
        lane: lane[i] as number,
        start: tile.lo + (start[i] as number),
        span: span[i] as number,
        busy: busy[i] as number,
        count: count[i] as number,
        shares: [],
        value: null,
      };
    }
  }
}

/** What is drawn at a point: of an event track the entry there, or the nearest within three pixels. */
export function hitAt(rows: readonly Row[], store: TileStore, view: View, bits: number, extent: Extent, x: number, y: number): Hit | null {
  const row = rowAt(rows, y);
  if (!row?.track) return null;
  const time = view.time(x);
  const tiles = tilesOf(row, store, view, bits, extent);
  if (row.track.form === "shares") return sharesAt(row, tiles, time, bits);
  if (row.track.form === "line") return valueAt(row, tiles, time, bits);
  const lane = Math.floor((y - row.y - 2) / (row.small ? SMALL : LANE));
  let best: Hit | null = null;
  let distance = 3 * view.perPixel;
  for (const one of entriesOf(row, tiles)) {
    if (one.lane !== lane) continue;
    const away = Math.max(one.start - time, time - one.start - one.span, 0);
    if (away < distance || (away === 0 && distance === 0 && best && one.span < best.span)) [best, distance] = [one, away];
  }
  return best;
}

function sharesAt(row: Row, tiles: readonly Tile[], time: number, bits: number): Hit | null {
  const tile = tiles.find((one) => time >= one.lo && time < one.lo + 2 ** (one.level + bits));
  if (!tile) return null;
  const bucket = 2 ** tile.level;
  const i = Math.floor((time - tile.lo) / bucket);
  const shares = [...tile.columns].map(([label, ns]) => [Number(label), ns[i] ?? 0] as [number, number]).filter(([, ns]) => ns > 0);
  shares.sort((a, b) => b[1] - a[1]);
  return { ...plain(row, "shares"), start: tile.lo + i * bucket, span: bucket, shares };
}

function valueAt(row: Row, tiles: readonly Tile[], time: number, bits: number): Hit | null {
  const tile = tiles.find((one) => time >= one.lo && time < one.lo + 2 ** (one.level + bits));
  if (!tile) return null;
  const [start, last] = [tile.columns.get("start") ?? [], tile.columns.get("last") ?? []];
  let value = tile.before;
  for (let i = 0; i < start.length && tile.lo + (start[i] as number) <= time; i++) value = last[i] as number;
  return value === null ? null : { ...plain(row, "line"), start: time, value };
}

function plain(row: Row, form: Hit["form"]): Hit {
  return { row, form, event: -1, name: row.label, kind: 0, lane: 0, start: 0, span: 0, busy: 0, count: 0, shares: [], value: null };
}

/** The neighbour of an event in its lane, or the one at the same time in the lane below or above. */
export function neighbour(row: Row, tiles: readonly Tile[], from: { start: number; lane: number }, way: "left" | "right" | "up" | "down"): Hit | null {
  const lane = from.lane + (way === "up" ? -1 : way === "down" ? 1 : 0);
  let best: Hit | null = null;
  for (const one of entriesOf(row, tiles)) {
    if (one.lane !== lane) continue;
    if (way === "left" ? one.start < from.start && (!best || one.start > best.start)
      : way === "right" ? one.start > from.start && (!best || one.start < best.start)
      : !best || distance(one, from.start) < distance(best, from.start)) best = one;
  }
  return best;
}

const distance = (one: Hit, time: number): number => Math.max(one.start - time, time - one.start - one.span, 0) + Math.abs(one.start - time) * 1e-6;

