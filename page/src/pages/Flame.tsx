import { useMemo } from "preact/hooks";
import { DataTable } from "../components/DataTable";
import { Failure } from "../components/Failure";
import { FlameGraph, type Frames } from "../components/FlameGraph";
import { RankPicker, rankOf } from "../components/RankPicker";
import { rowPlace, type RowPlace } from "../components/rowPlace";
import { has } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import { useAnswer } from "../components/useAnswer";
import type { Column, Value } from "../data/types";
import type { PageProps } from "./registry";

/** Stacks of the host, by the device time that they launched or by their own. */
export function Flame({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  return (
    <>
      <header class="with"><h1>Flame graph</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="flame" params={params}
        tabs={[
          has(report, "kernels") ? { id: "device", title: "Device time", show: () => <Graph key={`device${rank}`} time="device" rank={rank} /> } : null,
          { id: "host", title: "Host time", show: () => <Graph key={`host${rank}`} time="host" rank={rank} /> },
        ]}
      />
    </>
  );
}

const NAME: Column[] = [{ name: "name", type: "string", unit: "", description: "" }];
const COLUMNS: Column[] = [
  { name: "name", type: "string", unit: "", description: "Frame: Python function, module, annotation, operator, call or kernel." },
  { name: "total_ns", type: "int64", unit: "ns", description: "Time of the frame with all below it; of one that calls itself, the outer one's." },
  { name: "self_ns", type: "int64", unit: "ns", description: "Time of the frame itself." },
  { name: "places", type: "int64", unit: "count", description: "Different stacks that it ends." },
];

function Graph({ time, rank }: { time: string; rank: number }) {
  const { found, error } = useAnswer<Frames>(`api/flame?time=${time}&rank=${rank}`);
  const rows = useMemo(() => (found ? summed(found) : []), [found]);
  if (error) return <Failure error={error} />;
  if (!found) return <p class="aside" aria-busy="true">loading stacks</p>;
  if (!found.name.length) return <p class="aside">Nothing of this is recorded.</p>;
  return (
    <>
      <FlameGraph frames={found} title={`${time === "host" ? "Host" : "Device"} time by stack`} place={(name) => framePlace(found, name, rank)} />
      <DataTable name="frames" table={{ columns: COLUMNS, rows, description: "" }} sort="self_ns" place={(row) => framePlace(found, String(row[0]), rank)} />
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
