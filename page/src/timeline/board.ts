/** What the timeline shows and what is chosen in it; components draw it and change it through here. */

import { signal } from "@preact/signals";
import { getJson, offline, Refused } from "../data/client";
import { colour, dark } from "../shell/theme";
import { Palette } from "./palette";
import { getPath, type PathTrack } from "./pathTrack";
import type { FindingPlace } from "./places";
import { pinnedRows, scrolledRows, trackKey, type Choice, type Row } from "./rows";
import { TileStore, type Wanted } from "./store";
import type { Brief, Details, Flow, Flows, TimelineInfo, TrackInfo } from "./types";
import { View } from "./view";
import { toggled } from "./sets";
import { word, t } from "../language/t";

/** A canvas of the timeline: draws itself, and says which tiles it lacks. */
export interface Stage {
  draw: () => Wanted[];
  /** Scroll so that a row is seen, if it is one of this canvas. */
  show: (key: string, lane: number) => boolean;
}

export const FLOW_KINDS = [word("operator to launch"), word("launch to device"), word("forward to backward"), word("other")] as const;

/** The devices work in less of the recording than this: then that part is shown at first. */
const MOSTLY = 0.6;

export class Board {
  readonly view: View;
  readonly store: TileStore;
  readonly stages = new Set<Stage>();
  /** What is drawn after the stages, in the window that they have found. */
  readonly afterwards = new Set<() => void>();
  readonly turned = signal<ReadonlySet<string>>(new Set());
  readonly pinned = signal<ReadonlySet<number>>(new Set());
  readonly hidden = signal<ReadonlySet<number>>(new Set());
  readonly selected = signal<Brief | null>(null);
  readonly details = signal<Details | null>(null);
  readonly range = signal<{ rank: number; from: number; to: number } | null>(null);
  readonly marks = signal<readonly number[]>([]);
  readonly flows = signal<readonly Flow[]>([]);
  /** Kinds of flows that are drawn, and whether all in the window are, or those of the chosen event. */
  readonly flowKinds = signal<ReadonlySet<string>>(new Set(FLOW_KINDS));
  readonly allFlows = signal(false);
  readonly search = signal("");
  readonly error = signal<Refused | null>(null);
  /** What is said where the rest of what is known of the chosen event should be. */
  readonly said = signal("");
  /** Counts whenever the window or the tiles change, at most once per drawn image. */
  readonly moved = signal(0);
  readonly lanes = signal(0);
  readonly bottom = signal<"finding" | "details" | "range" | "events" | "">("");
  /** Places of all findings, the one finding whose places are shaded, and the critical path, if it is shown. */
  readonly places = signal<readonly FindingPlace[]>([]);
  readonly finding = signal<number | null>(null);
  readonly path = signal<PathTrack | null>(null);
  /** The place of the finding that was gone to last. */
  place: FindingPlace | null = null;
  /** Device activities on the critical path. */
  onPath: ReadonlySet<number> | null = null;
  /** Titles of the findings, once the report is there. */
  titles: readonly string[] = [];
  /** Tables that have rows, once the report is there. */
  tables: ReadonlySet<string> = new Set();
  /** x of the pointer on the canvas; null when it is elsewhere. */
  pointer: number | null = null;
  /** A press on a canvas that goes on; `drag.ts` knows what is in it. */
  drag: unknown = null;
  /** What the last image took; for measurements. */
  readonly stats = { drawn: 0, paint: 0 };
  private asked = false;
  private known = 0;
  private later = 0;
  /** Counts choices: an answer about an event that is no longer wanted is dropped. */
  private choices = 0;
  /** What is brought up, until the reader scrolls: the rows above it grow when their tiles come. */
  private sought: { key: string; lane: number } | null = null;
  private colours: { dark: boolean; palette: Palette } | null = null;

  /** Called whenever something is about to be drawn anew. */
  changed: (() => void) | null = null;

  constructor(
    readonly info: TimelineInfo,
    /** What stands before addresses: empty, or the side of a comparison. */
    readonly at = "",
  ) {
    this.view = new View(info.first, info.last);
    this.view.set(...this.home());
    this.store = new TileStore(
      () => this.arrived(),
      (error) => (this.error.value = error instanceof Refused ? error : new Refused(String(error))),
      at,
      info.lanes,
    );
    this.known = this.lanesKnown();
  }

  get palette(): Palette {
    if (this.colours?.dark !== dark.value) this.colours = { dark: dark.value, palette: new Palette(this.info.kinds, this.info.shares, dark.value, colour) };
    return this.colours.palette;
  }

