import { FindingCard, findingOf } from "../components/FindingCard";
import type { Finding, ItemBlock, Report } from "../data/types";
import type { Board } from "./board";
import { placeWords } from "./places";

/** The finding whose places are shown: its card. */
export function FindingPanel({ board, report }: { board: Board; report: Report | undefined }) {
  const chosen = board.finding.value;
  const finding = chosen === null ? undefined : report?.findings[chosen];
  if (!report || !finding) return <p class="aside">Click a finding above the tracks to see its card here.</p>;
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
          <button type="button" aria-label="Previous place of the finding" disabled={mine.length < 2} onClick={() => board.nextPlace(-1)}>‹</button>
          <span role="status">{at < 0 ? `${mine.length} ${mine.length === 1 ? "place" : "places"}` : `place ${at + 1} of ${mine.length}: ${placeWords(mine[at]!)}`}</span>
          <button type="button" aria-label="Next place of the finding" disabled={mine.length < 2 && at === 0} onClick={() => board.nextPlace(1)}>›</button>
        </>
      ) : null}
      <button type="button" onClick={() => board.leaveFinding()}>Close</button>
    </span>
  );
}
