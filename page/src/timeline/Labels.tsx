import type { Board } from "./board";
import type { Row } from "./rows";
import { t } from "../language/t";

/** Names of ranks, sections and tracks, with what folds, pins and hides them. */
export function Labels({ board, rows, tools }: { board: Board; rows: Row[]; tools: boolean }) {
  return (
    <ul class="tl-labels" aria-label={t("Tracks")}>
      {rows.map((row) => <Label key={row.key} board={board} row={row} tools={tools} />)}
    </ul>
  );
}

function Label({ board, row, tools }: { board: Board; row: Row; tools: boolean }) {
  const { track } = row;
  const pinned = row.form === "track" && track !== null && board.pinned.value.has(track.index);
  const folds = row.form !== "track" || track?.form === "events";
  const fold = row.form === "track" ? (row.small ? t("Show larger") : t("Show smaller")) : row.open ? t("Fold") : t("Unfold");
  const title = track && row.form === "track" && track.events ? `${row.label}: ${track.form === "line" ? t("{count} samples", { count: track.events.toLocaleString("en-US") }) : t("{count} events", { count: track.events.toLocaleString("en-US") })}` : row.label;
  return (
    <li class={`tl-label ${row.form} level${row.level}`} style={{ top: `${row.y}px`, height: `${row.height}px` }}>
      {folds ? (
        <button type="button" class="tl-fold" aria-expanded={row.open} aria-label={`${fold} ${row.label}`} onClick={() => board.turn(row.key)}>
          <span aria-hidden="true">{row.open ? "▾" : "▸"}</span>
        </button>
      ) : <span class="tl-fold" />}
      <span class="tl-name" title={title}>{row.label}</span>
      {tools && row.form === "track" && track ? (
        <span class="tl-tools">
          <button type="button" aria-pressed={pinned} aria-label={t("Pin {label}", { label: row.label })} title={t("Pin to the top")} onClick={() => board.pin(track.index)}>⊤</button>
          {pinned ? null : <button type="button" aria-label={t("Hide {label}", { label: row.label })} title={t("Hide")} onClick={() => board.hide(track.index)}>×</button>}
        </span>
      ) : null}
    </li>
  );
}
