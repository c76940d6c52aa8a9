import "../timeline/timeline.css";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Failure } from "../components/Failure";
import { duration, visible } from "../components/format";
import { getJson, offline, Refused, sidePage } from "../data/client";
import type { ComparisonHead, SideName } from "../data/types";
import { Axis } from "../timeline/Axis";
import { EventsPanel } from "../timeline/EventsPanel";
import { Held, pressed } from "../timeline/keys";
import { ShareKey } from "../timeline/ShareKey";
import { Stage } from "../timeline/Stage";
import type { TimelineInfo } from "../timeline/types";
import { first, step } from "../timeline/walk";
import { Pair, SideBoard } from "./pair";
import { PairRange } from "./PairRange";
import { t, told, woven } from "../language/t";

const SIDES: readonly SideName[] = ["base", "new"];

/** A step of either side on one time axis, which begins where the step does. */
export function PairTimeline({ sides }: { sides: ComparisonHead["sides"] }) {
  const pair = useSignal<Pair | null>(null);
  const error = useSignal<Refused | null>(null);
  useEffect(() => {
    Promise.all(SIDES.map((side) => getJson<TimelineInfo>(`${side}/api/timeline`))).then(
      (infos) => {
        const [base, made] = SIDES.map((side, i) => new SideBoard(infos[i]!, side, sides[side]));
        const found = new Pair([base!, made!]);
        found.align([sides.base.typical ?? 0, sides.new.typical ?? 0]);
        // For tests, which can't see into a canvas.
        Object.assign(window, { stepscopePair: found });
        pair.value = found;
      },
      (problem) => (error.value = problem instanceof Refused ? problem : new Refused(String(problem))),
    );
  }, []);
  const unit = sides.base.unit === "window" ? t("the recordings, from their starts") : t("a typical step of each, from its start");
  return (
    <section class="part" aria-label={t("Timelines")}>
      <h2>{woven("Timelines {aside}", { aside: <span class="aside">{unit}</span> })}</h2>
      {error.value ? <Failure error={error.value} /> : pair.value ? <Opened pair={pair.value} /> : <p class="aside" aria-busy="true">{t("loading the timelines")}</p>}
    </section>
  );
}

function Opened({ pair }: { pair: Pair }) {
  const [base] = pair.boards;
  const positions = useSignal<[number, number]>([pair.boards[0].about.typical ?? 0, pair.boards[1].about.typical ?? 0]);
  const host = useSignal(false);
  const table = useSignal(false);
  const active = pair.boards.find((board) => board.selected.value) ?? base;
  const held = useRef(new Held(base));
  const zoom = (factor: number) => { base.view.zoom(factor); base.redraw(); };
  useEffect(() => () => held.current.stop(), []);
  const down = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).closest("button, select, a") && event.key !== "Escape") return;
    if (event.key === "0" || event.key === "Escape") { pair.boards.forEach((board) => board.clear()); pair.show(); }
    else if (!pressed(active, held.current, { neighbour: (way) => step(active, way), first: () => first(active), find: () => undefined, help: () => undefined }, event)) return;
    event.preventDefault();
  };
  return (
    <figure class="pair">
      <div class="tools">
        {pair.boards.map((board, i) => board.about.moments.length > 1 ? (
          <label class="picker">
            {told(board.side)}{" "}
            <select value={positions.value[i]} onChange={(event) => {
              positions.value = positions.value.map((one, at) => (at === i ? Number(event.currentTarget.value) : one)) as [number, number];
              pair.align(positions.value);
            }}>
              {board.about.moments.map(([number, from, to], at) => <option value={at}>{woven("step {number}, {length}{typical}", { number, length: duration(to - from), typical: at === board.about.typical ? t(", typical") : "" })}</option>)}
            </select>
          </label>
        ) : null)}
        <span class="grow" />
        <button type="button" aria-pressed={host.value} onClick={() => { host.value = !host.value; for (const board of pair.boards) { board.host = host.value; board.lanes.value++; } }}>{t("Host calls")}</button>
        <button type="button" aria-label={t("Zoom out")} onClick={() => zoom(2)}>−</button>
        <button type="button" aria-label={t("Zoom in")} onClick={() => zoom(0.5)}>+</button>
        <button type="button" onClick={() => pair.show()}>{t("Both steps")}</button>
      </div>
      <div class="pair-box" tabIndex={0} role="group" aria-label={t("Timelines of both sides; W, S, A and D zoom and move, Enter chooses an event")} onKeyDown={down}
        onKeyUp={(event) => held.current.release(event.key.length === 1 ? event.key.toLowerCase() : event.key)} onBlur={() => held.current.stop()}>
        <Axis board={base} />
        {pair.boards.map((board) => <Half key={board.side} board={board} />)}
      </div>
      <ShareKey boards={pair.boards} />
      {pair.boards.map((board) => (board.error.value ? <Failure error={board.error.value} /> : null))}
      <div aria-live="polite">
        {pair.boards.map((board) => <Chosen board={board} />)}
        {base.range.value ? <PairRange pair={pair} range={base.range.value} /> : <p class="aside">{t("Drag to compare a range of time; Ctrl and wheel, or W and S, zoom; Shift and drag, or A and D, move.")}</p>}
      </div>
      <details class="lesser" onToggle={(event) => (table.value = event.currentTarget.open)}>
        <summary>{t("What is drawn, as tables")}</summary>
        {table.value ? pair.boards.map((board) => <><h3>{told(board.side)}</h3><EventsPanel board={board} name={t("events in view, {side}", { side: told(board.side) })} /></>) : null}
      </details>
    </figure>
  );
}

function Half({ board }: { board: SideBoard }) {
  const rows = useMemo(() => board.rows("scrolled"), [board.turned.value, board.lanes.value, board.host]);
  return (
    <div class="half">
      <h3 class="half-name">{told(board.side)}</h3>
      <Stage board={board} rows={rows} which="scrolled" tools={false} label={t("Tracks of the {side} side over time; the tables below have what is drawn", { side: told(board.side) })} />
    </div>
  );
}

function Chosen({ board }: { board: SideBoard }) {
  const event = board.selected.value;
  if (!event) return null;
  return (
    <p>
      {woven("{side}: {name}, {duration}, {start} after the start {link}", { side: <strong>{told(board.side)}</strong>, name: visible(event.name), duration: event.dur === null ? t("no duration") : duration(event.dur), start: duration(event.start - board.view.zero), link: offline ? null : <a href={sidePage(board.side, `#/timeline?rank=${event.rank}&event=${event.id}`)}>{t("in the whole timeline")}</a> })}
    </p>
  );
}
