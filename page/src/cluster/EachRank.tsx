import { DataTable } from "../components/DataTable";
import { rowPlace } from "../components/rowPlace";
import { has, useTable } from "../components/TablePanel";
import type { Column, Report, Table, Value } from "../data/types";
import { href } from "../shell/router";
import { t } from "../language/t";

const of = (table: Table | null, row: readonly Value[], name: string): Value => row[table?.columns.findIndex((one) => one.name === name) ?? -1] ?? null;
/** What is said of a rank's mean step, from `slow_ranks`. */
const TIMES = ["step_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns", "waited_ns", "caused_ns"];

/** Each rank as one row: where it runs, its place in every kind of group, what its step is made of, and whether it is slow. */
export function EachRank({ report }: { report: Report }) {
  const { table: slow } = useTable(has(report, "slow_ranks") ? "slow_ranks" : null);
  const { table: groups } = useTable(has(report, "parallel_groups") ? "parallel_groups" : null);
  const kinds = [...new Set((groups?.rows ?? []).map((row) => String(of(groups, row, "parallelism"))))].filter((kind) => kind !== "world");
  const ranks = [...new Set(report.source.map((one) => one.rank))].sort((a, b) => a - b);
  const known = (name: string): Column[] => slow?.columns.filter((one) => one.name === name) ?? [];
  const columns: Column[] = [
    { name: "rank", type: "int32", unit: "id", description: t("Rank.") },
    { name: "host", type: "string", unit: "", description: t("Where it runs.") },
    ...kinds.map((kind): Column => ({ name: kind, type: "string", unit: "", description: t("Its group of this kind of parallelism: the ranks of it.") })),
    ...known("slow"), ...known("reason"), ...TIMES.flatMap(known),
  ];
  const rows = ranks.map((rank): Value[] => {
    const mine = slow?.rows.find((row) => of(slow, row, "rank") === rank) ?? [];
    const group = (kind: string) => {
      const found = groups?.rows.filter((row) => of(groups, row, "parallelism") === kind && (of(groups, row, "ranks") as number[] | null)?.includes(rank)) ?? [];
      return [...new Set(found.map((row) => listed(of(groups, row, "ranks") as number[])))].join("; ") || null;
    };
    return [rank, report.source.find((one) => one.rank === rank)?.host ?? null, ...kinds.map(group), ...columns.slice(2 + kinds.length).map((column) => of(slow, mine, column.name))];
  });
  const cell = (column: Column, value: Value, text: string) => (kinds.includes(column.name) && value !== null ? <a href={href("cluster", { tab: "groups" })}>{text}</a> : undefined);
  return <DataTable name="ranks" table={{ columns, rows, description: t("A rank of the job; times are of its mean typical step.") }} alike={/_ns$/} cell={cell} place={(row) => rowPlace(columns, row, { table: "ranks" })} />;
}

/** Ranks in short: `0 to 7` where they follow each other, `0, 8, … 56` where they are as far apart. */
function listed(ranks: number[]): string {
  const apart = ranks.length > 2 ? ranks[1]! - ranks[0]! : 0;
  const even = apart > 0 && ranks.every((one, i) => i === 0 || one - ranks[i - 1]! === apart);
  if (even) return apart === 1 ? t("{first} to {last}", { first: ranks[0], last: ranks[ranks.length - 1] }) : `${ranks[0]}, ${ranks[1]}, … ${ranks[ranks.length - 1]}`;
  return ranks.length > 6 ? t("{some} and {left} more", { some: ranks.slice(0, 6).join(", "), left: ranks.length - 6 }) : ranks.join(", ");
}
