import { useSignal } from "@preact/signals";
import { EachRank } from "../cluster/EachRank";
import { OperatorBoxes } from "../cluster/OperatorBoxes";
import { Pipeline, pipelinesOf } from "../cluster/Pipeline";
import { SlowLinks } from "../cluster/SlowLinks";
import { SlowRanks } from "../cluster/SlowRanks";
import { Heat } from "../components/Heat";
import { duration } from "../components/format";
import { ranksOf } from "../components/RankPicker";
import { has, TablePanel, useTable } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import { Prose } from "../components/Words";
import type { Table } from "../data/types";
import { href } from "../shell/router";
import type { PageProps } from "./registry";
import { t, woven } from "../language/t";

const MEASURES = {
  total_ns: t("Step time"), compute_ns: t("Compute"), exposed_comm_ns: t("Exposed communication"), exposed_copy_ns: t("Exposed copy"), idle_ns: t("Idle"), comm_ns: t("Communication"),
} as const;

/** All ranks beside each other: step by step, who is slow, which links are, and the stages of a pipeline. */
export function Cluster({ report, params }: PageProps) {
  const ranks = ranksOf(report);
  const groups = useTable(has(report, "parallel_groups") ? "parallel_groups" : null);
  const pipelines = pipelinesOf(groups.table, ranks);
  return (
    <>
      <h1>{t("Ranks")}</h1>
      <Tabs
        page="cluster" params={params}
        tabs={[
          { id: "steps", title: t("Steps"), show: () => <StepsOfRanks ranks={ranks.length} /> },
          { id: "each", title: t("Each rank"), show: () => <EachRank report={report} /> },
          has(report, "slow_ranks") ? { id: "slow", title: t("Slow ranks"), show: () => <SlowRanks /> } : null,
          has(report, "cluster_critical_path") ? { id: "path", title: t("Critical path"), show: () => <CriticalPath about={report.tables["cluster_critical_path"]?.description} /> } : null,
          has(report, "communication_ranks") ? { id: "collectives", title: t("Collectives"), show: () => <><Prose text={report.tables["communication_ranks"]?.description} /><TablePanel name="communication_ranks" /></> } : null,
          has(report, "operator_ranks") ? { id: "kernels", title: t("Kernels"), show: () => <OperatorBoxes /> } : null,
          has(report, "slow_links") ? { id: "links", title: t("Slow links"), show: () => <SlowLinks /> } : null,
          pipelines.length ? { id: "pipeline", title: t("Pipeline"), show: () => <Pipeline pipelines={pipelines} /> } : null,
          has(report, "parallel_groups") ? { id: "groups", title: t("Groups"), show: () => <><Prose text={report.tables["parallel_groups"]?.description} /><TablePanel name="parallel_groups" />{has(report, "group_steps") ? <><h2>{t("By step")}</h2><Prose text={report.tables["group_steps"]?.description} /><TablePanel name="group_steps" /></> : null}</> } : null,
          has(report, "clock_offsets") ? { id: "clocks", title: t("Clocks"), show: () => <><Prose text={report.tables["clock_offsets"]?.description} /><TablePanel name="clock_offsets" /></> } : null,
        ]}
      />
    </>
  );
}

function CriticalPath({ about }: { about: string | undefined }) {
  return (
    <>
      <Prose text={about} />
      <TablePanel name="cluster_critical_path" columns={["start_ns", "total_ns", "share", "rank", "part", "detail", "part_ns", "collective", "from_rank", "waited_ns", "name", "step"]} />
    </>
  );
}

function StepsOfRanks({ ranks }: { ranks: number }) {
  const { table } = useTable("step_budget");
  const measure = useSignal<keyof typeof MEASURES>("total_ns");
  const grid = table ? stepsOf(table, measure.value) : null;
  return (
    <>
      <label class="picker">{t("Show")}{" "}
        <select value={measure.value} onChange={(event) => (measure.value = event.currentTarget.value as keyof typeof MEASURES)}>
          {Object.entries(MEASURES).map(([key, label]) => <option value={key}>{label}</option>)}
        </select>
      </label>
      <p class="aside">{woven("{ranks} ranks. In a job that communicates, all ranks take as long: the late one computes where others wait.", { ranks })}</p>
      {grid && grid.steps.length ? (
        <Heat title={t("{measure} of ranks by step", { measure: MEASURES[measure.value] })} rows={grid.ranks} columns={grid.steps} rowName={t("rank")} columnName={t("step")}
          value={(y, x) => grid.cells.get(`${grid.ranks[y]} ${grid.steps[x]}`) ?? null} write={duration}
          choose={(y, x) => { const { rank, step } = grid.of.get(`${grid.ranks[y]} ${grid.steps[x]}`) ?? {}; if (step !== undefined) location.hash = href("timeline", { rank, step }); }} />
      ) : null}
      <TablePanel name="step_budget" columns={["rank", "device", "number", "role", "total_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns", "comm_ns"]} />
    </>
  );
}

function stepsOf(table: Table, measure: string): { ranks: number[]; steps: (number | string)[]; cells: Map<string, number>; of: Map<string, { rank: number; step: number }> } {
  const at = Object.fromEntries(table.columns.map((column, i) => [column.name, i]));
  const cells = new Map<string, number>();
  const of = new Map<string, { rank: number; step: number }>();
  const [ranks, steps] = [new Set<number>(), new Set<number>()];
  for (const row of table.rows) {
    const step = row[at["number"]!] ?? row[at["step"]!];
    if (typeof step !== "number" || row[at["step"]!] === null) continue;
    const rank = Number(row[at["rank"]!]);
    ranks.add(rank);
    steps.add(step);
    of.set(`${rank} ${step}`, { rank, step: Number(row[at["step"]!]) });
    cells.set(`${rank} ${step}`, Math.max(cells.get(`${rank} ${step}`) ?? 0, Number(row[at[measure]!] ?? 0)));
  }
  return { ranks: [...ranks].sort((a, b) => a - b), steps: [...steps].sort((a, b) => a - b), cells, of };
}
