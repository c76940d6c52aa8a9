/** Cells of tables of differences: a sign before what is longer, and what became of a finding. */

import type { ComponentChildren } from "preact";
import { offline, sidePage } from "../data/client";
import type { Column, Value } from "../data/types";

/** Columns that compare. */
export const BESIDE = /^(base|new|diff)_/;

/** Share of its time by which a part varies at least. */
export const LEAST = 0.01;

/** A difference with its sign; coloured where it is no noise. */
export function signed(column: Column, value: Value, text: string, row: readonly Value[], columns: readonly Column[]): ComponentChildren | undefined {
  if (!column.name.startsWith("diff") || typeof value !== "number" || !value) return undefined;
  const of = (name: string) => row[columns.findIndex((one) => one.name === name)] ?? null;
  const larger = Math.max(...["base", "new"].map((side) => Number(of(column.name.replace("diff", side)))));
  const real = of("sure") ?? Math.abs(value) > LEAST * larger;
  return <span class={real ? (value > 0 ? "longer" : "shorter") : ""}>{value > 0 ? `+${text}` : text}</span>;
}

/** A finding's change, and the way to where it is explained. */
export function change(column: Column, value: Value, text: string, row: readonly Value[], columns: readonly Column[]): ComponentChildren | undefined {
  if (column.name === "change") return <span class={`change ${text}`}>{text}</span>;
  if (column.name === "title" && !offline) return <a href={sidePage(row[0] === "gone" ? "base" : "new", "#/overview")}>{text}</a>;
  return signed(column, value, text, row, columns);
}
