import { useSignal } from "@preact/signals";
import { NONE } from "./format";
import { t } from "../language/t";

interface HeatProps {
  title: string;
  rows: readonly (string | number)[];
  columns: readonly (string | number)[];
  rowName: string;
  columnName: string;
  value: (row: number, column: number) => number | null;
  write: (value: number) => string;
  /** The value without colour; if not given, the least one, but no more than four fifths of the greatest: what hardly
   * differs hardly looks different. */
  from?: number;
  /** Goes where a field leads, by a click or Enter. */
  choose?: (row: number, column: number) => void;
}

const SIZE = 26;
const MARGIN = 64;

/** A value for each pair as a coloured field; the one under the pointer, or chosen by arrow keys, is said below. */
export function Heat({ title, rows, columns, rowName, columnName, value, write, from, choose }: HeatProps) {
  const at = useSignal<[number, number] | null>(null);
  const all = rows.flatMap((_, y) => columns.flatMap((__, x) => value(y, x) ?? []));
  const high = Math.max(...all, 1e-12);
  const low = from ?? Math.min(...all, 0.8 * high);
  const wide = Math.max(10, Math.min(SIZE * 2, Math.floor(1000 / Math.max(1, columns.length))));
  const tall = Math.max(10, Math.min(SIZE, Math.floor(560 / Math.max(1, rows.length))));
  const every = (count: number, size: number, needed: number) => Math.max(1, Math.ceil((needed * Math.min(count, 1e9)) / (count * size)));
  const [skipX, skipY] = [every(columns.length, wide, 34), every(rows.length, tall, 15)];
  const said = (y: number, x: number) => {
    const found = value(y, x);
    return t("{rowName} {row}, {columnName} {column}: {value}", { rowName, row: rows[y], columnName, column: columns[x], value: found === null ? NONE : write(found) });
  };
  const move = (event: KeyboardEvent) => {
    if (event.key === "Enter" && choose && at.value) choose(...at.value);
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const [y, x] = at.value ?? [0, 0];
    at.value = [Math.min(rows.length - 1, Math.max(0, y + step[0]!)), Math.min(columns.length - 1, Math.max(0, x + step[1]!))];
  };
  return (
    <figure class="heat">
      <figcaption>{title}</figcaption>
      <div class="scroll" tabIndex={0} role="group" aria-label={choose ? t("{title}; arrow keys choose a field, Enter goes there", { title }) : t("{title}; arrow keys choose a field", { title })} onKeyDown={move}>
        <svg width={MARGIN + wide * columns.length + 8} height={30 + tall * rows.length} role="img" aria-label={`${title}: ${rows.length} × ${columns.length}`}>
          {columns.map((name, x) => (x % skipX ? null : <text x={MARGIN + wide * (x + 0.5)} y="16" text-anchor="middle">{name}</text>))}
          {rows.map((name, y) => (y % skipY ? null : <text x={MARGIN - 8} y={24 + tall * (y + 0.5) + 4} text-anchor="end">{name}</text>))}
          {rows.map((_, y) =>
            columns.map((__, x) => {
              const found = value(y, x);
              const chosen = at.value?.[0] === y && at.value[1] === x;
              return (
                <rect
                  x={MARGIN + wide * x} y={24 + tall * y} width={wide - 1} height={tall - 1}
                  class={`${found === null ? "none" : ""}${chosen ? " chosen" : ""}`}
                  style={found === null ? {} : { fillOpacity: 0.08 + (0.92 * (found - low)) / (high - low) }}
                  onPointerEnter={() => (at.value = [y, x])}
                  onClick={() => choose?.(y, x)}
                />
              );
            }),
          )}
        </svg>
      </div>
      <p class="aside" aria-live="polite">{at.value ? said(...at.value) : t("{rows} down, {columns} across; the stronger, the more: {low} to {high}", { rows: t("{name}s", { name: rowName }), columns: t("{name}s", { name: columnName }), low: write(low), high: write(high) })}</p>
    </figure>
  );
}
