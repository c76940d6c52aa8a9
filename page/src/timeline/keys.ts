/** Keys of the timeline, as other viewers of traces have them. */

import type { Board } from "./board";
import { t } from "../language/t";

/** How fast W, S, A and D move, per second: factor of zoom, and share of the window. */
const ZOOM = 4;
const PAN = 0.9;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export const KEYS: readonly (readonly [string, string])[] = [
  ["W S, + −, Ctrl + wheel", t("zoom in and out at the pointer")],
  [t("A D, Shift + wheel, Shift + drag"), t("move earlier and later")],
  ["Enter", t("choose the first event in view")],
  ["← → ↑ ↓", t("with an event chosen: the previous, next, outer or inner one; otherwise move")],
  ["F", t("fit the chosen event or range, else everything")],
  ["0", t("everything")],
  [t("drag"), t("select a range; its budget and tables are below")],
  ["M", t("set or remove a mark at the pointer, or at the chosen event")],
  ["/", t("search names; Enter next, Shift + Enter previous")],
  ["N, Shift + N", t("next and previous place of the finding")],
  ["P", t("pin the chosen event's track, or take it down")],
  ["Escape", t("close a list like this, then clear search, range and event")],
  ["?", t("this list")],
];

export interface Actions {
  neighbour: (way: "left" | "right" | "up" | "down") => void;
  first: () => void;
  find: () => void;
  help: () => void;
  /** Close what lies over the tracks; whether anything did. */
  close?: () => boolean;
}

/** Moves the window while a key is held; one step at a time for readers who want no motion. */
export class Held {
  private readonly down = new Map<string, number>();
  private since = 0;

  constructor(private readonly board: Board) {}

  press(key: string): void {
    if (STILL.matches) {
      this.step(key, 0.25);
      this.board.redraw();
      return;
    }
    if (!this.down.size) {
      this.since = performance.now();
      requestAnimationFrame((now) => this.run(now));
    }
    if (!this.down.has(key)) this.down.set(key, performance.now());
  }

  release(key: string): void {
    // A short tap moves noticeably, however short it was.
    const pressed = this.down.get(key);
    if (pressed !== undefined && performance.now() - pressed < 60) this.step(key, 0.08);
    this.down.delete(key);
    this.board.redraw();
  }

  stop(): void {
    this.down.clear();
  }

  private run(now: number): void {
    const seconds = Math.min((now - this.since) / 1000, 0.1);
    this.since = now;
    for (const key of this.down.keys()) this.step(key, seconds);
    this.board.redraw();
    if (this.down.size) requestAnimationFrame((next) => this.run(next));
  }

  private step(key: string, seconds: number): void {
    const { view, pointer } = this.board;
    if (key === "w" || key === "+") view.zoom(ZOOM ** -seconds, pointer ?? undefined);
    else if (key === "s" || key === "-") view.zoom(ZOOM ** seconds, pointer ?? undefined);
    else view.pan(key === "a" || key === "ArrowLeft" ? -PAN * seconds : PAN * seconds);
  }
}

const HELD = new Set(["w", "a", "s", "d", "+", "-"]);

/** Whether a key did something. */
export function pressed(board: Board, held: Held, actions: Actions, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const { selected, range } = board;
  if (HELD.has(key === "=" ? "+" : key)) held.press(key === "=" ? "+" : key);
  else if (key === "ArrowLeft" || key === "ArrowRight") {
    if (selected.value) actions.neighbour(key === "ArrowLeft" ? "left" : "right");
    else held.press(key);
  } else if ((key === "ArrowUp" || key === "ArrowDown") && selected.value) actions.neighbour(key === "ArrowUp" ? "up" : "down");
  else if (key === "Enter") actions.first();
  else if (key === "f") {
    if (range.value) board.view.fit(range.value.from, range.value.to, 0.8);
    else if (selected.value) board.view.fit(selected.value.start, selected.value.start + (selected.value.dur ?? 0));
    else board.view.set(...board.view.whole());
    board.redraw();
  } else if (key === "0") {
    board.view.set(...board.view.whole());
    board.redraw();
  } else if (key === "m") board.mark(board.pointer === null ? (selected.value?.start ?? board.view.time(board.view.width / 2)) : board.view.time(board.pointer));
  else if (key === "p" && selected.value?.track !== null && selected.value) board.pin(selected.value.track as number);
  else if (key === "n") board.nextPlace(event.shiftKey ? -1 : 1);
  else if (key === "/") actions.find();
  else if (key === "?") actions.help();
  else if (key === "Escape") {
    if (!actions.close?.()) board.clear();
  }
  else return false;
  return true;
}
