import { useEffect, useRef } from "preact/hooks";
import { duration } from "../components/format";
import { dark } from "../shell/theme";
import type { Board } from "./board";
import { fit } from "./canvas";
import { moment, ruler } from "./ruler";
import { FONT } from "./scene";
import { t } from "../language/t";

const HEIGHT = 40;
/** Height of the bar that shows where the window is in the whole. */
const BAR = 8;

/** The time axis, with the window's place in the whole above it; drag the bar to move. */
export function Axis({ board }: { board: Board }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const span = useRef<HTMLElement>(null);
  const from = useRef<HTMLSpanElement>(null);
  const { view, info } = board;
  const theme = dark.value;
  useEffect(() => {
    const target = canvas.current;
    const ctx = target?.getContext("2d");
    if (!target || !ctx) return undefined;
    // Drawn with the tracks, not by its component: a window that moves makes no elements anew.
    const axis = () => {
      const width = target.parentElement?.clientWidth ?? 0;
      if (!width) return;
      const ratio = fit(target, width, HEIGHT);
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(ctx, board, width);
      const rank = board.selected.value?.rank ?? info.ranks[0]?.rank ?? 0;
      write(span.current, duration(view.to - view.from));
      write(from.current, t("from {from}", { from: moment(Math.round(view.from - (view.zero || board.shiftOf(rank)))) }));
    };
    board.afterwards.add(axis);
    board.redraw();
    return () => void board.afterwards.delete(axis);
  }, [board, theme]);
  const bar = (event: PointerEvent) => {
    if (!(event.buttons & 1)) return;
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [first, last] = view.whole();
    const at = first + ((event.clientX - left) / width) * (last - first);
    const span = view.to - view.from;
    view.set(at - span / 2, at + span / 2);
    board.redraw();
  };
  return (
    <div class="tl-axis">
      <div class="tl-corner">
        <strong ref={span} />
        <span ref={from} class="aside" title={t("Start of the window")} />
      </div>
      <div>
        <canvas ref={canvas} aria-hidden="true" onPointerDown={bar} onPointerMove={bar} />
      </div>
    </div>
  );
}

function write(element: HTMLElement | null, text: string): void {
  if (element && element.textContent !== text) element.textContent = text;
}

function draw(ctx: CanvasRenderingContext2D, board: Board, width: number): void {
  const { view, palette } = board;
  const [first, last] = view.whole();
  const scale = width / (last - first);
  ctx.clearRect(0, 0, width, HEIGHT);
  ctx.fillStyle = palette.raise;
  ctx.fillRect(0, 0, width, BAR);
  ctx.fillStyle = palette.soft;
  ctx.fillRect((view.from - first) * scale, 0, Math.max((view.to - view.from) * scale, 4), BAR);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  const { base, ticks } = ruler(view.from - view.zero, view.to - view.zero, width);
  ctx.fillStyle = palette.soft;
  for (const tick of ticks) {
    const x = Math.round(view.x(tick.time + view.zero));
    ctx.fillRect(x, tick.major ? HEIGHT - 12 : HEIGHT - 5, 1, 12);
    if (tick.major && x < width - 60) ctx.fillText(tick.label, x + 4, HEIGHT - 8);
  }
  if (base) ctx.fillText(base, 4, BAR + 9);
  const marks = board.marks.value;
  ctx.fillStyle = palette.ink;
  marks.forEach((mark, i) => {
    const x = view.x(mark);
    ctx.beginPath();
    ctx.moveTo(x - 4, BAR + 2);
    ctx.lineTo(x + 5, BAR + 2);
    ctx.lineTo(x + 0.5, BAR + 9);
    ctx.fill();
    const next = marks[i + 1];
    if (next !== undefined) {
      const text = duration(next - mark);
      const middle = (x + view.x(next)) / 2;
      if (view.x(next) - x > ctx.measureText(text).width + 16) ctx.fillText(text, middle - ctx.measureText(text).width / 2, BAR + 7);
    }
  });
}
