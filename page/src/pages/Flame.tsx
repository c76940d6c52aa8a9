import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { DataTable } from "../components/DataTable";
import { Failure } from "../components/Failure";
import { FlameGraph, type Frames, type Order } from "../components/FlameGraph";
import { visible } from "../components/format";
import { callees, callers } from "../components/sandwich";
import { Breaking } from "../components/Words";
import { RankPicker, rankOf } from "../components/RankPicker";
import { rowPlace, type RowPlace } from "../components/rowPlace";
import { has } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import { useAnswer } from "../components/useAnswer";
import type { Column, Value } from "../data/types";
import { href } from "../shell/router";
import type { PageProps } from "./registry";
import { t, woven } from "../language/t";

/** Stacks of the host, by the device time that they launched or by their own. */
export function Flame({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  return (
    <>
      <header class="with"><h1>{t("Flame graph")}</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="flame" params={params}
        tabs={[
          has(report, "kernels") ? { id: "device", title: t("Device time"), show: () => <Graph key={`device${rank}`} time="device" rank={rank} params={params} /> } : null,
          { id: "host", title: t("Host time"), show: () => <Graph key={`host${rank}`} time="host" rank={rank} params={params} /> },
        ]}
      />
    </>
  );
}

const NAME: Column[] = [{ name: "name", type: "string", unit: "", description: "" }];
const COLUMNS: Column[] = [
  { name: "name", type: "string", unit: "", description: t("Frame: Python function, module, annotation, operator, call or kernel.") },
  { name: "total_ns", type: "int64", unit: "ns", description: t("Time of the frame with all below it; of one that calls itself, the outer one's.") },
  { name: "self_ns", type: "int64", unit: "ns", description: t("Time of the frame itself.") },
  { name: "places", type: "int64", unit: "count", description: t("Different stacks that it ends.") },
];

const ORDERS: Record<Order, string> = { name: t("by name"), time: t("by first appearance"), size: t("by size, the largest") };

function Graph({ time, rank, params }: { time: "host" | "device"; rank: number; params: URLSearchParams }) {
  const order = useSignal<Order>("name");
  const { found, error } = useAnswer<Frames>(`api/flame?time=${time}&rank=${rank}`);
  const rows = useMemo(() => (found ? summed(found) : []), [found]);
  if (error) return <Failure error={error} />;
  if (!found) return <p class="aside" aria-busy="true">{t("loading stacks")}</p>;
  if (!found.name.length) return <p class="aside">{t("Nothing of this is recorded.")}</p>;
  const name = params.get("name");
  const chosen = name === null ? -1 : found.names.indexOf(name);
  const place = (shown: string) => framePlace(found, shown, rank);
    return (
    <>
      {chosen >= 0 ? (
        <>
          <p><a href={href("flame", { rank, tab: time })}>{t("All stacks")}</a></p>
          <h2>{visible(name ?? "")}<span class="aside">{t("what it calls")}</span></h2>
          <FlameGraph key={`down ${name}`} frames={callees(found, chosen)} title={time === "host" ? t("Host time of what it calls") : t("Device time of what it calls")} place={place} />
          <h2>{visible(name ?? "")}<span class="aside">{t("who calls it, innermost first")}</span></h2>
          <FlameGraph key={`up ${name}`} frames={callers(found, chosen)} title={time === "host" ? t("Host time by its callers") : t("Device time by its callers")} place={place} />
        </>
      ) : (
        <>
          {name === null ? null : <p class="aside">{woven("{name} is not among the largest frames.", { name: visible(name) })}</p>}
          <label class="picker">{t("Beside each other")}{" "}
            <select value={order.value} onChange={(event) => (order.value = event.currentTarget.value as Order)}>
              {Object.entries(ORDERS).filter(([key]) => key !== "time" || found.first_ns).map(([key, words]) => <option value={key}>{words}</option>)}
            </select>
          </label>
          {order.value === "time" ? <p class="aside">{t("Like stacks are merged: each stands where the first of them was, as wide as all of them together.")}</p> : null}
          <FlameGraph frames={found} title={time === "host" ? t("Host time by stack") : t("Device time by stack")} order={order.value} place={place} />
        </>
      )}
      <DataTable name="frames" table={{ columns: COLUMNS, rows, description: "" }} sort="self_ns" place={(row) => place(String(row[0]))}
        cell={(column, value, text) => (column.name === "name" ? <a href={href("flame", { rank, tab: time, name: String(value) })} title={t("What it calls, and who calls it")}><Breaking text={text} /></a> : undefined)} />
    </>
  );
}

/** The longest event that a frame stands for. */
function framePlace(frames: Frames, shown: string, rank: number): RowPlace | null {
  return rowPlace(NAME, [frames.whole?.[shown] ?? shown], { table: "frames", rank });
}

function summed(frames: Frames): Value[][] {
  const totals = new Map<number, [number, number, number]>();
  frames.name.forEach((name, i) => {
    let outer = true;
    for (let above = frames.parent[i]!; above >= 0 && outer; above = frames.parent[above]!) outer = frames.name[above] !== name;
    const [total, self, places] = totals.get(name) ?? [0, 0, 0];
    totals.set(name, [total + (outer ? frames.total_ns[i]! : 0), self + frames.self_ns[i]!, places + 1]);
  });
  return [...totals].map(([name, [total, self, places]]) => [frames.names[name] ?? "", total, self, places]);
}
