import { useSignal } from "@preact/signals";
import { useId, useMemo } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Column, Table, Value } from "../data/types";
import { headingOf, isNumeric, scaleOf, visible, type Scale } from "./format";
import { Breaking, coded, Stack } from "./Words";
import { Go } from "./Go";
import type { RowPlace } from "./rowPlace";
import { copy, download, separated } from "./taking";
import { counted, t, told, woven } from "../language/t";

export interface DataTableProps {
  name: string;
  table: Pick<Table, "columns" | "rows" | "description" | "short">;
  /** Columns to show first asked; the reader may ask for all. Empty or missing: all. */
  columns?: readonly string[];
  /** Column to sort by at first, largest first. */
  sort?: string;
  /** Only rows with these values. */
  where?: Readonly<Record<string, Value>>;
  /** What a cell shows instead of its text, such as a link; undefined for its text. */
  cell?: (column: Column, value: Value, text: string, row: readonly Value[], columns: readonly Column[]) => ComponentChildren | undefined;
  /** Where a row leads; null for a row without a place. */
  place?: (row: readonly Value[]) => RowPlace | null;
  /** Rows shown before the reader asks for more. */
  most?: number;
  /** Columns of times that are written in one unit, so that they compare. */
  alike?: RegExp;
}

/** A table that sorts, filters, explains its columns, and can be copied or downloaded. */
export function DataTable({ name, table, columns, sort, where, cell, place, most = 100, alike }: DataTableProps) {
  const id = useId();
  const label = told(name);
  const every = useSignal(false);
  const by = useSignal({ column: sort ?? "", down: true });
  const filter = useSignal("");
  const limit = useSignal(most);
  const help = useSignal(false);
  const said = useSignal("");
  const matching = useMemo(() => matches(table, where), [table, where]);
  // The chosen rank need not stand in each row.
  const first = columns?.length ? pick(table.columns, columns) : table.columns.filter((column) => column.name !== "rank" || !("rank" in (where ?? {})));
  const chosen = every.value ? table.columns : first.filter((column) => known(matching, at(table, column)));
  const scales = useMemo(() => scalesOf(table.columns, matching, alike), [table, matching]);
  const rows = sorted(filtered(matching, filter.value), table.columns, by.value);
  const shown = rows.slice(0, limit.value);
  const places = place ? shown.map(place) : [];
  const leads = places.some((one) => one !== null);
  const text = () => separated(chosen.map((column) => column.name), rows.map((row) => chosen.map((c) => row[at(table, c)] ?? null)));
  return (
    <section class="table" aria-label={label}>
      <div class="tools">
        <label>
          <span class="hidden">{t("Filter {name}", { name: label })}</span>
          <input type="search" placeholder={t("Filter")} value={filter.value} onInput={(e) => (filter.value = e.currentTarget.value)} />
        </label>
        <span class="aside" role="status">
          {said.value || (rows.length === matching.length ? plural(rows.length) : t("{shown} of {count} rows", { shown: rows.length.toLocaleString("en-US"), count: matching.length.toLocaleString("en-US") }))}
        </span>
        <span class="grow" />
        {every.value || chosen.length < table.columns.length ? (
          <button type="button" aria-pressed={every.value} onClick={() => (every.value = !every.value)}>{t("All columns")}</button>
        ) : null}
        <button type="button" aria-expanded={help.value} aria-controls={`${id}-help`} onClick={() => (help.value = !help.value)}>{t("Columns explained")}</button>
        <button type="button" onClick={() => copy(text()).then((words) => (said.value = words))}>{t("Copy")}</button>
        <button type="button" onClick={() => download(`${name}.csv`, text())}>CSV</button>
      </div>
      <dl class="legend" id={`${id}-help`} hidden={!help.value}>
        {table.description ? [<dt>{t("each row")}</dt>, <dd>{coded(table.description)}</dd>] : null}
        {chosen.map((column) => [<dt>{headingOf(column)}</dt>, <dd>{coded(column.description)}</dd>])}
      </dl>
      <div class="scroll" tabIndex={0} role="group" aria-label={t("{name}, scrollable", { name: label })}>
        <table>
          <thead>
            <tr>{leads ? <td /> : null}{chosen.map((column) => <Head key={column.name} column={column} scale={scales.get(column.name)} by={by} />)}</tr>
          </thead>
          <tbody>
            {shown.map((row, y) => (
              <tr>
                {leads ? <td class="go"><Go place={places[y]} of={visible(String(row[at(table, chosen[0]!)] ?? ""))} /></td> : null}
                {chosen.map((column, i) => {
                  const value = row[at(table, column)] ?? null;
                  const short = NAMED.has(column.name) && typeof value === "string" ? cut(table.short?.[value] ?? value, value) : undefined;
                  const text = short ?? scales.get(column.name)?.write(value) ?? "";
                  const long = typeof value === "string" && text.length > 24;
                  const made = cell?.(column, value, text, row, table.columns);
                  const written = made ?? (isStack(column, value) ? <Stack frames={value as string[]} /> : long ? <Breaking text={text} /> : text);
                  const kind = isNumeric(column) ? "n" : kindOf(short ?? value);
                  return i === 0 && !isNumeric(column)
                    ? <th scope="row" class={kind} title={short === undefined ? undefined : String(value)}>{written}</th>
                    : <td class={kind} title={short === undefined ? undefined : String(value)}>{written}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown.length ? (
        <button type="button" class="more" onClick={() => (limit.value *= 4)}>{woven("Show more ({left} left)", { left: (rows.length - shown.length).toLocaleString("en-US") })}</button>
      ) : null}
    </section>
  );
}

interface Order {
  column: string;
  down: boolean;
}

function Head({ column, scale, by }: { column: Column; scale: Scale | undefined; by: { value: Order } }) {
  const mine = by.value.column === column.name;
  const turn = () => (by.value = { column: column.name, down: mine ? !by.value.down : isNumeric(column) });
  return (
    <th scope="col" class={isNumeric(column) ? "n" : ""} aria-sort={mine ? (by.value.down ? "descending" : "ascending") : undefined}>
      <button type="button" title={column.description} onClick={turn}>
        {headingOf(column)}
        {scale?.label ? <small> {scale.label}</small> : null}
      </button>
    </th>
  );
}

/** Columns whose names may be long, and of how many characters they are shown. */
const NAMED = new Set(["name", "kernel"]);
const LONGEST = 120;

/** What is shown in place of a name; undefined for the name itself. */
function cut(shown: string, whole: string): string | undefined {
  if (shown.length > LONGEST) return `${visible(shown.slice(0, LONGEST - 1))}…`;
  return shown === whole ? undefined : shown;
}

/** Whether a value is the frames of a call stack. */
const isStack = (column: Column, value: Value): boolean => Array.isArray(value) && column.name === "frames";

const plural = (count: number): string => counted(count, "{count} row", "{count} rows");

const at = (table: Pick<Table, "columns">, column: Column): number => table.columns.indexOf(column);

/** Whether a column has a value at all. */
function known(rows: Value[][], i: number): boolean {
  return !rows.length || rows.some((row) => (row[i] ?? null) !== null);
}

function pick(columns: Column[], names: readonly string[]): Column[] {
  return names.flatMap((name) => columns.find((column) => column.name === name) ?? []);
}

function matches(table: Pick<Table, "columns" | "rows">, where?: Readonly<Record<string, Value>>): Value[][] {
  const asked = Object.entries(where ?? {}).map(([name, value]) => [table.columns.findIndex((c) => c.name === name), value] as const);
  return asked.length ? table.rows.filter((row) => asked.every(([i, value]) => row[i] === value)) : table.rows;
}

function scalesOf(columns: Column[], rows: Value[][], alike?: RegExp): Map<string, Scale> {
  const valuesOf = (i: number) => rows.map((row) => row[i] ?? null);
  const shared = columns.flatMap((column, i) => (column.unit === "ns" && alike?.test(column.name) ? valuesOf(i) : []));
  return new Map(columns.map((column, i) => [column.name, scaleOf(column, column.unit === "ns" && alike?.test(column.name) ? shared : valuesOf(i))]));
}

function filtered(rows: Value[][], words: string): Value[][] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return rows;
  return rows.filter((row) => {
    const text = row.filter((value) => typeof value === "string" || Array.isArray(value)).join("\n").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

function sorted(rows: Value[][], columns: Column[], { column, down }: Order): Value[][] {
  const i = columns.findIndex((one) => one.name === column);
  if (i < 0) return rows;
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [a[i] ?? null, b[i] ?? null];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    if (typeof x === "number" && typeof y === "number") return sign * (x - y);
    return sign * String(x).localeCompare(String(y), "en", { numeric: true });
  });
}

function kindOf(value: Value): string {
  const text = Array.isArray(value) ? value.join(" ") : String(value ?? "");
  if (text.length <= 24) return "";
  return (text.match(/ /g)?.length ?? 0) >= text.length / 10 ? "prose" : "long";
}