  get choice(): Choice {
    return { turned: this.turned.value, pinned: this.pinned.value, hidden: this.hidden.value };
  }

  /** What is shown at first: everything, or where the devices work, if that is the smaller part of it. */
  home(): [number, number] {
    const { first, last, busy } = this.info;
    if (!busy || busy[1] - busy[0] >= MOSTLY * (last - first)) return this.view.whole();
    const air = 0.02 * (busy[1] - busy[0]);
    return [busy[0] - air, busy[1] + air];
  }

  rows(which: "pinned" | "scrolled"): Row[] {
    const make = which === "pinned" ? pinnedRows : scrolledRows;
    return make(this.info, this.choice, (track) => this.store.lanesOf(track));
  }

  extent(track: TrackInfo): [number, number] {
    const rank = this.info.ranks.find((one) => one.rank === track.rank);
    return rank ? [rank.first, rank.last] : [this.info.first, this.info.last];
  }

  private lanesKnown(): number {
    return this.info.tracks.reduce((sum, track) => sum + (this.store.lanesOf(track.index) ?? 0), 0);
  }

  /** A tile came. While more are on their way, what has come is drawn now and then: an image takes as long as a tile. */
  private arrived(): void {
    if (this.store.pending) this.later ||= setTimeout(() => this.taken(), 60);
    else this.taken();
  }

  private taken(): void {
    clearTimeout(this.later);
    this.later = 0;
    const known = this.lanesKnown();
    if (known !== this.known) {
      this.known = known;
      this.lanes.value++;
    }
    this.redraw();
  }

