import type { BarsBlock, Table } from "../data/types";
import { BarSplit } from "./BarSplit";
import { duration, percent } from "./format";
import { Go } from "./Go";
import { rowPlace, type RowPlace } from "./rowPlace";
import { useTable } from "./TablePanel";
import { t } from "../language/t";

export const PARTS = [t("compute"), t("exposed communication"), t("exposed copy"), t("idle")] as const;

/** The step budget: a bar per row, and the same in numbers. */
export function Budget({ rows }: { rows: BarsBlock["rows"] }) {
  const used = PARTS.flatMap((name, i) => (rows.some((row) => row.parts[i]) ? [{ name, i }] : []));
  const longest = Math.max(1, ...rows.map((row) => row.total));
  const { table } = useTable(rows.some((row) => row.rank !== null) ? "step_budget" : null);
  const placeOf = (row: BarsBlock["rows"][number]) => (table ? stepPlace(table, row) : null);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={t("Step budget")}>
      <table class="grid budget">
        <thead>
          <tr>
            <th scope="col">{t("step")}</th>
            <th scope="col" class="n">{t("total")}</th>
            <td />
            {used.map(({ name, i }) => <th scope="col" class="n"><i class={`key p${i}`} />{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              <th scope="row">{row.label}<Go place={placeOf(row)} of={row.label} /></th>
              <td class="n">{duration(row.total)}</td>
              <td><BarSplit parts={row.parts} names={PARTS} longest={longest} /></td>
              {used.map(({ i }) => <td class="n">{percent(row.total ? (row.parts[i] ?? 0) / row.total : 0)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The place of the step that a bar is of, or of the rank that has several; none for means of ranks. */
function stepPlace(table: Table, { rank, step, total }: BarsBlock["rows"][number]): RowPlace | null {
  if (rank === null) return null;
  const at = (name: string) => table.columns.findIndex((column) => column.name === name);
  const mine = table.rows.filter((row) => row[at("rank")] === rank);
  const found = mine.find((row) => row[at("step")] === step && row[at("total_ns")] === total);
  if (found) return rowPlace(table.columns, found, { table: "step_budget" });
  return mine[0] ? rowPlace([table.columns[at("rank")]!], [rank], { table: "ranks" }) : null;
}
