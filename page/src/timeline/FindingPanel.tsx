import { FindingCard, findingOf } from "../components/FindingCard";
import type { Finding, ItemBlock, Report } from "../data/types";
import type { Board } from "./board";
import { placeWords } from "./places";
import { counted, t } from "../language/t";

/** The finding whose places are shown: its card. */
export function FindingPanel({ board, report }: { board: Board; report: Report | undefined }) {
  const chosen = board.finding.value;
  const finding = chosen === null ? undefined : report?.findings[chosen];
  if (!report || !finding) return <p class="aside">{t("Click a finding above the tracks to see its card here.")}</p>;
  const item = itemOf(finding, report);
  return item ? <FindingCard key={chosen} item={item} report={report} open /> : <p>{finding.title}: {finding.summary}</p>;
}

/** What the outline of the report says of a finding. */
function itemOf(finding: Finding, report: Report): ItemBlock | undefined {
  const items = report.page.sections.flatMap((section) => section.blocks).filter((block): block is ItemBlock => block.kind === "item");
  return items.find((one) => findingOf(one, report) === finding);
}

/** Through all places of the finding, one after the other. */
export function FindingWay({ board, report }: { board: Board; report: Report | undefined }) {
  const chosen = board.finding.value;
  void board.moved.value;
  if (chosen === null) return null;
  const finding = report?.findings[chosen];
  const worth = report && finding ? itemOf(finding, report)?.worth : "";
  const mine = board.places.value.filter((place) => place.finding === chosen);
  const at = board.place ? mine.indexOf(board.place) : -1;
  return (
    <span class="tl-way">
      <strong title={board.findingTitle(chosen)}>{chosen + 1}. {board.findingTitle(chosen)}</strong>
      {worth ? <span>{worth}</span> : null}
      {mine.length ? (
        <>
          <button type="button" aria-label={t("Previous place of the finding")} disabled={mine.length < 2} onClick={() => board.nextPlace(-1)}>‹</button>
          <span role="status">{at < 0 ? counted(mine.length, "{count} place", "{count} places") : t("place {at} of {count}: {what}", { at: at + 1, count: mine.length, what: placeWords(mine[at]!) })}</span>
          <button type="button" aria-label={t("Next place of the finding")} disabled={mine.length < 2 && at === 0} onClick={() => board.nextPlace(1)}>›</button>
        </>
      ) : null}
      <button type="button" onClick={() => board.leaveFinding()}>{t("Close")}</button>
    </span>
  );
}
