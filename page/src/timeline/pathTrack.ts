/** The critical path over time: what set the steps' length at each moment. */

import { duration } from "../components/format";
import { getJson } from "../data/client";
import { colour } from "../shell/theme";
import type { View } from "./view";
import { t, told } from "../language/t";

export interface PathTrack {
  rank: number;
  labels: [string, string | null][];
  start: number[];
  end: number[];
  label: number[];
  event: number[];
}

const COLOURS: Record<string, string> = {
  kernel: "--compute", communication: "--comm", copy: "--copy", data: "--c1", host: "--c5", launch: "--c6", synchronisation: "--c3",
};

export const getPath = (at: string, rank: number): Promise<PathTrack> => getJson<PathTrack>(`${at}api/timeline/path?rank=${rank}`);

/** Position of the first segment that ends after a time. */
function after({ end }: PathTrack, time: number): number {
  let [low, high] = [0, end.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((end[middle] as number) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function paint(ctx: CanvasRenderingContext2D, path: PathTrack, view: View, width: number, y: number, height: number): void {
  const fills = path.labels.map(([part]) => colour(COLOURS[part] ?? "--idle"));
  for (let i = after(path, view.from); i < path.start.length && (path.start[i] as number) < view.to; i++) {
    const x = Math.max(view.x(path.start[i] as number), 0);
    ctx.fillStyle = fills[path.label[i] as number] ?? "gray";
    ctx.fillRect(x, y, Math.max(Math.min(view.x(path.end[i] as number), width) - x, 0.5), height);
  }
}

/** What is on the path at a moment, in words. */
export function named(path: PathTrack, time: number): string {
  const i = after(path, time);
  if (!((path.start[i] ?? Infinity) <= time)) return "";
  const [part, detail] = path.labels[path.label[i] as number] ?? ["", null];
  return t("{part}, {time} of the critical path", { part: detail ? `${told(part)}: ${told(detail)}` : told(part), time: duration((path.end[i] as number) - (path.start[i] as number)) });
}
