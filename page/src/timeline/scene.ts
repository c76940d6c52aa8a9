/** What one canvas shows: rows with their tiles, and above them selection, marks and flows. */

import { paintEvents, paintLine, paintShares, scaleOf, type Pen } from "./paint";
import type { Palette } from "./palette";
import { Reused, type Part } from "./reuse";
import { ruler } from "./ruler";
import { laneBox, type Row } from "./rows";
import { SLOW, type TileStore, type Wanted } from "./store";
import type { Tile } from "./tiles";
import type { Brief, Flow, TrackInfo } from "./types";
import type { View } from "./view";
import { quantity } from "../components/format";
import { fitted } from "./text";
import { t } from "../language/t";

export const FONT = '11px system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';

export interface Overlay {
  selected: Brief | null;
  range: [number, number] | null;
  marks: readonly number[];
  flows: readonly Flow[];
  pointer: number | null;
  /** Stretches of a rank that are shaded. */
  lost: readonly { rank: number; start: number; end: number }[];
  /** Device activities on the critical path; others are faint. Null where that is not shown. */
  path: ReadonlySet<number> | null;
  search: string;
}

/** Steps first, then what devices did, counters, their time by cause, and the host with its stacks last. */
function turnOf({ source, form, part }: TrackInfo): number {
  if (form === "shares") return SLOW;
  if (source === "thread") return SLOW + (part === "python" ? 2 : 1);
  return source === "steps" ? 0 : form === "line" ? 2 : 1;
}

/** The tiles that a track needs for what is shown: those at the level of the view, and where they are. */
export function needed(row: Row, view: View, bits: number, lo: number, hi: number): Wanted[] {
  const { track } = row;
  if (!track) return [];
  const level = view.level;
  const width = 2 ** (level + bits);
  const from = Math.floor(Math.max(view.from, lo) / width);
  const to = Math.floor(Math.min(view.to, hi) / width);
  const found: Wanted[] = [];
  for (let tile = from; tile <= to; tile++) found.push({ track: track.index, level, tile, turn: turnOf(track) });
  return found;
}

function prepared(ctx: CanvasRenderingContext2D, scroll: number, draw: () => void): void {
  ctx.save();
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  ctx.translate(0, -scroll);
  draw();
  ctx.restore();
}

/** Draws rows, and remembers what it drew last of each track until newer tiles are there. */
export class Scene {
  private readonly last = new Map<number, Tile[]>();
  private readonly before: Reused;
  /** Rectangles of the last image that was drawn as a whole. */
  drawn = 0;

  constructor(
    private readonly store: TileStore,
    private readonly bits: number,
    again: () => void,
  ) {
    this.before = new Reused(again);
  }

  paint(ctx: CanvasRenderingContext2D, rows: readonly Row[], view: View, palette: Palette, overlay: Overlay, scroll: number, height: number, extent: [number, number]): void {
    const pens = (on: CanvasRenderingContext2D, part: Part, at: View): Pen => ({ ctx: on, view: at, palette, search: overlay.search, path: overlay.path, drawn: 0, part });
    const shown = rows.filter((row) => row.y + row.height >= scroll && row.y <= scroll + height);
    // Tiles that come into view are drawn with the strip that does, but a counter is drawn to the scale of all in view.
    const scales = shown.flatMap((row) => (row.track?.form === "line" ? scaleOf(this.there(row, view, extent)) : []));
    const key = [rows, scroll, height, view.width, devicePixelRatio, palette, overlay.search, overlay.path, this.store.version, view.level, ...scales];
    this.before.image(ctx, view, height, key, (on, part, at) => {
      const pen = pens(on, part, at);
      prepared(on, scroll, () => {
        this.grid(pen, scroll, height);
        for (const row of shown) this.row(pen, row, extent);
      });
      if (part[1] - part[0] >= view.width) this.drawn = pen.drawn;
    });
    const pen = pens(ctx, [0, view.width], view);
    prepared(ctx, scroll, () => {
      this.scales(pen, shown, extent);
      this.over(pen, rows, overlay, scroll, height);
    });
  }

