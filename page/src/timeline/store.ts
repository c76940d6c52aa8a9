/** Tiles that are needed, fetched a few at a time and kept while there is room. */

import { getBytes, offline } from "../data/client";
import { decode, keyOf, type Tile } from "./tiles";

/** Bytes of tiles that are kept. */
const ROOM = 96 << 20;
/** Requests at a time, and tracks in one. */
const AT_ONCE = 4;
const TOGETHER = 24;

export interface Wanted {
  track: number;
  level: number;
  tile: number;
  /** When it is its turn where the server has yet to make it: what is quick and tells most comes first. */
  turn: number;
}

/** From this turn on, tracks take the server long to make: they wait until hardly anything quicker is on its way. */
export const SLOW = 3;

interface Asking {
  keys: string[];
  turn: number;
  abort: AbortController;
}

export class TileStore {
  private readonly kept = new Map<string, Tile>();
  private readonly failed = new Set<string>();
  /** Tracks whose first tile came: the server has them at hand. */
  private readonly warm = new Set<number>();
  private readonly lanes = new Map<number, number>();
  private asking: Asking[] = [];
  private wanted: Wanted[] = [];
  private bytes = 0;
  /** Counts what comes and goes: what is drawn from it may be another then. */
  version = 0;
  /** How long replies took, ms; for measurements. */
  readonly latencies: number[] = [];

  constructor(
    private readonly arrived: () => void,
    private readonly problem: (error: unknown) => void,
    /** What stands before addresses. */
    private readonly at = "",
    /** Lanes of tracks that the server has at hand. */
    known: Readonly<Record<string, number>> = {},
  ) {
    for (const [track, lanes] of Object.entries(known)) {
      this.warm.add(Number(track));
      this.lanes.set(Number(track), lanes);
    }
  }

  get(track: number, level: number, tile: number): Tile | undefined {
    const key = keyOf(track, level, tile);
    const found = this.kept.get(key);
    if (found) {
      this.kept.delete(key);
      this.kept.set(key, found);
    }
    return found;
  }

  /** Lanes of a track, once they are known. */
  lanesOf(track: number): number | undefined {
    return this.lanes.get(track);
  }

  /** What the tiles of a track of shares have, of those that are kept. */
  labelsOf(track: number): Set<number> {
    const found = new Set<number>();
    for (const tile of this.kept.values()) if (tile.track === track) for (const label of tile.columns.keys()) found.add(Number(label));
    return found;
  }

  get pending(): number {
    return this.asking.length + this.wanted.length;
  }

  /** Whether anything quick is on its way. */
  get hurries(): boolean {
    return [...this.asking, ...this.wanted].some((one) => one.turn < SLOW);
  }

  /** Tracks of which nothing has come yet. */
  get missing(): number {
    return new Set([...this.asking.flatMap((one) => one.keys.map((key) => Number(key.split("/")[0]))), ...this.wanted.map((one) => one.track)].filter((track) => !this.warm.has(track))).size;
  }

  /** Fetch these, and stop fetching what is no longer among them. */
  want(tiles: Wanted[]): void {
    const keys = new Set(tiles.map((one) => keyOf(one.track, one.level, one.tile)));
    for (const one of this.asking) if (!one.keys.some((key) => keys.has(key))) one.abort.abort();
    const busy = new Set(this.asking.flatMap((one) => (one.abort.signal.aborted ? [] : one.keys)));
    this.wanted = tiles.filter((one) => {
      const key = keyOf(one.track, one.level, one.tile);
      return !this.kept.has(key) && !busy.has(key) && !this.failed.has(key);
    });
    // What the server has at hand comes at once, in the order of the rows; what it has yet to make in turn.
    const turn = (one: Wanted) => (this.ready(one) ? -1 : one.turn);
    this.wanted.sort((a, b) => turn(a) - turn(b));
    this.next();
  }

  /** Whether the server has it at hand. */
  private ready(one: Wanted): boolean {
    return this.warm.has(one.track) && !(one.turn >= SLOW && !this.lanes.has(one.track));
  }

  private next(): void {
    while (this.asking.length < AT_ONCE && this.wanted.length) {
      const first = this.wanted[0] as Wanted;
      const turn = (one: Wanted) => (this.ready(one) ? -1 : one.turn);
      const slow = turn(first) >= SLOW;
      // One slow track beside quick ones: the server has a core for each.
      if (!offline && slow && this.asking.some((one) => one.turn < SLOW) && this.asking.some((one) => one.turn >= SLOW)) return;
      const together = offline || slow
        ? [first]
        : this.wanted
            .filter((one) => one.level === first.level && one.tile === first.tile && turn(one) === turn(first))
            .slice(0, TOGETHER);
      this.wanted = this.wanted.filter((one) => !together.includes(one));
      void this.ask(first.level, first.tile, turn(first), together.map((one) => one.track));
    }
  }

  private async ask(level: number, tile: number, turn: number, tracks: number[]): Promise<void> {
    const mine: Asking = { keys: tracks.map((track) => keyOf(track, level, tile)), turn, abort: new AbortController() };
    this.asking.push(mine);
    const since = performance.now();
    try {
      const reply = await getBytes(`${this.at}api/timeline/tiles?level=${level}&tile=${tile}&tracks=${tracks.join(",")}`, mine.abort.signal);
      this.latencies.push(performance.now() - since);
      for (const one of decode(reply)) this.keep(one);
    } catch (error) {
      if (!mine.abort.signal.aborted) {
        for (const key of mine.keys) this.failed.add(key);
        this.problem(error);
      }
    }
    this.asking = this.asking.filter((one) => one !== mine);
    this.next();
    this.arrived();
  }

  private keep(tile: Tile): void {
    this.version++;
    this.warm.add(tile.track);
    if (tile.form === "events") this.lanes.set(tile.track, tile.lanes);
    this.kept.set(keyOf(tile.track, tile.level, tile.tile), tile);
    this.bytes += tile.bytes;
    for (const [key, one] of this.kept) {
      if (this.bytes <= ROOM) break;
      this.kept.delete(key);
      this.bytes -= one.bytes;
    }
  }
}
