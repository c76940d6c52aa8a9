import type { Board } from "./board";
import { words } from "./Tip";

/** What the colours of the devices' time stand for, as far as it is drawn. */
export function ShareKey({ boards }: { boards: readonly Board[] }) {
  const seen = new Set<number>();
  for (const board of boards) {
    void board.moved.value;
    for (const row of board.rows("scrolled")) {
      if (row.track?.form === "shares") for (const label of board.store.labelsOf(row.track.index)) seen.add(label);
    }
  }
  const [one] = boards;
  return (
    <p class="colours aside">
      {one && [...seen].sort((a, b) => a - b).map((label) => <span><i class="tl-key" style={{ background: one.palette.share(label) }} />{words(one.info.shares[label] ?? "")}</span>)}
    </p>
  );
}
