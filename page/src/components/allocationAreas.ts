/** Stacks allocations over time: each is an area as tall as its bytes, and sinks when one below it is freed. */

export interface Area {
  /** Row of the answer. */
  i: number;
  made: number;
  freed: number;
  bytes: number;
  /** Positions in the history at which its lower edge changes, and the edge from there on, in bytes. */
  at: number[];
  low: number[];
}

/** The areas of allocations that live from `made` to `freed`, and the greatest height. */
export function areasOf(spans: readonly { made: number; freed: number; bytes: number }[]): { areas: Area[]; top: number } {
  const areas = spans.map((span, i): Area => ({ ...span, i, at: [], low: [] }));
  const changes = areas
    .flatMap((area) => [{ at: area.made, area, starts: true }, { at: area.freed, area, starts: false }])
    .sort((a, b) => a.at - b.at || Number(a.starts) - Number(b.starts));
  const living: Area[] = [];
  let [height, top] = [0, 0];
  for (const { at, area, starts } of changes) {
    if (starts) {
      area.at.push(at);
      area.low.push(height);
      living.push(area);
      height += area.bytes;
      top = Math.max(top, height);
      continue;
    }
    const place = living.indexOf(area);
    if (place < 0) continue;
    living.splice(place, 1);
    height -= area.bytes;
    for (const above of living.slice(place)) {
      above.at.push(at);
      above.low.push(above.low[above.low.length - 1]! - area.bytes);
    }
  }
  return { areas, top };
}

/** The lower edge of an area at a position, or null where it does not live. */
export function lowAt(area: Area, at: number): number | null {
  if (at < area.made || at >= area.freed) return null;
  let [from, to] = [0, area.at.length - 1];
  while (from < to) {
    const middle = (from + to + 1) >> 1;
    if (area.at[middle]! <= at) from = middle;
    else to = middle - 1;
  }
  return area.low[from] ?? null;
}
