import type { Board } from "./board";
import { DetailsPanel } from "./DetailsPanel";
import { EventsPanel } from "./EventsPanel";
import { RangePanel } from "./RangePanel";

const TABS = [["details", "Event"], ["range", "Range"], ["events", "Events in view"]] as const;

/** What is chosen, and what is drawn, in words and numbers. */
export function Bottom({ board }: { board: Board }) {
  const open = board.bottom.value;
  return (
    <section class={`tl-bottom ${open ? "open" : ""}`} aria-label="Details">
      <div class="tl-tabs">
        {TABS.map(([name, title]) => (
          <button type="button" aria-expanded={open === name} aria-controls="tl-panel" onClick={() => (board.bottom.value = open === name ? "" : name)}>{title}</button>
        ))}
      </div>
      <div id="tl-panel" class="tl-panel" tabIndex={0} role="group" aria-label="Panel" hidden={!open}>
        {open === "details" ? <DetailsPanel board={board} /> : null}
        {open === "range" ? <RangePanel board={board} /> : null}
        {open === "events" ? <EventsPanel board={board} /> : null}
      </div>
    </section>
  );
}
