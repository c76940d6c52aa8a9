import type { Table, Value } from "../data/types";
import { Share } from "./Blocks";
import { percent, quantity, visible } from "./format";
import { Breaking } from "./Words";
import { t } from "../language/t";

interface SharesProps {
  table: Table;
  /** Column that names, and the one that is summed. */
  by: string;
  value: string;
  where?: Readonly<Record<string, Value>>;
  caption: string;
  most?: number;
}

/** What takes the most, summed by a column: the largest, and the rest as one. */
export function Shares({ table, by, value, where = {}, caption, most = 10 }: SharesProps) {
  const column = (name: string) => table.columns.findIndex((one) => one.name === name);
  const [name, amount] = [column(by), column(value)];
  const asked = Object.entries(where).map(([key, wanted]) => [column(key), wanted] as const);
  const sums = new Map<string, number>();
  for (const row of table.rows) {
    if (!asked.every(([i, wanted]) => i < 0 || row[i] === wanted)) continue;
    const key = row[name] === null || row[name] === undefined ? t("not known") : visible(String(row[name]));
    sums.set(key, (sums.get(key) ?? 0) + Number(row[amount] ?? 0));
  }
  const sorted = [...sums].filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]);
  const total = sorted.reduce((sum, [, one]) => sum + one, 0);
  const shown = sorted.slice(0, most);
  const rest = sorted.slice(most).reduce((sum, [, one]) => sum + one, 0);
  const unit = table.columns[amount]?.unit ?? "";
  if (!total) return null;
  const rows: (readonly [string, number])[] = rest ? [...shown, [t("{count} more", { count: sorted.length - most }), rest]] : shown;
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={caption}>
      <table class="grid shares">
        <caption>{caption}</caption>
        <thead class="hidden"><tr><th scope="col">{by}</th><th scope="col">{t("amount")}</th><th scope="col">{t("share")}</th><td /></tr></thead>
        <tbody>
          {rows.map(([key, sum]) => (
            <tr>
              <th scope="row" class={key.length > 24 ? "long" : ""}><Breaking text={key} /></th>
              <td class="n">{quantity(sum, unit)}</td>
              <td class="n">{percent(sum / total)}</td>
              <td><Share value={sum / total} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
