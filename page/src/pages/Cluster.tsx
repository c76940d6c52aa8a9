import { useSignal } from "@preact/signals";
import { Heat } from "../components/Heat";
import { duration } from "../components/format";
import { ranksOf } from "../components/RankPicker";
import { TablePanel, useTable } from "../components/TablePanel";
import type { Table } from "../data/types";
import type { PageProps } from "./registry";

const MEASURES = {
  total_ns: "Step time", compute_ns: "Compute", exposed_comm_ns: "Exposed communication", exposed_copy_ns: "Exposed copy", idle_ns: "Idle", comm_ns: "Communication",
} as const;

/** All ranks beside each other, step by step. */
export function Cluster({ report }: PageProps) {
  const { table } = useTable("step_budget");
  const measure = useSignal<keyof typeof MEASURES>("total_ns");
  const grid = table ? stepsOf(table, measure.value) : null;
  return (
    <>
      <header class="with"><h1>Ranks</h1>
        <label class="picker">
          Show{" "}
          <select value={measure.value} onChange={(event) => (measure.value = event.currentTarget.value as keyof typeof MEASURES)}>
            {Object.entries(MEASURES).map(([key, label]) => <option value={key}>{label}</option>)}
          </select>
        </label>
      </header>
      <p class="aside">{ranksOf(report).length} ranks. In a job that communicates, all ranks take as long: the late one computes where others wait.</p>
      {grid && grid.steps.length ? (
        <Heat title={`${MEASURES[measure.value]} of ranks by step`} rows={grid.ranks} columns={grid.steps} rowName="rank" columnName="step"
          value={(y, x) => grid.cells.get(`${grid.ranks[y]} ${grid.steps[x]}`) ?? null} write={duration} />
      ) : null}
      <TablePanel name="step_budget" columns={["rank", "device", "number", "role", "total_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns", "comm_ns"]} />
    </>
  );
}

function stepsOf(table: Table, measure: string): { ranks: number[]; steps: (number | string)[]; cells: Map<string, number> } {
  const at = Object.fromEntries(table.columns.map((column, i) => [column.name, i]));
  const cells = new Map<string, number>();
  const [ranks, steps] = [new Set<number>(), new Set<number>()];
  for (const row of table.rows) {
    const step = row[at["number"]!] ?? row[at["step"]!];
    if (typeof step !== "number" || row[at["step"]!] === null) continue;
    const rank = Number(row[at["rank"]!]);
    ranks.add(rank);
    steps.add(step);
    cells.set(`${rank} ${step}`, Math.max(cells.get(`${rank} ${step}`) ?? 0, Number(row[at[measure]!] ?? 0)));
  }
  return { ranks: [...ranks].sort((a, b) => a - b), steps: [...steps].sort((a, b) => a - b), cells };
}
