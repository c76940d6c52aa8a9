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
  const { table } = useTable(rows.some((row) => /\d/.test(row.label)) ? "step_budget" : null);
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

/** The place of the step that a bar is of; none for means. */
function stepPlace(table: Table, { label, total }: BarsBlock["rows"][number]): RowPlace | null {
  const at = (name: string) => table.columns.findIndex((column) => column.name === name);
  const [step, shown, ns] = [at("step"), at("number"), at("total_ns")];
  const numbers = label.match(/\d+/g)?.map(Number) ?? [];
  const found = table.rows.find((row) => row[step] !== null && row[ns] === total && numbers.includes(Number(row[shown] ?? row[step])));
  return found ? rowPlace(table.columns, found, { table: "step_budget" }) : null;
}
