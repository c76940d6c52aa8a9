import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Value } from "../data/types";
import { colour, dark } from "../shell/theme";
import { areasOf, lowAt, type Area } from "./allocationAreas";
import { DataTable } from "./DataTable";
import { duration, quantity, visible } from "./format";
import { Frames, Live, Moment } from "./Live";
import { t, woven } from "../language/t";

export interface Allocations {
  low: number;
  high: number;
  count: number;
  columns: string[];
  rows: Value[][];
  /** Bytes of all others after each of equal stretches of the history. */
  rest: number[];
}

const [HEIGHT, LEFT] = [360, 72];

/**
 * One area per allocation over the history, stacked; dragging zooms, a click or an arrow key chooses one. At first the
 * largest of a call stack that was not freed is chosen, if there is such a stack.
 */
export function AllocationChart({ found, rank, device, stack }: { found: Allocations; rank: number; device: number; stack: Value }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useSignal(1000);
  const view = useSignal<[number, number]>([found.low, found.high]);
  const chosen = useSignal(largestOf(found, stack));
  const moment = useSignal<number | null>(null);
  const dragged = useRef<number | null>(null);
  const column = (name: string) => found.columns.indexOf(name);
  const spans = useMemo(() => found.rows.map((row) => ({ made: Math.max(found.low, Number(row[column("made")])), freed: Number(row[column("freed")]), bytes: Number(row[column("bytes")]) })), [found]);
  const { areas, top } = useMemo(() => areasOf(spans), [spans]);
  const categories = useMemo(() => [...new Set(found.rows.map((row) => String(row[column("category")] ?? "unknown")))].sort(), [found]);
  const whole = top + Math.max(0, ...found.rest);
  const band = useMemo(() => restBand(found, areas), [found, areas]);
  const shade = dark.value;
  const [from, to] = view.value;
  const inner = width.value - LEFT;
  const x = (at: number) => LEFT + ((at - from) / (to - from)) * inner;
  const y = (bytes: number) => HEIGHT - (bytes / whole) * (HEIGHT - 8);
  const restAt = (at: number) => found.rest[Math.min(found.rest.length - 1, Math.max(0, Math.floor(((at - found.low) / (found.high - found.low)) * found.rest.length)))] ?? 0;
  useEffect(() => {
    const parent = canvas.current?.parentElement;
    if (!parent) return undefined;
    const sized = new ResizeObserver(() => (width.value = Math.max(300, parent.clientWidth)));
    sized.observe(parent);
    return () => sized.disconnect();
  }, []);
  useEffect(() => {
    const own = canvas.current;
    const draw = own?.getContext("2d");
    if (!own || !draw) return;
    const scale = devicePixelRatio || 1;
    own.width = width.value * scale;
    own.height = (HEIGHT + 4) * scale;
    own.style.width = `${width.value}px`;
    own.style.height = `${HEIGHT + 4}px`;
    draw.scale(scale, scale);
    draw.font = "12px system-ui, sans-serif";
    const tints = Array.from({ length: 8 }, (_, i) => colour(`--c${i}`));
    draw.strokeStyle = colour("--line");
    draw.fillStyle = colour("--soft");
    draw.textAlign = "right";
    for (const bytes of levels(whole)) {
      draw.fillRect(LEFT, Math.round(y(bytes)), 0, 0);
      draw.beginPath();
      draw.moveTo(LEFT, Math.round(y(bytes)) + 0.5);
      draw.lineTo(width.value, Math.round(y(bytes)) + 0.5);
      draw.stroke();
      draw.fillText(quantity(bytes, "bytes"), LEFT - 8, Math.max(12, y(bytes) + 4));
    }
    draw.save();
    draw.beginPath();
    draw.rect(LEFT, 0, inner, HEIGHT + 4);
    draw.clip();
    for (const area of areas) {
      if (area.freed < from || area.made > to) continue;
      outline(draw, area, x, y);
      draw.fillStyle = tints[categories.indexOf(String(found.rows[area.i]![column("category")] ?? "unknown")) % 8] ?? "#888";
      draw.globalAlpha = area.i === chosen.value ? 1 : 0.5 + 0.25 * (area.i % 2);
      draw.fill();
      if (area.i === chosen.value) {
        draw.globalAlpha = 1;
        draw.strokeStyle = colour("--ink");
        draw.lineWidth = 1.5;
        draw.stroke();
      }
    }
    draw.globalAlpha = 0.6;
    draw.fillStyle = colour("--idle");
    for (const [at, until, low, bytes] of band) {
      if (until < from || at > to || !bytes) continue;
      draw.fillRect(x(at), y(low + bytes), Math.max(0.5, x(until) - x(at) + 0.3), y(low) - y(low + bytes));
    }
    draw.globalAlpha = 1;
    if (moment.value !== null) {
      draw.strokeStyle = colour("--ink");
      draw.setLineDash([4, 3]);
      draw.strokeRect(Math.round(x(moment.value + 0.5)) + 0.5, 0, 0, HEIGHT);
    }
    draw.restore();
  }, [areas, width.value, view.value, chosen.value, moment.value, shade]);
  const hit = (event: MouseEvent): number | null => {
    const at = from + ((event.offsetX - LEFT) / inner) * (to - from);
    const bytes = ((HEIGHT - event.offsetY) / (HEIGHT - 8)) * whole;
    const area = areas.find((one) => { const low = lowAt(one, at); return low !== null && bytes >= low && bytes < low + one.bytes; });
    return area?.i ?? null;
  };
  const release = (event: PointerEvent) => {
    const start = dragged.current;
    dragged.current = null;
    if (start === null) return;
    const ends = [start, event.offsetX].map((px) => from + (Math.max(0, px - LEFT) / inner) * (to - from)).sort((a, b) => a - b);
    if (Math.abs(event.offsetX - start) > 5) view.value = [ends[0]!, Math.max(ends[1]!, ends[0]! + 2)];
    else {
      chosen.value = hit(event);
      moment.value = Math.round(Math.min(found.high - 1, Math.max(found.low, Math.floor(from + ((event.offsetX - LEFT) / inner) * (to - from)))));
    }
  };
  const order = useMemo(() => [...areas].sort((a, b) => a.made - b.made).map((area) => area.i), [areas]);
  const move = (event: KeyboardEvent) => {
    const at = chosen.value === null ? -1 : order.indexOf(chosen.value);
    if (event.key === "ArrowRight") chosen.value = order[Math.min(order.length - 1, at + 1)] ?? null;
    else if (event.key === "ArrowLeft") chosen.value = order[Math.max(0, at - 1)] ?? null;
    else if (event.key === "Escape") { chosen.value = null; view.value = [found.low, found.high]; }
    else return;
    event.preventDefault();
  };
  const smaller = typeof stack === "number" && stack >= 0 && largestOf(found, stack) === null;
  const columns = [
    { name: "bytes", type: "int64", unit: "bytes", description: t("Size of its block.") },
    { name: "category", type: "string", unit: "", description: t("What it is for, as recorded or as its stack shows.") },
    { name: "place", type: "string", unit: "", description: t("Innermost frame of the user's own code, else of a library.") },
    { name: "module", type: "string", unit: "", description: t("File of the innermost forward outside PyTorch.") },
    { name: "made", type: "int64", unit: "id", description: t("Position in the history at which it was made; -1 before it.") },
    { name: "freed", type: "int64", unit: "id", description: t("Position at which it was freed; the history's end if it never was.") },
  ];
  return (
    <figure class="allocations">
      <figcaption>{woven("Allocations of device {device} by their order in time{categories}{others}{how}", { device, categories: categories.map((name, i) => <span class="aside"><i class={`key c${i % 8}`} />{name}</span>), others: found.rest.some(Boolean) ? <span class="aside"><i class="key rest" />{t("all others, on top")}</span> : null, how: <span class="aside">{t("Drag to zoom, click for one, and for all of that moment.")}</span> })}
      </figcaption>
      <div class="tools">
        <button type="button" disabled={from === found.low && to === found.high} onClick={() => (view.value = [found.low, found.high])}>{t("Show all")}</button>
        {found.count > found.rows.length ? <span class="aside">{woven("the {rows} largest of {count}; all others take {last} at the end, at most {most}", { rows: found.rows.length.toLocaleString("en-US"), count: found.count.toLocaleString("en-US"), last: quantity(restAt(to), "bytes"), most: quantity(Math.max(...found.rest), "bytes") })}</span> : null}
      </div>
      <div class="canvas">
        <canvas ref={canvas} tabIndex={0} role="img" aria-label={t("Allocations over time; arrow keys go from one to the next; the table below has the same")}
          onPointerDown={(event) => (dragged.current = event.offsetX)} onPointerUp={release} onKeyDown={move} />
      </div>
      {smaller ? <div class="details"><p>{t("Allocations of this call stack are too small to be drawn.")}</p><Frames rank={rank} stack={stack} /></div> : null}
      <div aria-live="polite">{chosen.value === null ? null : <One row={Object.fromEntries(found.columns.map((name, i) => [name, found.rows[chosen.value!]![i] ?? null]))} rank={rank} high={found.high} />}</div>
      <Moment label={t("After event")} value={moment.value ?? found.high - 1} low={found.low} high={found.high - 1} words={(moment.value ?? found.high - 1).toLocaleString("en-US")} onChoose={(at) => (moment.value = at)} />
      {moment.value === null ? null : <Live rank={rank} device={device} at={`seq=${moment.value}`} words={t("after event {event}", { event: moment.value.toLocaleString("en-US") })} />}
      <DataTable name="allocations" sort="bytes" most={20} table={{ description: "", columns, rows: found.rows.map((row) => columns.map((one) => row[column(one.name)] ?? null)) }} />
    </figure>
  );
}