  stop(): void {
    this.before.stop();
  }

  private grid({ ctx, view, palette }: Pen, scroll: number, height: number): void {
    ctx.fillStyle = palette.line;
    ctx.globalAlpha = 0.6;
    for (const tick of ruler(view.from - view.zero, view.to - view.zero, view.width).ticks) if (tick.major) ctx.fillRect(Math.round(view.x(tick.time + view.zero)), scroll, 1, height);
    ctx.globalAlpha = 1;
  }

  private row(pen: Pen, row: Row, extent: [number, number]): void {
    const { ctx, view, palette } = pen;
    ctx.fillStyle = row.form === "track" ? palette.line : palette.raise;
    if (row.form === "track") ctx.fillRect(0, row.y + row.height - 1, view.width, 1);
    else ctx.fillRect(0, row.y, view.width, row.height);
    if (!row.track) return;
    const wanted = needed(row, view, this.bits, ...extent);
    const there = wanted.map((one) => this.store.get(one.track, one.level, one.tile));
    const fresh = there.filter((tile): tile is Tile => tile !== undefined);
    const complete = fresh.length === wanted.length;
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, row.y, view.width, row.height);
    ctx.clip();
    if (!complete) this.tiles(pen, row, this.last.get(row.track.index) ?? []);
    if (!complete && fresh.length) {
      for (const tile of fresh) {
        const [left, right] = this.sides(view, tile);
        ctx.fillStyle = palette.back;
        ctx.fillRect(left, row.y, right - left, row.height - 1);
      }
    }
    this.tiles(pen, row, fresh);
    if (complete) this.last.set(row.track.index, fresh);
    else if (!fresh.length && !this.last.has(row.track.index)) {
      ctx.fillStyle = palette.soft;
      ctx.fillText(t("loading"), 6, row.y + row.height / 2);
    }
    ctx.restore();
  }

  private there(row: Row, view: View, extent: [number, number]): Tile[] {
    return needed(row, view, this.bits, ...extent).flatMap((one) => this.store.get(one.track, one.level, one.tile) ?? []);
  }

  private sides(view: View, tile: Tile): [number, number] {
    const left = view.x(tile.lo);
    const right = view.x(tile.lo + 2 ** (tile.level + this.bits));
    return [Math.max(left, 0), Math.min(right, view.width)];
  }

  private tiles(pen: Pen, row: Row, tiles: readonly Tile[]): void {
    const scale = row.track?.form === "line" ? scaleOf(tiles) : null;
    tiles.forEach((tile, i) => {
      const [left, right] = this.sides(pen.view, tile);
      if (right <= left || right < pen.part[0] || left > pen.part[1]) return;
      if (tile.form === "events") paintEvents(pen, row, tile, i ? left : 0, pen.view.width, i > 0 && tiles[i - 1]?.tile === tile.tile - 1);
      else if (tile.form === "shares") paintShares(pen, row, tile, Math.max(left, pen.part[0] - 1), Math.min(right, pen.part[1] + 1));
      else paintLine(pen, row, tile, left, right, scale ?? [0, 1]);
    });
  }

  /** The greatest value of each counter, at the left. */
  private scales({ ctx, view, palette }: Pen, rows: readonly Row[], extent: [number, number]): void {
    ctx.fillStyle = palette.soft;
    for (const row of rows) {
      if (row.track?.form !== "line") continue;
      const [low, high] = scaleOf(this.there(row, view, extent));
      if (high > low) ctx.fillText(quantity(high, row.track.source === "memory" ? "bytes" : ""), 4, row.y + 9);
    }
  }

  private over(pen: Pen, rows: readonly Row[], overlay: Overlay, scroll: number, height: number): void {
    const { ctx, view, palette } = pen;
    if (overlay.range) {
      const [a, b] = overlay.range.map((time) => view.x(time)) as [number, number];
      ctx.fillStyle = palette.accent;
      ctx.globalAlpha = 0.12;
      ctx.fillRect(a, scroll, Math.max(b - a, 1), height);
      ctx.globalAlpha = 0.9;
      ctx.fillRect(a, scroll, 1, height);
      ctx.fillRect(b, scroll, 1, height);
      ctx.globalAlpha = 1;
    }
    this.lost(pen, rows, overlay.lost);
    for (const mark of overlay.marks) {
      ctx.fillStyle = palette.ink;
      ctx.globalAlpha = 0.75;
      ctx.fillRect(view.x(mark), scroll, 1, height);
      ctx.globalAlpha = 1;
    }
    if (overlay.pointer !== null) {
      ctx.fillStyle = palette.soft;
      ctx.globalAlpha = 0.5;
      ctx.fillRect(overlay.pointer, scroll, 1, height);
      ctx.globalAlpha = 1;
    }
    for (const flow of overlay.flows) this.flow(pen, rows, flow);
    const chosen = overlay.selected;
    const row = chosen && rows.find((one) => one.track?.index === chosen.track);
    if (chosen && row && row.form === "track") {
      const [y, tall] = laneBox(row, chosen.lane ?? 0);
      const x = view.x(chosen.start);
      const wide = Math.max((chosen.dur ?? 0) / view.perPixel, 3);
      ctx.strokeStyle = palette.ink;
      ctx.lineWidth = 2;
      ctx.strokeRect(Math.max(x, -4), y, Math.min(x + wide, view.width + 4) - Math.max(x, -4), tall);
      if (row.small && wide > 40) {
        ctx.fillStyle = palette.ink;
        ctx.fillText(fitted(ctx, chosen.name, wide - 6), Math.max(x, 0) + 4, y + tall + 7);
      }
    }
  }

  private lost({ ctx, view, palette }: Pen, rows: readonly Row[], stretches: Overlay["lost"]): void {
    if (!stretches.length) return;
    const spans = new Map<number, [number, number]>();
    for (const row of rows) {
      if (!row.track) continue;
      const [top, bottom] = spans.get(row.track.rank) ?? [row.y, row.y];
      spans.set(row.track.rank, [Math.min(top, row.y), Math.max(bottom, row.y + row.height)]);
    }
    ctx.fillStyle = palette.bad;
    ctx.globalAlpha = 0.1;
    for (const { rank, start, end } of stretches) {
      const [a, b] = [Math.max(view.x(start), -1), Math.min(view.x(end), view.width + 1)];
      const span = spans.get(rank);
      if (span && b >= 0 && a <= view.width) ctx.fillRect(a, span[0], Math.max(b - a, 1), span[1] - span[0]);
    }
    ctx.globalAlpha = 1;
  }

  private flow({ ctx, view, palette }: Pen, rows: readonly Row[], flow: Flow): void {
    const ends = [flow.source, flow.target].map((event) => {
      const row = rows.find((one) => one.form === "track" && one.track?.index === event.track);
      if (!row) return null;
      const [y, tall] = laneBox(row, event.lane ?? 0);
      return { x: view.x(event.start), y: y + tall / 2 };
    });
    const [from, to] = ends;
    if (!from || !to || (from.x < -view.width && to.x < -view.width) || (from.x > 2 * view.width && to.x > 2 * view.width)) return;
    const bend = Math.max(24, Math.abs(to.x - from.x) / 3);
    ctx.strokeStyle = palette.accent;
    ctx.lineWidth = 1.4;
    ctx.setLineDash(flow.kind === "forward to backward" ? [5, 3] : flow.kind === "operator to launch" ? [2, 2] : []);
    ctx.beginPath();
    ctx.moveTo(from.x, from.y);
    ctx.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.fillStyle = palette.accent;
    ctx.beginPath();
    ctx.moveTo(to.x + 1, to.y);
    ctx.lineTo(to.x - 6, to.y - 3.5);
    ctx.lineTo(to.x - 6, to.y + 3.5);
    ctx.fill();
  }
}
