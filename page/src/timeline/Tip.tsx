import { duration, percent, quantity } from "../components/format";
import type { Board } from "./board";
import type { Hit } from "./hit";
import { moment } from "./ruler";
import { t, told, woven } from "../language/t";

/** What is under the pointer. */
export function Tip({ board, hit, x, y }: { board: Board; hit: Hit; x: number; y: number }) {
  const right = x > board.view.width - 320;
  const place = { top: `${y + 16}px`, ...(right ? { right: `${board.view.width - x + 12}px` } : { left: `calc(var(--labels) + ${x + 12}px)` }) };
  return (
    <div class="tl-tip" style={place} aria-hidden="true">
      <strong>{hit.form === "run" ? t("{count} events", { count: hit.count.toLocaleString("en-US") }) : hit.name}</strong>
      <Words board={board} hit={hit} />
    </div>
  );
}

function Words({ board, hit }: { board: Board; hit: Hit }) {
  const { info } = board;
  if (hit.form === "line") return <span>{woven("{value} at {start}", { value: quantity(hit.value, hit.row.track?.source === "memory" ? "bytes" : ""), start: moment(hit.start - board.view.zero) })}</span>;
  if (hit.form === "shares") {
    return (
      <>
        {hit.shares.slice(0, 8).map(([label, ns]) => (
          <span><i style={{ background: board.palette.share(label) }} />{words(info.shares[label] ?? "")} {percent(ns / hit.span)}</span>
        ))}
        <span class="aside">{woven("in {span} at {start}", { span: duration(hit.span), start: moment(hit.start - board.view.zero) })}</span>
      </>
    );
  }
  if (hit.form === "run") {
    return (
      <>
        <span>{woven("busy {busy} in {span} ({share})", { busy: duration(hit.busy), span: duration(hit.span), share: percent(hit.span ? Math.min(1, hit.busy / hit.span) : 1) })}</span>
        <span class="aside">{woven("longest: {name}", { name: hit.name })}</span>
        <span class="aside">{t("click to zoom in")}</span>
      </>
    );
  }
  return (
    <>
      <span>{woven("{value} at {start}", { value: hit.span ? duration(hit.span) : t("instant"), start: moment(hit.start - board.view.zero) })}</span>
      <span class="aside">{(info.kinds[hit.kind] ?? "").replace("kernel:", "kernel, ")}</span>
    </>
  );
}

/** `idle: data_wait` in words. */
export const words = (share: string): string => told(share.replaceAll("_", " "));
