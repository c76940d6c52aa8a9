import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { colour, dark } from "../shell/theme";
import { duration, quantity } from "./format";
import { t } from "../language/t";

export interface Curve {
  label: string;
  /** One value per point in time; null where there is none. */
  values: (number | null)[];
}

interface CurvesProps {
  title: string;
  /** Points in time, ns, ascending. */
  times: number[];
  curves: Curve[];
  unit: string;
  height?: number;
  /** Position of the point that is marked, and what to do when another is clicked. */
  chosen?: number;
  onChoose?: (position: number) => void;
}

/** Steps of an axis of bytes. */
const POWERS = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** Curves over time; dragging zooms, a double click shows all of it again. */
export function Curves({ title, times, curves, unit, height = 300, chosen, onChoose }: CurvesProps) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | null>(null);
  const marked = useRef(chosen);
  marked.current = chosen;
  const shade = dark.value;
  useEffect(() => {
    const parent = box.current;
    if (!parent) return undefined;
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const write = (_: uPlot, value: number | null) => (value === null ? "–" : quantity(value, unit));
    const plot = new uPlot(
      {
        width: parent.clientWidth,
        height,
        scales: { x: { time: false }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.06 : 1] } },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map((tick) => duration(tick)), space: 90 },
          { ...axis, values: (_, ticks) => ticks.map((tick) => quantity(tick, unit)), size: 80, ...(unit === "bytes" ? { incrs: POWERS } : {}) },
        ],
        series: [
          { label: t("time"), value: (_, value) => (value === null ? "–" : duration(value)) },
          ...curves.map((curve, i) => ({ label: curve.label, stroke: colour(`--c${i % 8}`), width: 1.5, value: write, points: { show: false }, paths: uPlot.paths.stepped!({ align: 1 }) })),
        ],
        cursor: { drag: { x: true, y: false } },
        hooks: { draw: [(own) => mark(own, marked.current === undefined ? undefined : times[marked.current])] },
      },
      [times, ...curves.map((curve) => curve.values)],
      parent,
    );
    drawn.current = plot;
    let pressed = 0;
    plot.over.addEventListener("pointerdown", (event) => (pressed = event.clientX));
    plot.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - pressed) < 4 && typeof plot.cursor.idx === "number") onChoose?.(plot.cursor.idx);
    });
    const sized = new ResizeObserver(() => plot.setSize({ width: parent.clientWidth, height }));
    sized.observe(parent);
    return () => {
      sized.disconnect();
      plot.destroy();
    };
  }, [times, curves, unit, height, shade]);
  useEffect(() => drawn.current?.redraw(false), [chosen]);
  return (
    <figure class="curves">
      <figcaption>{title} <span class="aside">{onChoose ? t("Drag to zoom, double-click for all, click for what was allocated.") : t("Drag to zoom, double-click for all.")}</span></figcaption>
      <div ref={box} />
    </figure>
  );
}

/** A line across the plot at a moment. */
function mark(plot: uPlot, time: number | undefined): void {
  if (time === undefined) return;
  const { ctx, bbox } = plot;
  const x = Math.round(plot.valToPos(time, "x", true)) + 0.5;
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.strokeStyle = colour("--ink");
  ctx.lineWidth = devicePixelRatio || 1;
  ctx.setLineDash([4, 3]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}
