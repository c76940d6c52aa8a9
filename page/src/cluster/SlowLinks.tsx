import { percent, quantity, visible } from "../components/format";
import { TablePanel, useTable } from "../components/TablePanel";
import { Go } from "../components/Go";
import { rowPlace } from "../components/rowPlace";
import type { Table } from "../data/types";
import { t, woven } from "../language/t";

/** Links that are drawn, the slowest of their like. */
const MOST = 40;
/** Below this share of the usual bandwidth a link may be slow. */
const SLOW = 0.8;

/** Bandwidth of each link beside that of its like. */
export function SlowLinks() {
  const { table } = useTable("slow_links");
  return (
    <>
      <p class="prose">{woven("Bandwidth between pairs of ranks, or within a group of them, as a share of what is usual among its like: the same kind of link, or groups as large. The mark is at {share}.", { share: percent(SLOW) })}</p>
      {table ? <Drawn table={table} /> : null}
      <TablePanel name="slow_links" columns={["between", "ranks", "transport", "collective", "slow", "bandwidth", "usual", "ratio", "like", "bytes", "transfer_ns"]} />
    </>
  );
}

function Drawn({ table }: { table: Table }) {
  const at = Object.fromEntries(table.columns.map((column, i) => [column.name, i]));
  const rows = table.rows.slice(0, MOST);
  const widest = Math.max(1, ...rows.map((row) => Number(row[at["ratio"]!] ?? 0)));
  const x = (ratio: number) => (100 * ratio) / widest;
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={t("Slow links")}>
      <table class="grid slow">
        <thead>
          <tr>
            <th scope="col">{t("link")}</th><th scope="col">{t("kind")}</th><th scope="col">{t("slow")}</th><th scope="col" class="n">{t("bandwidth")}</th>
            <th scope="col" class="n">{t("usual")}</th><th scope="col" class="n">{t("of usual")}</th><td />
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const slow = row[at["slow"]!] === true;
            const ratio = Number(row[at["ratio"]!] ?? 0);
            const ranks = row[at["ranks"]!];
            const kind = [row[at["transport"]!], row[at["collective"]!]].filter((one) => one !== null).map((one) => visible(String(one)));
            if (row[at["between"]!] !== "pair") kind.push(quantity(row[at["bytes"]!] as number | null, "bytes"));
            return (
              <tr>
                <th scope="row">{row[at["between"]!] === "pair" && Array.isArray(ranks) ? ranks.join(" → ") : t("ranks {ranks}", { ranks: listed(ranks) })}<Go place={rowPlace(table.columns, row, { table: "slow_links" })} of={t("ranks {ranks}", { ranks: listed(ranks) })} /></th>
                <td>{kind.join(", ")}</td>
                <td>{slow ? <span class="longer">{t("yes")}</span> : t("no")}</td>
                <td class="n">{quantity(row[at["bandwidth"]!] as number | null, "bytes/s")}</td>
                <td class="n">{quantity(row[at["usual"]!] as number | null, "bytes/s")}</td>
                <td class="n">{percent(ratio)}</td>
                <td>
                  <svg class="lean" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="track" width="100" height="10" />
                    <rect class={slow ? "longer" : "usual"} width={x(ratio)} height="10" />
                    <line x1={x(SLOW)} x2={x(SLOW)} y1="0" y2="10" />
                  </svg>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Ranks in short: `0 to 7` where they follow each other. */
function listed(ranks: unknown): string {
  if (!Array.isArray(ranks)) return t("not known");
  const numbers = ranks.map(Number);
  const follow = numbers.length > 2 && numbers.every((one, i) => i === 0 || one === numbers[i - 1]! + 1);
  return follow ? t("{first} to {last}", { first: numbers[0], last: numbers[numbers.length - 1] }) : numbers.length > 8 ? t("{some} and {left} more", { some: numbers.slice(0, 8).join(", "), left: numbers.length - 8 }) : numbers.join(", ");
}
