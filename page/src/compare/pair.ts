/** Two boards that move together: their windows are as far from the start of either one's step. */

import { Board } from "../timeline/board";
import { placed, trackRow, type Row } from "../timeline/rows";
import type { TimelineInfo, TrackInfo } from "../timeline/types";
import type { Side, SideName } from "../data/types";

/** Device queues that are shown, those with the most events. */
const QUEUES = 3;
/** What is seen beyond the longer step on either side, as a share of it. */
const MARGIN = 0.03;

/** What is drawn of one side: the devices' time, its queues, and the host's calls of the thread that launches most. */
export class SideBoard extends Board {
  host = false;
  readonly shift: number;

  constructor(
    info: TimelineInfo,
    readonly side: SideName,
    readonly about: Side,
  ) {
    super(info, `${side}/`);
    this.shift = this.shiftOf(about.rank);
  }

  override rows(which: "pinned" | "scrolled"): Row[] {
    return which === "pinned" ? [] : placed(this.shown().map((track) => trackRow(track, 1, this.choice, (index) => this.store.lanesOf(index), "")));
  }

  private shown(): TrackInfo[] {
    const mine = this.info.tracks.filter((track) => track.rank === this.about.rank);
    const queues = mine.filter((track) => track.source === "queue").sort((a, b) => b.events - a.events).slice(0, QUEUES);
    const layer = (part: string) => mine.find((track) => track.source === "thread" && track.part === part) ?? [];
    const tracks = [mine.filter((track) => track.source === "time"), queues, queues.length && !this.host ? [] : layer("framework"), this.host ? layer("api") : []];
    return tracks.flat();
  }

  /** Move the axis to the start of a step. */
  align(position: number): void {
    const [, from, to] = this.about.moments[position]!;
    this.view.zero = from + this.shift;
    this.marks.value = [from + this.shift, to + this.shift];
  }
}

export class Pair {
  private window: [number, number] = [0, 1];
  private pointer: number | null = null;
  private range: [number, number] | null = null;
  private busy = false;

  constructor(readonly boards: readonly [SideBoard, SideBoard]) {
    for (const board of boards) board.changed = () => this.follow(board);
  }

  /** Lay these steps of either side beside each other, and show both whole. */
  align(positions: readonly [number, number]): void {
    this.boards.forEach((board, i) => board.align(positions[i]!));
    const first = Math.min(...this.boards.map(({ info, view }) => info.first - view.zero));
    const last = Math.max(...this.boards.map(({ info, view }) => info.last - view.zero));
    for (const { view } of this.boards) [view.first, view.last] = [first + view.zero, last + view.zero];
    this.show();
  }

  /** Show both steps. */
  show(): void {
    const longest = Math.max(...this.boards.map((board) => board.marks.value[1]! - board.marks.value[0]!));
    const [board] = this.boards;
    board.view.set(board.view.zero - MARGIN * longest, board.view.zero + (1 + MARGIN) * longest);
    board.range.value = null;
    board.redraw();
  }

  /** Make the other board show what this one does. */
  private follow(leader: SideBoard): void {
    if (this.busy) return;
    const zero = leader.view.zero;
    const range = leader.range.value;
    const now: [number, number] = [leader.view.from - zero, leader.view.to - zero];
    const chosen: [number, number] | null = range && [range.from - zero, range.to - zero];
    const same = now[0] === this.window[0] && now[1] === this.window[1] && leader.pointer === this.pointer && String(chosen) === String(this.range);
    if (same) return;
    [this.window, this.pointer, this.range] = [now, leader.pointer, chosen];
    this.busy = true;
    for (const board of this.boards) {
      if (board === leader) continue;
      const { view } = board;
      [view.from, view.to, board.pointer] = [now[0] + view.zero, now[1] + view.zero, leader.pointer];
      board.range.value = chosen && { rank: board.about.rank, from: Math.round(chosen[0] + view.zero), to: Math.round(chosen[1] + view.zero) };
      board.redraw();
    }
    this.busy = false;
  }
}