/** All other allocations, on top of those that are drawn: stretches of from, to, lower edge and bytes. */
function restBand(found: Allocations, areas: readonly Area[]): [number, number, number, number][] {
  const parts = found.rest.length;
  if (!parts) return [];
  // The height of what is drawn changes where one is made or freed.
  const changes = areas.flatMap((area): [number, number][] => [[area.made, area.bytes], [area.freed, -area.bytes]]).sort((a, b) => a[0] - b[0]);
  const edges = found.rest.map((bytes, i): [number, number] => [found.low + ((found.high - found.low) * i) / parts, bytes]);
  const band: [number, number, number, number][] = [];
  let [height, change, at, bytes] = [0, 0, found.low, 0];
  const close = (until: number) => {
    if (until > at) band.push([at, until, height, bytes]);
    at = Math.max(at, until);
  };
  for (const [edge, amount] of edges) {
    for (; change < changes.length && changes[change]![0] <= edge; change++) {
      close(changes[change]![0]);
      height += changes[change]![1];
    }
    close(edge);
    bytes = amount;
  }
  for (; change < changes.length; change++) {
    close(changes[change]![0]);
    height += changes[change]![1];
  }
  close(found.high);
  return band;
}

/** The largest allocation of a call stack, one that was never freed before others; null if there is none. */
function largestOf(found: Allocations, stack: Value): number | null {
  const [of, freed] = ["stack", "freed"].map((name) => found.columns.indexOf(name)) as [number, number];
  const mine = stack === null ? [] : found.rows.flatMap((row, i) => (row[of] === stack ? [i] : []));
  return mine.find((i) => found.rows[i]![freed] === found.high) ?? mine[0] ?? null;
}

