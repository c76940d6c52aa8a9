/** Which rows are shown, and where: ranks, sections and tracks, pinned ones first. */

import type { TimelineInfo, TrackInfo } from "./types";
import { t } from "../language/t";
import { named } from "./naming";

export const LANE = 17;
/** Height of a lane of a track that is shown small. */
export const SMALL = 5;
const HEAD = 22;
const SUMMARY = 26;
const HEIGHTS = { shares: 40, line: 40 } as const;
const GAP = 4;
/** Tracks with more lanes are shown small at first. */
const MANY_LANES = 8;
/** Counters beyond these are folded at first. */
const MANY_COUNTERS = 6;

export interface Row {
  key: string;
  form: "rank" | "section" | "track";
  label: string;
  /** The track that is drawn; of a folded rank its device's time. */
  track: TrackInfo | null;
  level: number;
  y: number;
  height: number;
  open: boolean;
  small: boolean;
}

export interface Choice {
  /** Keys that are folded or unfolded against what they are at first. */
  turned: ReadonlySet<string>;
  pinned: ReadonlySet<number>;
  hidden: ReadonlySet<number>;
}

export const trackKey = (index: number): string => `t${index}`;

export function pinnedRows(info: TimelineInfo, choice: Choice, lanesOf: (track: number) => number | undefined): Row[] {
  const rows: Row[] = [];
  for (const track of info.tracks) {
    if (choice.pinned.has(track.index)) rows.push(trackRow(track, 1, choice, lanesOf, info.ranks.length > 1 ? `${t("rank {rank}", { rank: track.rank })} · ${named(track.section)} · ` : `${named(track.section)} · `));
  }
  return placed(rows);
}

export function scrolledRows(info: TimelineInfo, choice: Choice, lanesOf: (track: number) => number | undefined): Row[] {
  const rows: Row[] = [];
  const many = info.ranks.length > 1;
  for (const rank of info.ranks) {
    const tracks = info.tracks.filter((track) => track.rank === rank.rank && !choice.hidden.has(track.index));
    if (many) {
      const key = `r${rank.rank}`;
      // The first rank is open; of the others the devices' time says whether they are worth it.
      const open = (rank === info.ranks[0]) !== choice.turned.has(key);
      const time = tracks.find((track) => track.form === "shares") ?? null;
      const label = `${t("rank {rank}", { rank: rank.rank })}${rank.host ? ` · ${rank.host}` : ""}`;
      rows.push({ key, form: "rank", label, track: open ? null : time, level: 1, y: 0, height: open ? HEAD : SUMMARY, open, small: false });
      if (!open) continue;
    }
    let section = "";
    let shown = true;
    for (const track of tracks) {
      if (track.section !== section) {
        section = track.section;
        const key = `s${rank.rank}:${section}`;
        const mine = tracks.filter((one) => one.section === section);
        const folded = section === "System" || (section === "Counters" && mine.length > MANY_COUNTERS);
        shown = folded === choice.turned.has(key);
        const label = `${named(section)} (${mine.length})`;
        rows.push({ key, form: "section", label, track: null, level: many ? 2 : 1, y: 0, height: HEAD, open: shown, small: false });
      }
      if (shown && !choice.pinned.has(track.index)) rows.push(trackRow(track, many ? 3 : 2, choice, lanesOf, ""));
    }
  }
  return placed(rows);
}

export function trackRow(track: TrackInfo, level: number, choice: Choice, lanesOf: (track: number) => number | undefined, before: string): Row {
  const key = trackKey(track.index);
  const lanes = lanesOf(track.index) ?? 1;
  const small = track.form === "events" && (lanes > MANY_LANES) !== choice.turned.has(key);
  const height = track.form === "events" ? Math.max(lanes * (small ? SMALL : LANE), LANE) + GAP : HEIGHTS[track.form];
  return { key, form: "track", label: before + named(track.label), track, level, y: 0, height, open: !small, small };
}

/** Rows below each other. */
export function placed(rows: Row[]): Row[] {
  let y = 0;
  for (const row of rows) {
    row.y = y;
    y += row.height;
  }
  return rows;
}

export const heightOf = (rows: readonly Row[]): number => {
  const last = rows[rows.length - 1];
  return last ? last.y + last.height : 0;
};

/** Top of a lane in its row, and its height. */
export function laneBox(row: Row, lane: number): [number, number] {
  const height = row.small ? SMALL : LANE;
  return [row.y + 2 + lane * height, height - 1];
}
