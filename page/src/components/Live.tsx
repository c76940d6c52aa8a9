import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Column, Table, Value } from "../data/types";
import { href } from "../shell/router";
import { DataTable } from "./DataTable";
import { Failure } from "./Failure";
import { quantity, visible } from "./format";
import { Shares } from "./Shares";
import { useAnswer } from "./useAnswer";
import { t, told, woven } from "../language/t";

interface Answer extends Pick<Table, "columns" | "rows"> {
  bytes: number;
  count: number;
}

/** Amounts over time may be recorded without addresses, or as counters alone. */
interface Unknown {
  unknown: { message: string; hint: string };
}

interface LiveProps {
  rank: number;
  device: number | null;
  /** The moment: `ts=NS`, or `seq=EVENT` of a snapshot. */
  at: string;
  /** The moment in words. */
  words: string;
  /** Bytes in use then, those included of which the recording has no allocation. */
  used?: number | null;
}

/** What is wanted, once it has not changed for a moment: a slider passes many values on its way. */
export function useSettled(value: string): string {
  const settled = useSignal(value);
  useEffect(() => {
    const timer = setTimeout(() => (settled.value = value), 120);
    return () => clearTimeout(timer);
  }, [value]);
  return settled.value;
}

/** What was allocated at one moment, the largest first. */
export function Live({ rank, device, at, words, used }: LiveProps) {
  const stack = useSignal<number | null>(null);
  const { found, error } = useAnswer<Answer | Unknown>(useSettled(`api/memory/live?rank=${rank}&device=${device ?? -1}&${at}`));
  if (error) return <Failure error={error} />;
  if (!found) return <p class="aside" aria-busy="true">{t("loading what was allocated")}</p>;
  if ("unknown" in found) {
    const { message, hint } = found.unknown;
    return <p class="aside">{woven("What was allocated {words} is not known: {message}.{hint}", { words, message, hint: hint ? t(" To know it, {hint}.", { hint }) : "" })}</p>;
  }
  const has = (name: string) => found.columns.some((column) => column.name === name) && found.rows.some((row) => (row[found.columns.findIndex((column) => column.name === name)] ?? null) !== null);
  const where = device === null ? t("of the host") : t("of device {device}", { device });
  const table = { ...found, description: "", computed: true, missing: [] };
  const by = has("category") ? "category" : "operator";
  const cell = (column: Column, value: Value) => {
    if (column.name === "event" && typeof value === "number") return <a href={href("timeline", { rank, event: value })}>{value}</a>;
    if (column.name === "stack" && typeof value === "number") return <button type="button" class="link" onClick={() => (stack.value = value)}>{value}</button>;
    return undefined;
  };
  return (
    <section class="live" aria-label={t("Allocations {where} {words}", { where, words })}>
      <h2>{woven("Allocated {words}: {bytes} {aside}", { words, bytes: quantity(found.bytes, "bytes"), aside: <span class="aside">{woven("in {count} allocations{largest}{earlier}", { count: found.count.toLocaleString("en-US"), largest: found.rows.length < found.count ? t(", of which the {rows} largest are here", { rows: found.rows.length.toLocaleString("en-US") }) : "", earlier: used && used > found.bytes ? t("; {used} more in use was allocated before the recording", { used: quantity(used - found.bytes, "bytes") }) : "" })}</span> })}</h2>
      {found.rows.length ? (
        <>
          <div class="beside">
            {[by, has("line") ? "line" : "module"].filter(has).map((name) => <Shares table={table} by={name} value="bytes" caption={t("By {name}", { name: told(name) })} most={6} />)}
          </div>
          {stack.value === null ? null : <Frames rank={rank} stack={stack.value} />}
          <DataTable name={t("live allocations {where} {words}", { where, words })} table={table} columns={found.columns.map((column) => column.name)} cell={cell} most={20} />
        </>
      ) : <p class="aside">{t("None of those that were recorded.")}</p>}
    </section>
  );
}

/** A call stack, innermost frame first. */
export function Frames({ rank, stack }: { rank: number; stack: number }) {
  const { found } = useAnswer<{ frames: string[] }>(`api/snapshot/stack?rank=${rank}&stack=${stack}`);
  return <ol class="frames">{found?.frames.map((frame) => <li>{visible(frame)}</li>)}</ol>;
}

/** Chooses a moment by its position: with the mouse, or with arrow keys. */
export function Moment({ label, value, low, high, words, onChoose }: { label: string; value: number; low: number; high: number; words: string; onChoose: (value: number) => void }) {
  return (
    <label class="moment">
      {label} <input type="range" min={low} max={high} value={value} aria-valuetext={words} onInput={(event) => onChoose(Number(event.currentTarget.value))} /> <output>{words}</output>
    </label>
  );
}
