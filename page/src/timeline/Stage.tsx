import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { dark } from "../shell/theme";
import type { Board, Stage as Drawn } from "./board";
import { fit } from "./canvas";
import { dragging } from "./drag";
import { briefOf, hitAt, type Hit } from "./hit";
import { Labels } from "./Labels";
import { heightOf, laneBox, type Row } from "./rows";
import { needed, Scene } from "./scene";
import type { Wanted } from "./store";
import { Tip } from "./Tip";
import { t } from "../language/t";

interface StageProps {
  board: Board;
  rows: Row[];
  which: "pinned" | "scrolled";
  /** What a screen reader calls it, where it is not the timeline's. */
  label?: string;
  /** Whether tracks can be pinned and hidden. */
  tools?: boolean;
}

/** Tracks with their names on the left and a canvas on the right that scrolls with them. */
export function Stage({ board, rows, which, label, tools = true }: StageProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const now = useRef(rows);
  now.current = rows;
  const hover = useSignal<{ hit: Hit; x: number; y: number } | null>(null);
  const theme = dark.value;

  useEffect(() => {
    const box = scroller.current;
    const target = canvas.current;
    const ctx = target?.getContext("2d");
    if (!box || !target || !ctx) return;
    const scene = new Scene(board.store, board.info.tile_bits, () => board.redraw());
    const extent: [number, number] = [board.info.first, board.info.last];
    const stage: Drawn = {
      draw(): Wanted[] {
        const width = target.parentElement?.clientWidth ?? 0;
        const height = box.clientHeight;
        if (!width || !height) return [];
        const ratio = fit(target, width, height);
        board.view.width = width;
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        const since = performance.now();
        scene.paint(ctx, now.current, board.view, board.palette, {
          selected: board.selected.value,
          range: board.range.value ? [board.range.value.from, board.range.value.to] : null,
          marks: board.marks.value,
          flows: board.shownFlows,
          pointer: board.pointer,
          lost: board.places.value.filter((one) => one.finding === board.finding.value),
          path: board.onPath,
          search: board.search.value.trim().toLowerCase(),
        }, box.scrollTop, height, extent);
        board.stats.drawn += scene.drawn;
        board.stats.paint += performance.now() - since;
        const [top, bottom] = [box.scrollTop - 100, box.scrollTop + height + 100];
        return now.current
          .filter((row) => row.track && row.y + row.height >= top && row.y <= bottom)
          .flatMap((row) => needed(row, board.view, board.info.tile_bits, ...board.extent(row.track as never)));
      },
      show(key, lane) {
        const row = now.current.find((one) => one.key === key);
        if (!row) return false;
        const [y, height] = laneBox(row, lane);
        if (y < box.scrollTop + 20 || y + height > box.scrollTop + box.clientHeight - 20) box.scrollTop = Math.max(0, y - box.clientHeight / 3);
        board.redraw();
        return true;
      },
    };
    board.stages.add(stage);
    const sized = new ResizeObserver(() => {
      board.follow();
      board.redraw();
    });
    sized.observe(box);
    board.redraw();
    return () => {
      board.stages.delete(stage);
      scene.stop();
      sized.disconnect();
    };
  }, [board]);
  useEffect(() => board.follow(), [rows]);
  useEffect(() => board.redraw(), [rows, theme]);

  const at = (event: PointerEvent | MouseEvent): Hit | null => {
    const target = canvas.current;
    const box = scroller.current;
    if (!target || !box) return null;
    const { left, top } = target.getBoundingClientRect();
    const extent: [number, number] = [board.info.first, board.info.last];
    return hitAt(now.current, board.store, board.view, board.info.tile_bits, extent, event.clientX - left, event.clientY - top + box.scrollTop);
  };
  const click = (event: PointerEvent) => {
    const hit = at(event);
    const track = hit?.row.track;
    if (!hit || !track) {
      board.clear();
      return;
    }
    if (track.source === "steps") board.select(track.rank, hit.start, hit.start + hit.span);
    else if (hit.form === "event") void board.choose(track.rank, hit.event, "stay", briefOf(hit, track, board.info.kinds));
    else if (hit.form === "run") {
      board.view.fit(hit.start, hit.start + hit.span, 0.3);
      board.redraw();
    } else if (hit.form === "shares") board.select(track.rank, hit.start, hit.start + hit.span);
  };
  const pointers = dragging(board, canvas, (y) => {
    const row = now.current.find((one) => y >= one.y && y < one.y + one.height);
    return row?.track?.rank ?? board.info.ranks[0]?.rank ?? 0;
  }, () => scroller.current?.scrollTop ?? 0, click);

  return (
    <div class={`tl-scroll ${which}`} ref={scroller} onScroll={() => board.redraw()} onWheel={() => board.leave()} onPointerDown={() => board.leave()} onKeyDown={() => board.leave()}>
      <div class="tl-body" style={{ height: `${heightOf(rows)}px` }}>
        <Labels board={board} rows={rows} tools={tools} />
        <div class="tl-stage">
          <canvas
            ref={canvas}
            class="tl-canvas"
            role="img"
            aria-label={label ?? (which === "pinned" ? t("Pinned tracks") : t("Tracks over time; the tab Events in view lists what is drawn"))}
            {...pointers}
            onPointerMove={(event) => {
              pointers.onPointerMove(event);
              const hit = event.buttons ? null : at(event);
              const { left, top } = event.currentTarget.getBoundingClientRect();
              hover.value = hit && { hit, x: event.clientX - left, y: event.clientY - top };
            }}
            onPointerLeave={() => {
              hover.value = null;
              board.pointer = null;
              board.redraw();
            }}
          />
        </div>
      </div>
      {hover.value ? <Tip board={board} {...hover.value} /> : null}
    </div>
  );
}
