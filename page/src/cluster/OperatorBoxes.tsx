import { duration, visible } from "../components/format";
import { TablePanel, useTable } from "../components/TablePanel";
import { Go } from "../components/Go";
import { rowPlace } from "../components/rowPlace";
import type { Table } from "../data/types";
import { t } from "../language/t";

/** Kernels that are drawn: those that take longest. */
const MOST = 12;
const WIDTH = 300;
const HEIGHT = 18;

/** The same kernel on all ranks: how the ranks' mean durations are spread, and which rank is slowest. */
export function OperatorBoxes() {
  const { table } = useTable("operator_ranks");
  return (
    <>
      <p class="prose">{t("Mean duration of a kernel on each rank: from the quickest rank to the slowest, the box from the first quartile to the third, the line the median. Each kernel has a scale of its own, from 0 on.")}</p>
      {table ? <Drawn table={table} /> : null}
      <TablePanel name="operator_ranks" columns={["name", "ranks", "count", "total_ns", "variance", "low_ns", "q1_ns", "median_ns", "q3_ns", "high_ns", "slowest_rank", "slowest_ratio", "by_variance"]} />
    </>
  );
}

/** A kernel's name without what most names share, cut where it is long. */
function brief(name: string): string {
  const rest = name.replace(/^void /, "").replaceAll("at::native::", "");
  return rest.length > 60 ? `${rest.slice(0, 59)}…` : rest;
}

function Drawn({ table }: { table: Table }) {
  const at = Object.fromEntries(table.columns.map((column, i) => [column.name, i]));
  const rows = table.rows.slice(0, MOST);
  const number = (row: Table["rows"][number], name: string) => Number(row[at[name]!] ?? 0);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={t("Kernels over ranks")}>
      <table class="grid">
        <thead>
          <tr><th scope="col">{t("kernel")}</th><th scope="col">{t("ranks' means")}</th><th scope="col" class="n">{t("median")}</th><th scope="col" class="n">{t("slowest")}</th><th scope="col" class="n">{t("on rank")}</th></tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const name = visible(String(row[at["name"]!]));
            const [low, q1, middle, q3, high] = ["low_ns", "q1_ns", "median_ns", "q3_ns", "high_ns"].map((one) => number(row, one)) as [number, number, number, number, number];
            const place = (value: number) => (WIDTH * value) / Math.max(1, high);
            const words = t("{low} to {high}, median {middle}", { low: duration(low), high: duration(high), middle: duration(middle) });
            return (
              <tr>
                <th scope="row" title={name}>{brief(name)}<Go place={rowPlace(table.columns, row, { table: "operator_ranks" })} of={brief(name)} /></th>
                <td>
                  <svg width={WIDTH} height={HEIGHT} role="img" aria-label={words} stroke="currentColor" fill="none">
                    <path d={`M${place(low)},${HEIGHT / 2}H${place(high)}`} />
                    <rect x={place(q1)} y="3" width={Math.max(1, place(q3) - place(q1))} height={HEIGHT - 6} fill="currentColor" fill-opacity="0.25" />
                    <path stroke-width="2" d={`M${place(middle)},3V${HEIGHT - 3}`} />
                  </svg>
                </td>
                <td class="n">{duration(middle)}</td>
                <td class="n">{duration(high)}</td>
                <td class="n">{String(row[at["slowest_rank"]!])}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
