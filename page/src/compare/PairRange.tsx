import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { DataTable } from "../components/DataTable";
import { duration } from "../components/format";
import { getJson, offline } from "../data/client";
import type { Column, Value } from "../data/types";
import { words } from "../timeline/Tip";
import type { RangeBudget } from "../timeline/types";
import type { Pair } from "./pair";
import { t, woven } from "../language/t";

const COLUMNS: Column[] = [
  { name: "part", type: "string", unit: "", description: t("What the devices did, or why they were idle.") },
  { name: "base_ns", type: "int64", unit: "ns", description: t("Time of the base's devices in the range, their mean.") },
  { name: "new_ns", type: "int64", unit: "ns", description: t("That of the new one's.") },
  { name: "diff_ns", type: "int64", unit: "ns", description: t("The new one's less the base's.") },
];

interface Range {
  from: number;
  to: number;
}

/** What the devices of either side did in the chosen range, a mean over them. */
export function PairRange({ pair, range }: { pair: Pair; range: Range }) {
  const budgets = useSignal<readonly RangeBudget[]>([]);
  const [base] = pair.boards;
  const [from, to] = [range.from - base.view.zero, range.to - base.view.zero];
  useEffect(() => {
    if (offline || to <= from) return undefined;
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      const asked = pair.boards.map((board) => getJson<RangeBudget>(
        `${board.at}api/timeline/range?rank=${board.about.rank}&from=${Math.round(from + board.view.zero)}&to=${Math.round(to + board.view.zero)}`,
        { signal: leaving.signal },
      ));
      Promise.all(asked).then((found) => (budgets.value = found), () => undefined);
    }, 150);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [from, to]);
  const sums = budgets.value.map(meanOf);
  const names = [...new Set(sums.flatMap((one) => [...one.keys()]))];
  const named = (column: Column, value: Value) => {
    if (column.name !== "part") return undefined;
    const label = base.info.shares.indexOf(String(value));
    return <>{label < 0 ? null : <i class="tl-key" style={{ background: base.palette.share(label) }} />}{words(String(value))}</>;
  };
  return (
    <>
      <p>{woven("Range: {length}, from {from} to {to} {button}", { length: <strong>{duration(to - from)}</strong>, from: duration(from), to: duration(to), button: <button type="button" onClick={() => { base.range.value = null; base.redraw(); }}>{t("Clear")}</button> })}</p>
      {names.length ? (
        <DataTable
          name="devices in the range" alike={/_ns$/} cell={named}
          table={{ columns: COLUMNS, description: "", rows: names.map((name) => { const [one, other] = sums.map((sum) => sum.get(name) ?? 0) as [number, number]; return [name, one, other, other - one]; }) }}
        />
      ) : null}
    </>
  );
}

function meanOf(budget: RangeBudget): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { parts } of budget.devices) for (const [name, ns] of parts) sums.set(name, (sums.get(name) ?? 0) + ns / budget.devices.length);
  return sums;
}
