/** What the server says of the timeline (`stepscope.web.tiles`). Times are ns on the common axis of all ranks. */

import type { Column, Value } from "../data/types";

export type Form = "events" | "shares" | "line";

export interface TrackInfo {
  index: number;
  rank: number;
  section: string;
  label: string;
  form: Form;
  source: string;
  track: number;
  device: number | null;
  part: string;
  events: number;
  process: string;
}

export interface RankInfo {
  rank: number;
  host: string;
  /** What to add to the rank's own times. */
  shift: number;
  first: number;
  last: number;
}

export interface TimelineInfo {
  first: number;
  last: number;
  /** From the first to the last work of any device; null where none is recorded. */
  busy?: [number, number] | null;
  aligned: "clock" | "start";
  tile_bits: number;
  ranks: RankInfo[];
  tracks: TrackInfo[];
  kinds: string[];
  shares: string[];
  /** Lanes of tracks that the server has at hand, by index. */
  lanes?: Record<string, number>;
}

/** An event in brief; `track` and `lane` say where it is drawn. */
export interface Brief {
  rank: number;
  id: number;
  name: string;
  category: string;
  start: number;
  dur: number | null;
  step: number | null;
  track: number | null;
  lane: number | null;
}

export interface Details {
  event: Brief;
  name: string;
  thread: string;
  shift: number;
  facts: { title: string; rows: [string, Value, string][] }[];
  related: (Brief & { what: string })[];
  stack: string[];
}

export interface Flow {
  kind: string;
  source: Brief;
  target: Brief;
}

export interface Flows {
  count: number;
  flows: Flow[];
}

export interface Found {
  count: number;
  names: { name: string; count: number }[];
  found: Brief | null;
}

export interface RangeBudget {
  rank: number;
  from: number;
  to: number;
  devices: { label: string; parts: [string, number][] }[];
}

export interface RangeTable {
  description: string;
  columns: Column[];
  rows: Value[][];
  count: number;
}
