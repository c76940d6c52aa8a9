import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { getJson, offline, Refused } from "../data/client";
import { FLOW_KINDS, type Board } from "./board";
import { Find } from "./Find";
import { toggled } from "./sets";
import type { Flows } from "./types";
import { counted, t, told, woven } from "../language/t";

/** Search, zoom, flows and what is hidden. */
export function Bar({ board, find, help }: { board: Board; find: RefObject<HTMLInputElement | null>; help: Signal<boolean> }) {
  const zoom = (factor: number) => {
    board.view.zoom(factor);
    board.redraw();
  };
  const hidden = board.hidden.value.size;
  return (
    <div class="tl-bar">
      <Find board={board} input={find} />
      <Reading board={board} />
      <span class="grow" />
      {offline ? null : (
        <button type="button" aria-pressed={board.path.value !== null} title={t("What set the steps' length, moment by moment")} onClick={() => void board.showPath(board.path.value ? null : (board.selected.value?.rank ?? board.range.value?.rank ?? board.info.ranks[0]?.rank ?? 0))}>{t("Critical path")}</button>
      )}
      <FlowMenu board={board} />
      {hidden ? <button type="button" onClick={() => board.showAll()}>{woven("Show {hidden} hidden", { hidden })}</button> : null}
      <span class="tl-group">
        <button type="button" aria-label={t("Zoom out")} onClick={() => zoom(2)}>−</button>
        <button type="button" aria-label={t("Zoom in")} onClick={() => zoom(0.5)}>+</button>
        <button type="button" onClick={() => { board.view.set(...board.view.whole()); board.redraw(); }}>{t("Everything")}</button>
      </span>
      <button type="button" aria-expanded={help.value} onClick={() => (help.value = !help.value)}>{t("Keys")}</button>
    </div>
  );
}

/** How many of the tracks in view the server is still making. */
function Reading({ board }: { board: Board }) {
  void board.moved.value;
  const { missing } = board.store;
  return missing && !offline ? <span class="aside tl-reading" role="status"><progress aria-label={t("Reading tracks")} />{counted(missing, " reading {count} more track", " reading {count} more tracks")}</span> : null;
}

function FlowMenu({ board }: { board: Board }) {
  const all = async () => {
    board.allFlows.value = !board.allFlows.value;
    if (!board.allFlows.value) {
      board.flows.value = [];
      board.redraw();
      return;
    }
    const rank = board.selected.value?.rank ?? board.info.ranks[0]?.rank ?? 0;
    const query = `rank=${rank}&from=${Math.round(board.view.from)}&to=${Math.round(board.view.to)}`;
    try {
      const found = await getJson<Flows>(`api/timeline/flows?${query}`);
      board.flows.value = found.flows;
      if (found.count && !found.flows.length) board.error.value = new Refused(t("the window has more than {count} flows", { count: found.count - 1 }), t("zoom in until fewer are left"));
      else board.error.value = null;
    } catch (error) {
      board.error.value = error instanceof Refused ? error : new Refused(String(error));
    }
    board.redraw();
  };
  return (
    <details
      class="tl-menu"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !event.currentTarget.open) return;
        event.stopPropagation();
        event.currentTarget.open = false;
        event.currentTarget.querySelector("summary")?.focus();
      }}
    >
      <summary>{t("Flows")}</summary>
      <div>
        {FLOW_KINDS.map((kind) => (
          <label>
            <input
              type="checkbox"
              checked={board.flowKinds.value.has(kind)}
              onChange={() => {
                board.flowKinds.value = toggled(board.flowKinds.value, kind);
                board.redraw();
              }}
            />
            {told(kind)}
          </label>
        ))}
        <button type="button" aria-pressed={board.allFlows.value} onClick={() => void all()}>{t("All in the window")}</button>
        <p class="aside">{t("Otherwise those of the chosen event.")}</p>
      </div>
    </details>
  );
}
