import "./timeline.css";
import { effect, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Failure } from "../components/Failure";
import { duration } from "../components/format";
import { has } from "../components/TablePanel";
import { getJson, offline, Refused } from "../data/client";
import type { PageProps } from "../pages/registry";
import { keep, place } from "../shell/router";
import { Axis } from "./Axis";
import { Board } from "./board";
import { Bottom } from "./Bottom";
import { Bar } from "./Bar";
import { Held, KEYS, pressed, type Actions } from "./keys";
import { follow, paramsOf } from "./link";
import { getPlaces } from "./places";
import { Stage } from "./Stage";
import { Strip } from "./Strip";
import type { TimelineInfo } from "./types";
import { first, step } from "./walk";
import { t } from "../language/t";

/** Kept while other pages are shown, so that coming back finds everything as it was. */
let kept: Board | null = null;
let asked: Promise<TimelineInfo> | null = null;

/** All events over time: move with W, A, S, D, or the mouse. */
export function Timeline({ params, report }: Pick<PageProps, "params"> & { report?: PageProps["report"] | undefined }) {
  const board = useSignal<Board | null>(null);
  const error = useSignal<Refused | null>(null);
  useEffect(() => {
    if (kept) {
      if (params.size) follow(kept, params);
      board.value = kept;
      return;
    }
    asked ??= getJson<TimelineInfo>(offline ? "api/timeline" : "api/timeline?lanes=1");
    asked.then(
      (info) => {
        const made = kept ?? new Board(info);
        kept = made;
        follow(made, params);
        // For tests and measurements, which can't see into a canvas.
        Object.assign(window, { stepscopeTimeline: made });
        board.value = made;
      },
      (problem) => ((asked = null), (error.value = problem instanceof Refused ? problem : new Refused(String(problem)))),
    );
  }, []);
  if (error.value) return <Failure error={error.value} />;
  if (!board.value) return <p class="aside tl-loading" aria-busy="true">{t("loading the timeline")}</p>;
  return <Opened board={board.value} report={report} />;
}

function Opened({ board, report }: { board: Board; report: PageProps["report"] | undefined }) {
  const find = useRef<HTMLInputElement>(null);
  const help = useSignal(false);
  const main = useRef<HTMLDivElement>(null);
  useLink(board);
  useEffect(() => {
    if (!report) return;
    board.titles = report.findings.map((one) => one.title);
    board.tables = new Set(Object.keys(report.tables).filter((name) => has(report, name)));
    // A file that was saved by an earlier version has none.
    getPlaces().then((places) => ((board.places.value = places), board.recognise()), () => undefined);
  }, [board, report]);
  useEffect(() => effect(() => (void [board.selected.value, board.range.value], board.recognise())), [board]);
  const { turned, pinned: pins, hidden, lanes } = board;
  const parts = [turned.value, pins.value, hidden.value, lanes.value];
  const pinned = useMemo(() => board.rows("pinned"), parts);
  const scrolled = useMemo(() => board.rows("scrolled"), parts);
  useKeys(board, main, {
    neighbour: (way) => step(board, way),
    first: () => first(board),
    find: () => find.current?.focus(),
    help: () => (help.value = !help.value),
    close: () => {
      const shown = help.value;
      help.value = false;
      return shown;
    },
  });
  const chosen = board.selected.value;
  return (
    <div class="tl" data-events={board.info.tracks.length}>
      <h1 class="hidden">{t("Timeline")}</h1>
      <Bar board={board} find={find} help={help} />
      {board.error.value ? <Failure error={board.error.value} /> : null}
      <div class="tl-main" ref={main} tabIndex={0} role="group" aria-label={t("Timeline; press ? for its keys")}>
        <Axis board={board} />
        <Strip board={board} />
        {pinned.length ? <Stage key="pinned" board={board} rows={pinned} which="pinned" /> : null}
        <Stage key="scrolled" board={board} rows={scrolled} which="scrolled" />
        {help.value ? (
          <div class="tl-help">
            <h2>{t("Keys and mouse")}</h2>
            <dl>{KEYS.map(([keys, what]) => [<dt>{keys}</dt>, <dd>{what}</dd>])}</dl>
            <button type="button" onClick={() => (help.value = false)}>{t("Close")}</button>
          </div>
        ) : null}
      </div>
      <Bottom board={board} report={report} />
      <p class="hidden" role="status" aria-live="polite">
        {chosen ? t("{name}, {duration}, rank {rank}, {category}", { name: chosen.name, duration: chosen.dur === null ? t("no duration") : duration(chosen.dur), rank: chosen.rank, category: chosen.category }) : ""}
      </p>
    </div>
  );
}

/** Keeps the address true, and goes where a new address says. */
function useLink(board: Board): void {
  const mine = useRef(location.hash);
  const now = place.value;
  useEffect(() => {
    if (now.page === "timeline" && location.hash !== mine.current) {
      mine.current = location.hash;
      follow(board, now.params);
    }
  }, [now]);
  useEffect(() => {
    let timer = 0;
    const stop = effect(() => {
      void [board.moved.value, board.selected.value, board.range.value];
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (place.peek().page !== "timeline") return;
        keep("timeline", paramsOf(board));
        mine.current = location.hash;
      }, 250);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [board]);
}

function useKeys(board: Board, main: { current: HTMLDivElement | null }, actions: Actions): void {
  useEffect(() => {
    const held = new Held(board);
    const down = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (target.closest("input, select, textarea")) {
        if (event.key === "Escape") main.current?.focus();
        return;
      }
      // Buttons and links keep Enter and Space; tables keep the keys that scroll them.
      if (target.closest("button, a") && (event.key === "Enter" || event.key === " ")) return;
      if (target.closest(".tl-bottom") && event.key.startsWith("Arrow")) return;
      if (pressed(board, held, actions, event)) event.preventDefault();
    };
    const up = (event: KeyboardEvent) => held.release(event.key.length === 1 ? (event.key === "=" ? "+" : event.key.toLowerCase()) : event.key);
    const stop = () => held.stop();
    addEventListener("keydown", down);
    addEventListener("keyup", up);
    addEventListener("blur", stop);
    return () => {
      held.stop();
      removeEventListener("keydown", down);
      removeEventListener("keyup", up);
      removeEventListener("blur", stop);
    };
  }, [board]);
}
