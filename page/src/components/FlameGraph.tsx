import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { colour, dark } from "../shell/theme";
import { Go } from "./Go";
import type { RowPlace } from "./rowPlace";
import { duration, percent, visible } from "./format";
import { t } from "../language/t";

export interface Frames {
  names: string[];
  /** Names in full of those that are shown without their parameters. */
  whole?: Record<string, string>;
  name: number[];
  parent: number[];
  self_ns: number[];
  total_ns: number[];
  /** When each was first there, in the rank's own time; files that were saved before have none. */
  first_ns?: number[];
}

interface Placed {
  depth: number[];
  left: number[];
  children: number[][];
  whole: number;
  deepest: number;
}

const ROW = 20;

/** Stacks, outermost above: widths are times. A click or Enter fills the width with a frame; Escape shows all again. */
export function FlameGraph({ frames, title, order = "name", place: placeOf }: { frames: Frames; title: string; order?: Order; place: (name: string) => RowPlace | null }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useSignal(1000);
  const root = useSignal(-1);
  const chosen = useSignal(-1);
  const words = useSignal("");
  const placed = useMemo(() => place(frames, order), [frames, order]);
  const shade = dark.value;
  const [from, span] = root.value < 0 ? [0, placed.whole] : [placed.left[root.value]!, frames.total_ns[root.value]!];
  const boxes = () =>
    frames.name.flatMap((_, i) => {
      const x = ((placed.left[i]! - from) / span) * width.value;
      const w = (frames.total_ns[i]! / span) * width.value;
      return x + w <= 0 || x >= width.value || w < 0.4 ? [] : [{ i, x: Math.max(0, x), w: Math.min(width.value, x + w) - Math.max(0, x), y: placed.depth[i]! * ROW }];
    });
  useEffect(() => {
    const own = canvas.current;
    const parent = own?.parentElement;
    if (!own || !parent) return undefined;
    const sized = new ResizeObserver(() => (width.value = Math.max(200, parent.clientWidth)));
    sized.observe(parent);
    return () => sized.disconnect();
  }, []);
  useEffect(() => {
    const own = canvas.current;
    const draw = own?.getContext("2d");
    if (!own || !draw) return;
    const scale = devicePixelRatio || 1;
    const height = (placed.deepest + 1) * ROW;
    own.width = width.value * scale;
    own.height = height * scale;
    own.style.width = `${width.value}px`;
    own.style.height = `${height}px`;
    draw.scale(scale, scale);
    draw.font = "12px system-ui, sans-serif";
    draw.textBaseline = "middle";
    const [ink, back, accent] = [colour("--ink"), colour("--back"), colour("--accent")];
    const wanted = words.value.toLowerCase();
    for (const { i, x, w, y } of boxes()) {
      const name = visible(frames.names[frames.name[i]!] ?? "");
      const hit = wanted && name.toLowerCase().includes(wanted);
      draw.fillStyle = hit ? accent : tint(name, shade);
      draw.fillRect(x, y, Math.max(0.5, w - 1), ROW - 1);
      if (i === chosen.value) {
        draw.strokeStyle = ink;
        draw.lineWidth = 2;
        draw.strokeRect(x + 1, y + 1, Math.max(1, w - 3), ROW - 3);
      }
      if (w > 30) {
        draw.fillStyle = hit ? back : ink;
        draw.fillText(fitted(draw, name, w - 8), x + 4, y + ROW / 2);
      }
    }
  }, [frames, order, width.value, root.value, chosen.value, words.value, shade]);
  const at = (event: MouseEvent) => boxes().find(({ x, w, y }) => event.offsetX >= x && event.offsetX < x + w && event.offsetY >= y && event.offsetY < y + ROW)?.i ?? -1;
  const move = (event: KeyboardEvent) => {
    const i = chosen.value;
    const siblings = placed.children[(i < 0 ? -1 : frames.parent[i]!) + 1] ?? [];
    const next = {
      ArrowDown: placed.children[i + 1]?.[0], ArrowUp: i < 0 ? undefined : frames.parent[i]!,
      ArrowRight: siblings[siblings.indexOf(i) + 1], ArrowLeft: siblings[siblings.indexOf(i) - 1],
    }[event.key];
    if (event.key === "Enter") root.value = i;
    else if (event.key === "Escape") root.value = -1;
    else if (next === undefined) return;
    else chosen.value = next;
    event.preventDefault();
  };
  const said = chosen.value < 0 ? t("All: {whole}", { whole: duration(placed.whole) }) : t("{name}: {total} in all ({share}), {self} itself", { name: visible(frames.names[frames.name[chosen.value]!] ?? ""), total: duration(frames.total_ns[chosen.value]), share: percent(frames.total_ns[chosen.value]! / placed.whole), self: duration(frames.self_ns[chosen.value]) });
  return (
    <figure class="flame">
      <div class="tools">
        <label><span class="hidden">{t("Find a frame")}</span><input type="search" placeholder={t("Find a frame")} value={words.value} onInput={(event) => (words.value = event.currentTarget.value)} /></label>
        <button type="button" disabled={root.value < 0} onClick={() => (root.value = -1)}>{t("Show all")}</button>
        <span class="aside" aria-live="polite">{said}</span>
        {chosen.value < 0 ? null : <Go place={placeOf(frames.names[frames.name[chosen.value]!] ?? "")} of={visible(frames.names[frames.name[chosen.value]!] ?? "")} />}
      </div>
      <div class="canvas">
        <canvas ref={canvas} tabIndex={0} role="img" aria-label={t("{title}; arrow keys go from frame to frame, Enter enlarges, Escape shows all; the table below has the same", { title })}
          onPointerMove={(event) => { const i = at(event); if (i >= 0) chosen.value = i; }}
          onClick={(event) => (root.value = at(event))} onKeyDown={move} />
      </div>
    </figure>
  );
}

