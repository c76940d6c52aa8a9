import { BarSplit } from "../components/BarSplit";
import { Share } from "../components/Blocks";
import { PARTS } from "../components/Budget";
import { duration, NONE } from "../components/format";
import { TablePanel, useTable } from "../components/TablePanel";
import { Go } from "../components/Go";
import { rowPlace } from "../components/rowPlace";
import type { Table } from "../data/types";
import { t, told, woven } from "../language/t";

/** Ranks that are drawn, those that others wait for most. */
const MOST = 40;

/** Who makes the others wait, how long, and what is different there. */
export function SlowRanks() {
  const { table } = useTable("slow_ranks");
  return (
    <>
      <p class="prose">{t("The rank on which a collective takes least came last to it: the others wait for it. All times are of the mean typical step.")}</p>
      {table ? <Drawn table={table} /> : null}
      <TablePanel name="slow_ranks" columns={["rank", "host", "slow", "reason", "caused_ns", "last", "collectives", "waited_ns", "step_ns", "compute_ns", "compute_ratio", "idle_ns", "idle_excess"]} />
    </>
  );
}

function Drawn({ table }: { table: Table }) {
  const at = Object.fromEntries(table.columns.map((column, i) => [column.name, i]));
  const number = (row: Table["rows"][number], name: string) => Number(row[at[name]!] ?? 0);
  const rows = table.rows.slice(0, MOST);
  const most = Math.max(1, ...table.rows.map((row) => number(row, "caused_ns")));
  const longest = Math.max(1, ...table.rows.map((row) => number(row, "step_ns")));
  const hosts = table.rows.some((row) => row[at["host"]!] !== null);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={t("Slow ranks")}>
      <table class="grid slow">
        <thead>
          <tr>
            <th scope="col">{t("rank")}</th>{hosts ? <th scope="col">{t("host")}</th> : null}<th scope="col">{t("slow")}</th><th scope="col" class="n">{t("others wait")}</th><td />
            <th scope="col" class="n">{t("it waits")}</th><th scope="col" class="n">{t("computing")}</th>
            <th scope="col">{woven("step: {parts}", { parts: PARTS.map((name, i) => <span class="part-key"><i class={`key p${i}`} />{name}</span>) })}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const slow = row[at["slow"]!] === true;
            const ratio = row[at["compute_ratio"]!];
            return (
              <tr>
                <th scope="row">{String(row[at["rank"]!])}<Go place={rowPlace(table.columns, row, { table: "slow_ranks" })} of={t("rank {rank}", { rank: row[at["rank"]!] })} /></th>
                {hosts ? <td>{String(row[at["host"]!] ?? NONE)}</td> : null}
                <td>{slow ? <span class="longer">{told(String(row[at["reason"]!] ?? t("yes")))}</span> : t("no")}</td>
                <td class="n">{duration(row[at["caused_ns"]!] as number | null)}</td>
                <td><Share value={number(row, "caused_ns") / most} /></td>
                <td class="n">{duration(row[at["waited_ns"]!] as number | null)}</td>
                <td class="n">{typeof ratio === "number" ? t("{ratio} × median", { ratio: ratio.toFixed(2) }) : NONE}</td>
                <td><BarSplit parts={["compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns"].map((name) => number(row, name))} names={PARTS} longest={longest} /></td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
