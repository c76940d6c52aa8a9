/** A waterfall: where each part of a difference begins and ends, so that the last ends where the new step does. */

import { word } from "../language/t";

export interface Fall {
  name: string;
  base: number;
  made: number;
  /** Where the sum is before and after it, in ns. */
  from: number;
  to: number;
  /** Whether it is a detail of the part above it. */
  inner: boolean;
}

interface Part {
  name: string;
  base_ns: number;
  new_ns: number;
}

/** Parts of less than this share of both steps are gathered. */
const LEAST = 0.0005;
/** A part is split further where it differs by at least this share of the longer step. */
const TOLD = 0.005;
/** The axis begins at 0, unless all differences together take less of it than this. */
const SEEN = 0.25;

/** `idle.data_wait` as `idle: data wait`. */
export function wordsOf(name: string): string {
  const [head = "", ...tail] = name.split(".");
  return (head === "idle" && tail.length ? `idle: ${tail.join(".")}` : name).replaceAll("_", " ");
}

/** The parts one after the other, with their details, and the extent of the axis in ns. */
export function fallOf(
  parts: readonly Part[],
  details: ReadonlyMap<string, readonly { name: string; base: number; made: number }[]>,
): { falls: Fall[]; from: number; to: number } {
  const [base, made] = [parts.reduce((sum, one) => sum + one.base_ns, 0), parts.reduce((sum, one) => sum + one.new_ns, 0)];
  const least = LEAST * Math.max(base, made);
  const falls: Fall[] = [];
  let at = base;
  const small = { base: 0, made: 0 };
  for (const part of parts) {
    if (Math.max(part.base_ns, part.new_ns) < least) {
      small.base += part.base_ns;
      small.made += part.new_ns;
      continue;
    }
    const diff = part.new_ns - part.base_ns;
    falls.push({ name: wordsOf(part.name), base: part.base_ns, made: part.new_ns, from: at, to: at + diff, inner: false });
    const inner = details.get(part.name) ?? [];
    let within = at;
    for (const one of inner.length > 1 && Math.abs(diff) >= TOLD * Math.max(base, made) ? inner : []) {
      falls.push({ ...one, from: within, to: within + one.made - one.base, inner: true });
      within += one.made - one.base;
    }
    at += diff;
  }
  if (small.base || small.made) falls.push({ name: word("all others"), ...small, from: at, to: at + small.made - small.base, inner: false });
  const all = [base, made, ...falls.flatMap((fall) => [fall.from, fall.to])];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const span = high - low || high * 0.02 || 1;
  return { falls, from: span < SEEN * high ? Math.max(0, low - span) : 0, to: high + 0.02 * span };
}
