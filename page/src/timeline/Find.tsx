import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { getJson, offline, Refused } from "../data/client";
import type { Board } from "./board";
import type { Found } from "./types";
import { counted, t } from "../language/t";

/** Search of names: events without it are faint, and the next one that has it is chosen. */
export function Find({ board, input }: { board: Board; input: RefObject<HTMLInputElement | null> }) {
  const said = useSignal("");
  const text = board.search.value.trim();
  useEffect(() => {
    said.value = "";
    board.redraw();
  }, [text]);
  const go = async (direction: "next" | "previous") => {
    if (text.length < 2) return;
    const { selected, view } = board;
    const at = selected.value?.start ?? (direction === "next" ? view.from : view.to);
    const from = selected.value ? `&event=${selected.value.id}&rank=${selected.value.rank}` : "";
    const query = `text=${encodeURIComponent(text)}&at=${Math.round(at)}&direction=${direction}${from}`;
    try {
      const found = await getJson<Found>(`api/timeline/search?${query}`);
      const count = counted(found.count, "{count} event", "{count} events");
      said.value = found.found || !found.count ? count : direction === "next" ? t("{count}, none later", { count }) : t("{count}, none earlier", { count });
      if (found.found) await board.choose(found.found.rank, found.found.id, "fit", found.found);
    } catch (error) {
      said.value = error instanceof Refused ? error.message : t("the search failed");
    }
  };
  return (
    <form
      class="tl-find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void go("next");
      }}
    >
      <label>
        <span class="hidden">{t("Search names of events")}</span>
        <input
          ref={input}
          type="search"
          placeholder={t("Search names  /")}
          value={board.search.value}
          onInput={(event) => (board.search.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && event.shiftKey) {
              event.preventDefault();
              void go("previous");
            }
          }}
        />
      </label>
      {offline ? null : (
        <>
          <button type="button" aria-label={t("Previous event with this name")} disabled={text.length < 2} onClick={() => void go("previous")}>‹</button>
          <button type="submit" aria-label={t("Next event with this name")} disabled={text.length < 2}>›</button>
        </>
      )}
      <span class="aside" role="status">{said.value}</span>
    </form>
  );
}