/** How siblings are ordered: by name, so that like graphs look alike, by what takes most, or by when they were first there. */
export type Order = "name" | "time" | "size";

/** Depth and left edge of each frame. */
function place(frames: Frames, order: Order): Placed {
  const children: number[][] = Array.from({ length: frames.name.length + 1 }, () => []);
  frames.parent.forEach((parent, i) => children[parent + 1]!.push(i));
  const named = (a: number, b: number) => frames.names[frames.name[a]!]!.localeCompare(frames.names[frames.name[b]!]!);
  const { first_ns: first, total_ns: total } = frames;
  const by = order === "time" && first ? (a: number, b: number) => first[a]! - first[b]! : order === "size" ? (a: number, b: number) => total[b]! - total[a]! : named;
  for (const list of children) list.sort((a, b) => by(a, b) || named(a, b));
  const depth: number[] = Array(frames.name.length).fill(0);
  const left: number[] = Array(frames.name.length).fill(0);
  let deepest = 0;
  const waiting: [number, number, number][] = [[-1, 0, -1]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [parent, start, level] = next;
    let x = start;
    for (const i of children[parent + 1]!) {
      depth[i] = level + 1;
      left[i] = x;
      deepest = Math.max(deepest, level + 1);
      waiting.push([i, x, level + 1]);
      x += frames.total_ns[i]!;
    }
  }
  const whole = children[0]!.reduce((sum, i) => sum + frames.total_ns[i]!, 0) || 1;
  return { depth, left, children, whole, deepest };
}

function tint(name: string, shade: boolean): string {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0;
  return `hsl(${20 + (Math.abs(hash) % 34)} ${shade ? "42% 32%" : "78% 82%"})`;
}

function fitted(draw: CanvasRenderingContext2D, text: string, width: number): string {
  if (draw.measureText(text).width <= width) return text;
  const most = Math.max(0, Math.floor((text.length * width) / draw.measureText(text).width) - 1);
  return most > 1 ? `${text.slice(0, most)}…` : "";
}