function One({ row, rank, high }: { row: Record<string, Value>; rank: number; high: number }) {
  const [made, freed] = [row["ts"], row["freed_ts"]];
  const life = row["made"] === -1 ? t("made before the history") : typeof made === "number" && typeof freed === "number" ? t("lived {time}", { time: duration(freed - made) }) : row["freed"] === high ? t("never freed") : "";
  return (
    <div class="details">
      <p><strong>{quantity(Number(row["bytes"]), "bytes")}</strong> {visible(String(row["category"] ?? ""))}{life ? `${t(", ")}${life}` : ""}{row["module"] ? t(", in {module}", { module: visible(String(row["module"])) }) : ""}</p>
      <Frames rank={rank} stack={Number(row["stack"] ?? -1)} />
    </div>
  );
}

function outline(draw: CanvasRenderingContext2D, area: Area, x: (at: number) => number, y: (bytes: number) => number): void {
  draw.beginPath();
  const ends = [...area.at.slice(1), area.freed];
  area.at.forEach((at, i) => { draw.lineTo(x(at), y(area.low[i]!)); draw.lineTo(x(ends[i]!), y(area.low[i]!)); });
  for (let i = area.at.length - 1; i >= 0; i--) {
    draw.lineTo(x(ends[i]!), y(area.low[i]! + area.bytes));
    draw.lineTo(x(area.at[i]!), y(area.low[i]! + area.bytes));
  }
  draw.closePath();
}

/** Round amounts for the axis. */
function levels(whole: number): number[] {
  const step = 2 ** Math.ceil(Math.log2(Math.max(1, whole) / 6));
  return Array.from({ length: Math.floor(whole / step) + 1 }, (_, i) => i * step);
}
