/** Marks on the time axis, in natural units. */

const UNITS: readonly (readonly [number, string])[] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

export interface Tick {
  time: number;
  label: string;
  major: boolean;
}

export interface Ruler {
  /** What labels are added to, where times are too long for them; empty for 0. */
  base: string;
  ticks: Tick[];
}

/** Time between ticks: 1, 2 or 5 times a power of ten, at least 1 ns. */
export function stepFor(perPixel: number, pixels: number): number {
  const least = Math.max(1, perPixel * pixels);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999) ?? 10 * power;
}

export function ruler(from: number, to: number, width: number): Ruler {
  const step = stepFor((to - from) / width, 90);
  const minor = step / 5;
  const [divisor, unit] = UNITS.find(([size]) => step >= size) ?? [1, "ns"];
  // Labels of more than five digits are written as what is added to a base.
  const round = step * 1000;
  const base = Math.max(Math.abs(from), Math.abs(to)) / step >= 20_000 ? Math.floor(from / round) * round : 0;
  const ticks: Tick[] = [];
  for (let i = Math.floor(from / minor); i * minor <= to; i++) {
    const time = i * minor;
    const major = i % 5 === 0;
    const value = (time - base) / divisor;
    ticks.push({ time, major, label: major ? `${base ? "+" : ""}${value.toLocaleString("en-US", { maximumFractionDigits: 3 })} ${unit}` : "" });
  }
  return { base: base ? moment(base) : "", ticks };
}

/** A moment to the ns: `1.234 567 890 s`, without zeros at the end. */
export function moment(ns: number): string {
  const [divisor, unit] = UNITS.find(([size]) => Math.abs(ns) >= size) ?? [1, "ns"];
  const digits = Math.round(Math.log10(divisor));
  const [whole = "0", part = ""] = (Math.abs(ns) / divisor).toFixed(digits).split(".");
  const groups = (part.replace(/0+$/, "").match(/.{1,3}/g) ?? []).join("\u202f");
  const sign = ns < 0 ? "−" : "";
  return `${sign}${Number(whole).toLocaleString("en-US")}${groups ? `.${groups}` : ""} ${unit}`;
}
