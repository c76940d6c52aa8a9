import { useSignal } from "@preact/signals";
import type { Column, Table, Value } from "../data/types";
import { DataTable } from "./DataTable";
import { Failure } from "./Failure";
import { quantity } from "./format";
import { Frames, Moment, useSettled } from "./Live";
import { SegmentChart, type Segment } from "./SegmentChart";
import { useAnswer } from "./useAnswer";
import { t, woven } from "../language/t";

interface Answer extends Pick<Table, "columns" | "rows"> {
  low: number;
  high: number;
  seq: number;
  segments: Segment[];
  /** Bytes of blocks in use, and of those that are freed but not usable yet; and how many blocks are not drawn. */
  active: number;
  pending: number;
  left: number;
}

/** What the allocator had reserved and in use after any event of its history, and the events around it. */
export function StateHistory({ rank, device }: { rank: number; device: number }) {
  const at = useSignal<number | null>(null);
  const stack = useSignal<number | null>(null);
  const last = useSignal<Answer | null>(null);
  const { found, error } = useAnswer<Answer>(useSettled(`api/snapshot/history?rank=${rank}&device=${device}${at.value === null ? "" : `&seq=${at.value}`}`));
  if (found) last.value = found;
  const shown = found ?? last.value;
  if (error) return <Failure error={error} />;
  if (!shown) return <p class="aside" aria-busy="true">{t("loading the history")}</p>;
  const seq = at.value ?? shown.seq;
  const reserved = shown.segments.reduce((sum, one) => sum + one.bytes, 0);
  const words = t("event {seq} of {high}", { seq: seq.toLocaleString("en-US"), high: shown.high.toLocaleString("en-US") });
  const cell = (column: Column, value: Value, text: string, row: readonly Value[]) => {
    if (column.name === "seq") return <button type="button" class="link" aria-pressed={value === seq} onClick={() => (at.value = Number(value))}>{text}</button>;
    if (column.name === "stack" && typeof value === "number") return <button type="button" class="link" onClick={() => (stack.value = value)}>{value}</button>;
    if (column.name === "address" && typeof value === "number") return <code>{`0x${value.toString(16)}`}</code>;
    return column.name === "action" && row[0] === seq ? <strong>{text}</strong> : undefined;
  };
  return (
    <section aria-label={t("State of device {device}", { device })}>
      <Moment label={t("After")} value={seq} low={shown.low} high={shown.high} words={words} onChoose={(value) => (at.value = value)} />
      <p aria-live="polite">{woven("{size} in use{pending} of {reserved} reserved in {segments} segments", { size: <strong>{quantity(shown.active, "bytes")}</strong>, pending: shown.pending ? t(" and {pending} pending, freed but not usable yet,", { pending: quantity(shown.pending, "bytes") }) : "", reserved: quantity(reserved, "bytes"), segments: shown.segments.length.toLocaleString("en-US") })}</p>
      {shown.left ? <p class="aside">{woven("{left} smaller blocks count in this, but are not drawn each: where they are, the state is unknown.", { left: shown.left.toLocaleString("en-US") })}</p> : null}
      <SegmentChart segments={shown.segments} device={device} rank={rank} />
      <h2>{t("Events around it")}</h2>
      {stack.value === null ? null : <Frames rank={rank} stack={stack.value} />}
      <DataTable name="allocator events" table={{ columns: shown.columns, rows: shown.rows, description: "" }} cell={cell} most={150} />
    </section>
  );
}
