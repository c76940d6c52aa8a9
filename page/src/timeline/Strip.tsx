import { useEffect, useRef } from "preact/hooks";
import { dark } from "../shell/theme";
import type { Board } from "./board";
import { fit } from "./canvas";
import { placeWords } from "./places";
import { named, paint } from "./pathTrack";
import { t } from "../language/t";

const ROW = 17;
/** Findings that have a row of their own: those that are worth most. */
const MOST = 4;

/** Rows above the tracks: where each finding is, and the critical path. */
export function Strip({ board }: { board: Board }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chosen = board.finding.value;
  const places = board.places.value;
  const path = board.path.value;
  const all = [...new Set(places.map((place) => place.finding))];
  const first = all.slice(0, MOST);
  const rows = chosen !== null && all.includes(chosen) && !first.includes(chosen) ? [...first.slice(0, MOST - 1), chosen] : first;
  const height = ROW * (rows.length + (path ? 1 : 0));
  const theme = dark.value;
  useEffect(() => {
    const target = canvas.current;
    const ctx = target?.getContext("2d");
    if (!target || !ctx || !height) return undefined;
    const draw = () => {
      const width = target.parentElement?.clientWidth ?? 0;
      if (!width) return;
      const ratio = fit(target, width, height);
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      ctx.clearRect(0, 0, width, height);
      rows.forEach((finding, at) => {
        ctx.fillStyle = finding === board.finding.value ? board.palette.bad : board.palette.warn;
        for (const place of places) {
          if (place.finding !== finding) continue;
          const x = board.view.x(place.start);
          const to = Math.max(board.view.x(place.end), x + 3);
          if (to < 0 || x > width) continue;
          ctx.globalAlpha = place === board.place ? 1 : 0.6;
          ctx.fillRect(Math.max(x, -2), at * ROW + 3, Math.min(to, width + 2) - Math.max(x, -2), ROW - 6);
        }
      });
      ctx.globalAlpha = 1;
      if (path) paint(ctx, path, board.view, width, rows.length * ROW + 2, ROW - 4);
    };
    board.afterwards.add(draw);
    board.redraw();
    return () => void board.afterwards.delete(draw);
  }, [board, places, path, height, rows.join(), theme]);
  if (!height) return null;
  const at = (event: MouseEvent): { row: number; time: number } => {
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return { row: Math.floor((event.clientY - top) / ROW), time: board.view.time(event.clientX - left) };
  };
  const near = (finding: number | undefined, time: number) => {
    const away = (one: { start: number; end: number }) => Math.max(one.start - time, time - one.end, 0);
    const mine = places.filter((one) => one.finding === finding).sort((a, b) => away(a) - away(b))[0];
    return mine && away(mine) <= 5 * board.view.perPixel ? mine : undefined;
  };
  return (
    <div class="tl-strip" style={{ height: `${height}px` }}>
      <ul aria-label={t("Findings in the timeline")}>
        {rows.map((finding) => (
          <li>
            <button type="button" aria-pressed={finding === chosen} title={board.findingTitle(finding)} onClick={() => board.showFinding(finding)}>
              {finding + 1}. {board.findingTitle(finding)}
            </button>
          </li>
        ))}
        {path ? <li class="aside">{board.info.ranks.length > 1 ? t("critical path, rank {rank}", { rank: path.rank }) : t("critical path")}</li> : null}
      </ul>
      <div>
        <canvas
          ref={canvas}
          role="img"
          aria-label={t("Places of findings; the panel below leads through them")}
          onMouseMove={(event) => {
            const { row, time } = at(event);
            const place = near(rows[row], time);
            event.currentTarget.title = place ? placeWords(place) : row === rows.length && path ? named(path, time) : "";
          }}
          onClick={(event) => {
            const { row, time } = at(event);
            const place = near(rows[row], time);
            if (place) board.goTo(place);
          }}
        />
      </div>
    </div>
  );
}