  /** Draw with the next image. */
  redraw(): void {
    this.changed?.();
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      const wanted: Wanted[] = [];
      Object.assign(this.stats, { drawn: 0, paint: 0 });
      for (const stage of this.stages) wanted.push(...stage.draw());
      for (const draw of this.afterwards) draw();
      this.store.want(wanted);
      this.moved.value++;
    });
  }

  shiftOf(rank: number): number {
    return this.info.ranks.find((one) => one.rank === rank)?.shift ?? 0;
  }

  turn(key: string): void {
    this.turned.value = toggled(this.turned.value, key);
    this.redraw();
  }

  pin(track: number): void {
    this.pinned.value = toggled(this.pinned.value, track);
    this.redraw();
  }

  hide(track: number): void {
    this.hidden.value = toggled(this.hidden.value, track);
    this.redraw();
  }

  showAll(): void {
    this.hidden.value = new Set();
    this.redraw();
  }

  /** Choose an event, by its rank and id, and show what is known of it; what is drawn of it already is shown at once. */
  async choose(rank: number, event: number, how: "stay" | "bring up" | "reveal" | "fit" = "stay", drawn: Brief | null = null): Promise<void> {
    const mine = ++this.choices;
    if (drawn) {
      [this.selected.value, this.details.value, this.flows.value] = [drawn, null, []];
      this.showDetails(event);
      this.said.value = "";
      this.redraw();
    }
    try {
      const found = await getJson<Details>(`${this.at}api/timeline/event?rank=${rank}&event=${event}`);
      if (mine !== this.choices) return;
      this.error.value = null;
      this.details.value = found;
      this.selected.value = found.event;
      this.showDetails(event);
      const { start, dur, track, lane } = found.event;
      if (how === "fit") this.view.fit(start, start + (dur ?? 0), 0.15);
      else if (how === "reveal") this.view.reveal(start, start + (dur ?? 0));
      if (track !== null && how !== "stay") this.bringUp(track, lane ?? 0);
      this.redraw();
      this.allFlows.value = false;
      const flows = await getJson<Flows>(`${this.at}api/timeline/flows?rank=${rank}&event=${event}`);
      if (this.selected.value === found.event) this.flows.value = flows.flows;
      this.redraw();
    } catch (error) {
      if (mine !== this.choices) return;
      if (offline) [this.bottom.value, this.said.value] = ["details", t("This file holds what is drawn of the event and no more; `stepscope view` shows the rest.")];
      else this.error.value = error instanceof Refused ? error : new Refused(String(error));
    }
  }

  findingTitle(finding: number): string {
    return this.titles[finding] ?? "";
  }

  /** Shade the places of a finding, and show its card. */
  showFinding(finding: number): void {
    if (this.finding.value !== finding) this.place = null;
    this.finding.value = finding;
    this.bottom.value = "finding";
    this.redraw();
  }

  leaveFinding(): void {
    [this.finding.value, this.place] = [null, null];
    if (this.bottom.value === "finding") this.bottom.value = "";
    this.redraw();
  }

  /** Go to the next or previous place of the finding, or of the first one. */
  nextPlace(by: 1 | -1): void {
    const finding = this.finding.value ?? this.places.value[0]?.finding;
    const mine = this.places.value.filter((place) => place.finding === finding);
    const at = this.place ? mine.indexOf(this.place) : by > 0 ? -1 : 0;
    const next = mine[(at + by + mine.length) % mine.length];
    if (next) this.goTo(next);
  }

  /** Show what is known of an event, but leave the card of a finding while its places are gone through. */
  private showDetails(event: number): void {
    if (this.bottom.value !== "finding" || this.place?.event !== event) this.bottom.value = "details";
  }

  /** Bring a place of a finding into view, and what is there. */
  goTo(place: FindingPlace): void {
    [this.finding.value, this.place] = [place.finding, place];
    if (place.event !== null) void this.choose(place.rank, place.event, "reveal");
    else {
      const panel = this.bottom.value;
      this.forget();
      this.select(place.rank, place.start, place.end);
      if (panel === "finding") this.bottom.value = panel;
    }
    if (place.end - place.start < 4 * this.view.perPixel) this.view.fit(place.start, place.end, 0.1);
    else this.view.reveal(place.start, place.end);
    this.redraw();
  }

  /** What is chosen may be a place of a finding: then that is what it is about. */
  recognise(): void {
    const { selected, range } = this;
    const same = (one: FindingPlace) =>
      selected.value ? one.event === selected.value.id && one.rank === selected.value.rank
        : range.value !== null && one.rank === range.value.rank && one.start === range.value.from && one.end === range.value.to;
    const found = this.places.peek().filter(same);
    if (!found.length || found.some((one) => one.finding === this.finding.peek() && one === this.place)) return;
    this.place = found.find((one) => one.finding === this.finding.peek()) ?? found[0] ?? null;
    this.finding.value = this.place?.finding ?? null;
    this.redraw();
  }

  /** Show the critical path of a rank, or none. */
  async showPath(rank: number | null): Promise<void> {
    try {
      this.path.value = rank === null ? null : await getPath(this.at, rank);
      this.onPath = this.path.value && new Set(this.path.value.event);
    } catch (error) {
      this.error.value = error instanceof Refused ? error : new Refused(String(error));
    }
    this.redraw();
  }

  /** Unfold, unhide and scroll to a track. */
  bringUp(index: number, lane: number): void {
    const track = this.info.tracks[index];
    if (!track) return;
    if (this.hidden.value.has(index)) this.hide(index);
    for (const key of [`r${track.rank}`, `s${track.rank}:${track.section}`]) {
      const row = this.rows("scrolled").find((one) => one.key === key);
      if (row && !row.open) this.turn(key);
    }
    // The new rows are there before they are scrolled to.
    this.sought = { key: trackKey(index), lane };
    setTimeout(() => this.follow(), 50);
  }

  /** Scroll to what is brought up, wherever its row is by now. */
  follow(): void {
    if (this.sought) for (const stage of this.stages) if (stage.show(this.sought.key, this.sought.lane)) break;
  }

  /** The reader scrolls: what was brought up stays behind. */
  leave(): void {
    this.sought = null;
  }

  /** Choose nothing. */
  forget(): void {
    this.choices++;
    this.selected.value = null;
    this.details.value = null;
    this.flows.value = [];
    this.range.value = null;
    this.bottom.value = "";
  }

  select(rank: number, from: number, to: number): void {
    this.range.value = to > from ? { rank, from: Math.round(from), to: Math.max(Math.round(to), Math.round(from) + 1) } : null;
    if (this.range.value) this.bottom.value = "range";
    this.redraw();
  }

  clear(): void {
    if (this.search.value) this.search.value = "";
    else if (this.range.value) this.range.value = null;
    else this.forget();
    this.redraw();
  }

  mark(time: number): void {
    const near = this.marks.value.find((mark) => Math.abs(mark - time) < 4 * this.view.perPixel);
    this.marks.value = near === undefined ? [...this.marks.value, Math.round(time)].sort((a, b) => a - b) : this.marks.value.filter((mark) => mark !== near);
    this.redraw();
  }

  /** The flows that are drawn. */
  get shownFlows(): Flow[] {
    const kinds = this.flowKinds.value;
    const known = new Set<string>(FLOW_KINDS);
    return this.flows.value.filter((flow) => kinds.has(known.has(flow.kind) ? flow.kind : "other"));
  }
}
