import type { Report } from "../data/types";
import { keep, place } from "../shell/router";
import { t } from "../language/t";

/** The rank that the address names, else the first. */
export function rankOf(report: Report, params: URLSearchParams): number {
  const ranks = ranksOf(report);
  const asked = Number(params.get("rank") ?? NaN);
  return ranks.includes(asked) ? asked : (ranks[0] ?? 0);
}

export function ranksOf(report: Report): number[] {
  return [...new Set(report.source.map((source) => source.rank))];
}

/** Chooses a rank where there are several. */
export function RankPicker({ report, params }: { report: Report; params: URLSearchParams }) {
  const ranks = ranksOf(report);
  if (ranks.length < 2) return null;
  const choose = (rank: string) => keep(place.value.page, { ...Object.fromEntries(params), rank });
  return (
    <label class="picker">{t("Rank")}{" "}
      <select value={rankOf(report, params)} onChange={(event) => choose(event.currentTarget.value)}>
        {ranks.map((rank) => <option value={rank}>{rank}</option>)}
      </select>
    </label>
  );
}
