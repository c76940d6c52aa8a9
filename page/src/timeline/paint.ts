/** Drawing of one track from its tiles. */

import type { Palette } from "./palette";
import { laneBox, type Row } from "./rows";
import { eventColumns, type Tile } from "./tiles";
import { fitted } from "./text";
import type { View } from "./view";

/** A run that is covered less than this is drawn this strongly, so that single short events are seen. */
const FAINTEST = 0.25;
const BUCKETS = 1024;
/** Sources of tracks whose events may be on the critical path. */
const DEVICE: ReadonlySet<string> = new Set(["queue", "group", "copies"]);

export interface Pen {
  ctx: CanvasRenderingContext2D;
  view: View;
  palette: Palette;
  /** Part of names to show; others are faint. Empty for all. */
  search: string;
  /** Device activities on the critical path; null to show all alike. */
  path: ReadonlySet<number> | null;
  drawn: number;
  /** From where to where it draws, x; what it is clipped to. */
  part: readonly [number, number];
}

/** Events and runs of a tile between two x; those that began in an earlier tile are left to it, if it is drawn. */
export function paintEvents(pen: Pen, row: Row, tile: Tile, left: number, right: number, earlier: boolean): void {
  const { ctx, view, palette, part } = pen;
  // Names stand at the left of what is seen of an event: of a strip, where they stand in the whole image.
  const seen = part[0] > 0 || part[1] < view.width ? -Infinity : 0;
  const { start, span, busy, event, lane, kind, name, count } = eventColumns(tile);
  const path = row.track && DEVICE.has(row.track.source) ? pen.path : null;
  const per = view.perPixel;
  const shown = tile.names.map((one) => !pen.search || one.toLowerCase().includes(pen.search));
  for (let i = 0; i < start.length; i++) {
    const from = start[i] as number;
    if (earlier && from < 0) continue;
    const x0 = (tile.lo + from - view.from) / per;
    const length = (span[i] as number) / per;
    const x1 = x0 + Math.max(length, 1);
    if (x1 < left || x0 > right || x1 < part[0] || x0 > part[1]) continue;
    const [y, height] = laneBox(row, lane[i] as number);
    const text = tile.names[name[i] as number] ?? "";
    const a = Math.max(x0, left - 2);
    const b = Math.min(x1, right + 2);
    const many = (count[i] as number) > 1;
    const cover = many ? Math.max(FAINTEST, Math.min(1, (busy[i] as number) / Math.max(span[i] as number, 1))) : 1;
    ctx.globalAlpha = shown[name[i] as number] ? (path && !many && !path.has(event[i] as number) ? 0.25 : cover) : 0.15;
    ctx.fillStyle = palette.kind(kind[i] as number, text);
    // A gap of a pixel between neighbours that are wide enough to have one.
    ctx.fillRect(a, y, b - a > 3 ? b - a - 0.6 : Math.max(b - a, 1), height);
    pen.drawn++;
    if (!row.small && x1 - a > 22 && !many) {
      const words = fitted(ctx, text, Math.min(x1, right + 400) - Math.max(x0, seen, -4000) - 8);
      if (words) {
        ctx.fillStyle = palette.onFill;
        ctx.fillText(words, Math.max(x0, seen, -4000) + 4, y + height / 2 + 0.5);
      }
    }
  }
  ctx.globalAlpha = 1;
}

/** What a device did: per bucket a column, in which each part has its share of the height. */
export function paintShares(pen: Pen, row: Row, tile: Tile, left: number, right: number): void {
  const { ctx, view, palette } = pen;
  const bucket = 2 ** tile.level;
  const per = view.perPixel;
  const parts = [...tile.columns].map(([label, ns]) => ({ label: Number(label), ns }));
  const top = row.y + 3;
  const height = row.height - 6;
  const first = Math.max(0, Math.floor((view.time(left) - tile.lo) / bucket));
  const last = Math.min(BUCKETS - 1, Math.ceil((view.time(right) - tile.lo) / bucket));
  let i = first;
  while (i <= last) {
    const whole = parts.find((part) => part.ns[i] === bucket);
    let end = i + 1;
    if (whole) while (end <= last && whole.ns[end] === bucket) end++;
    const x0 = (tile.lo + i * bucket - view.from) / per;
    const width = ((end - i) * bucket) / per;
    if (whole) {
      ctx.fillStyle = palette.share(whole.label);
      ctx.fillRect(x0, top, width + 0.3, height);
      pen.drawn++;
    } else {
      let y = top + height;
      for (const { label, ns } of parts) {
        const part = ns[i] as number;
        if (!part) continue;
        const tall = (height * part) / bucket;
        y -= tall;
        ctx.fillStyle = palette.share(label);
        ctx.fillRect(x0, y, width + 0.3, tall);
        pen.drawn++;
      }
    }
    i = end;
  }
}

/** A counter: the range of its values in each bucket, and a line along the last of them. */
export function paintLine(pen: Pen, row: Row, tile: Tile, left: number, right: number, scale: [number, number]): void {
  const { ctx, view, palette } = pen;
  const of = (name: string) => tile.columns.get(name) ?? [];
  const [start, least, most, last] = [of("start"), of("least"), of("most"), of("last")];
  const [low, high] = scale;
  const y = (value: number) => row.y + row.height - 4 - ((value - low) / (high - low || 1)) * (row.height - 8);
  const bottom = row.y + row.height - 4;
  let value = tile.before;
  let x = left;
  const level = (until: number) => {
    if (value === null || until <= x) return;
    ctx.fillRect(x, y(value), Math.min(until, right) - x, Math.max(bottom - y(value), 1));
    pen.drawn++;
  };
  ctx.fillStyle = palette.accent;
  ctx.globalAlpha = 0.45;
  for (let i = 0; i < start.length; i++) {
    const at = (tile.lo + (start[i] as number) - view.from) / view.perPixel;
    if (at > right) break;
    if (at >= left) {
      level(at);
      x = at;
      const tall = y(least[i] as number) - y(most[i] as number);
      if (tall > 0.5) ctx.fillRect(at, y(most[i] as number), 1, tall);
    }
    value = last[i] as number;
  }
  level(right);
  ctx.globalAlpha = 1;
}

/** Smallest and largest value of some tiles, from 0 on where nothing is below. */
export function scaleOf(tiles: readonly Tile[]): [number, number] {
  let low = 0;
  let high = 0;
  for (const tile of tiles) {
    if (tile.before !== null) [low, high] = [Math.min(low, tile.before), Math.max(high, tile.before)];
    for (const value of tile.columns.get("least") ?? []) low = Math.min(low, value);
    for (const value of tile.columns.get("most") ?? []) high = Math.max(high, value);
  }
  return [low, high];
}
