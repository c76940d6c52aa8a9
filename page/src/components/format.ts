/** Values with units as people read them, the same as in the other outputs (`stepscope.model.amounts`). */

import type { Column, Value } from "../data/types";
import { t } from "../language/t";

export const NONE = "–";

type Steps = readonly (readonly [number, string])[];

export const TIME: Steps = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const BINARY: Steps = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const DECIMAL: Steps = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const SCALES: Record<string, readonly [Steps, string]> = {
  ns: [TIME, ""],
  bytes: [BINARY, ""],
  "bytes/s": [DECIMAL, "B/s"],
  FLOP: [DECIMAL, "FLOP"],
  "FLOP/s": [DECIMAL, "FLOP/s"],
};

function grouped(value: number, decimals: number): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** A value in the largest unit that keeps it above 1: `12.3 µs`, `1.23 GiB`. */
export function quantity(value: number | null | undefined, unit: string): string {
  const scale = SCALES[unit];
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (!scale) return grouped(value, Number.isInteger(value) ? 0 : 2);
  const [steps, suffix] = scale;
  const [divisor, label] = steps.find(([least]) => Math.abs(value) >= least) ?? steps[steps.length - 1] ?? [1, ""];
  const scaled = value / divisor;
  const size = Math.abs(scaled);
  return `${grouped(scaled, divisor === 1 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)} ${label}${suffix}`.trimEnd();
}

export const duration = (ns: number | null | undefined): string => quantity(ns, "ns");

/** A share: `12.3 %`. */
export function percent(fraction: number | null | undefined): string {
  return fraction === null || fraction === undefined || !Number.isFinite(fraction) ? NONE : `${grouped(100 * fraction, 1)} %`;
}

/** Characters that do not show, or that turn the direction of text, as escapes. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Cs}/gu,
    (c) => ({ "\n": "\\n", "\t": "\\t", "\r": "\\r" })[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export function isNumeric(column: Column): boolean {
  return column.type !== "string" && column.type !== "bool" && !column.type.endsWith("[]");
}

/** How the values of one column are written: times all in one unit, so that they compare at a glance. */
export interface Scale {
  label: string;
  write: (value: Value) => string;
}

export function scaleOf(column: Column, values: Iterable<Value>): Scale {
  const plain = (value: Value): string => {
    if (value === null) return NONE;
    if (typeof value === "boolean") return value ? t("yes") : t("no");
    if (Array.isArray(value)) return visible(value.join(value.some((one) => typeof one === "string") || column.name.endsWith("ranks") ? ", " : " × "));
    return visible(String(value));
  };
  const numbers = (write: (value: number) => string) => (value: Value) =>
    typeof value === "number" ? write(value) : plain(value);
  if (column.unit === "fraction") return { label: "%", write: numbers((value) => grouped(100 * value, 1)) };
  if (column.unit === "ns") {
    let most = 0;
    for (const value of values) if (typeof value === "number") most = Math.max(most, Math.abs(value));
    const [divisor, label] = TIME.find(([least]) => most >= 10 * least) ?? [1, "ns"];
    const decimals = divisor === 1 ? 0 : most / divisor >= 1000 ? 1 : 2;
    return { label, write: numbers((value) => grouped(value / divisor, decimals)) };
  }
  if (column.unit in SCALES) return { label: "", write: numbers((value) => quantity(value, column.unit)) };
  if (column.unit === "id" || (column.unit === "" && column.type.startsWith("int"))) return { label: "", write: plain };
  let [most, whole] = [0, true];
  for (const value of values) {
    if (typeof value === "number") [most, whole] = [Math.max(most, Math.abs(value)), whole && Number.isInteger(value)];
  }
  const decimals = whole || most >= 10_000 ? 0 : most >= 1000 ? 1 : 2;
  return { label: "", write: numbers((value) => grouped(value, decimals)) };
}

/** The heading of a column without its unit: `self device` for `self_device_ns`. */
export function headingOf(column: Pick<Column, "name">): string {
  return column.name.replace(/_ns$/, "").replaceAll("_", " ");
}
