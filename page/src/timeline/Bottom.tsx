import type { Board } from "./board";
import { DetailsPanel } from "./DetailsPanel";
import type { Report } from "../data/types";
import { EventsPanel } from "./EventsPanel";
import { FindingPanel, FindingWay } from "./FindingPanel";
import { RangePanel } from "./RangePanel";
import { t } from "../language/t";

const TABS = [["finding", t("Finding")], ["details", t("Event")], ["range", t("Range")], ["events", t("Events in view")]] as const;

/** What is chosen, and what is drawn, in words and numbers. */
export function Bottom({ board, report }: { board: Board; report?: Report | undefined }) {
  const open = board.bottom.value;
  return (
    <section class={`tl-bottom ${open ? "open" : ""}`} aria-label={t("Details")}>
      <div class="tl-tabs">
        {TABS.filter(([name]) => name !== "finding" || board.places.value.length || board.finding.value !== null).map(([name, title]) => (
          <button type="button" aria-expanded={open === name} aria-controls="tl-panel" onClick={() => (board.bottom.value = open === name ? "" : name)}>{title}</button>
        ))}
        <span class="grow" />
        <FindingWay board={board} report={report} />
      </div>
      <div id="tl-panel" class="tl-panel" tabIndex={0} role="group" aria-label={t("Panel")} hidden={!open}>
        {open === "finding" ? <FindingPanel board={board} report={report} /> : null}
        {open === "details" ? <DetailsPanel board={board} /> : null}
        {open === "range" ? <RangePanel board={board} /> : null}
        {open === "events" ? <EventsPanel board={board} /> : null}
      </div>
    </section>
  );
}
