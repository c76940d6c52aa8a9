import type { BarsBlock } from "../data/types";
import { BarSplit } from "./BarSplit";
import { duration, percent } from "./format";

export const PARTS = ["compute", "exposed communication", "exposed copy", "idle"] as const;

/** The step budget: a bar per row, and the same in numbers. */
export function Budget({ rows }: { rows: BarsBlock["rows"] }) {
  const used = PARTS.flatMap((name, i) => (rows.some((row) => row.parts[i]) ? [{ name, i }] : []));
  const longest = Math.max(1, ...rows.map((row) => row.total));
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Step budget">
      <table class="grid budget">
        <thead>
          <tr>
            <th scope="col">step</th>
            <th scope="col" class="n">total</th>
            <td />
            {used.map(({ name, i }) => <th scope="col" class="n"><i class={`key p${i}`} />{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              <th scope="row">{row.label}</th>
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
