import { duration, percent, quantity } from "../components/format";
import type { Board } from "./board";
import type { Hit } from "./hit";
import { moment } from "./ruler";

/** What is under the pointer. */
export function Tip({ board, hit, x, y }: { board: Board; hit: Hit; x: number; y: number }) {
  const right = x > board.view.width - 320;
  const place = { top: `${y + 16}px`, ...(right ? { right: `${board.view.width - x + 12}px` } : { left: `calc(var(--labels) + ${x + 12}px)` }) };
  return (
    <div class="tl-tip" style={place} aria-hidden="true">
      <strong>{hit.form === "run" ? `${hit.count.toLocaleString("en-US")} events` : hit.name}</strong>
      <Words board={board} hit={hit} />
    </div>
  );
}

function Words({ board, hit }: { board: Board; hit: Hit }) {
  const { info } = board;
  if (hit.form === "line") return <span>{quantity(hit.value, hit.row.track?.source === "memory" ? "bytes" : "")} at {moment(hit.start - board.view.zero)}</span>;
  if (hit.form === "shares") {
    return (
      <>
        {hit.shares.slice(0, 8).map(([label, ns]) => (
          <span><i style={{ background: board.palette.share(label) }} />{words(info.shares[label] ?? "")} {percent(ns / hit.span)}</span>
        ))}
        <span class="aside">in {duration(hit.span)} at {moment(hit.start - board.view.zero)}</span>
      </>
    );
  }
  if (hit.form === "run") {
    return (
      <>
        <span>busy {duration(hit.busy)} in {duration(hit.span)} ({percent(hit.span ? Math.min(1, hit.busy / hit.span) : 1)})</span>
        <span class="aside">longest: {hit.name}</span>
        <span class="aside">click to zoom in</span>
      </>
    );
  }
  return (
    <>
      <span>{hit.span ? duration(hit.span) : "instant"} at {moment(hit.start - board.view.zero)}</span>
      <span class="aside">{(info.kinds[hit.kind] ?? "").replace("kernel:", "kernel, ")}</span>
    </>
  );
}

export const words = (share: string): string => share.replaceAll("_", " ");
