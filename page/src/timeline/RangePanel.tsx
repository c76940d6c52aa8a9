import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { DataTable } from "../components/DataTable";
import { Failure } from "../components/Failure";
import { duration, percent } from "../components/format";
import { rowPlace, type RowPlace } from "../components/rowPlace";
import { getJson, Refused } from "../data/client";
import type { Column, Value } from "../data/types";
import type { Board } from "./board";
import { Back } from "./Back";
import { moment } from "./ruler";
import { words } from "./Tip";
import type { RangeBudget, RangeTable } from "./types";
import { t, woven } from "../language/t";
import { named } from "./naming";

const TABLES = [
  ["kernels", t("kernels")], ["operators", t("operators")], ["collectives", t("collectives")], ["copies", t("copies")], ["api_calls", t("API calls")],
] as const;
const SHOWN: Record<string, readonly string[]> = {
  kernels: ["name", "count", "total_ns", "mean_ns", "share", "op_class"],
  operators: ["name", "count", "total_ns", "self_ns", "device_ns", "share"],
};

/** The selected range: what the devices did in it, and its own tables. */
export function RangePanel({ board }: { board: Board }) {
  const range = board.range.value;
  const table = useSignal<string>("kernels");
  if (!range) return <p class="aside">{t("Drag across the tracks to select a range of time.")}</p>;
  const query = `rank=${range.rank}&from=${range.from}&to=${range.to}`;
  const shift = board.shiftOf(range.rank);
  return (
    <div class="tl-range">
      <div>
        <h2>{moment(range.to - range.from)}</h2>
        <p class="aside">{woven("rank {rank}, from {from} to {to}", { rank: range.rank, from: moment(range.from - shift), to: moment(range.to - shift) })}</p>
        <div class="tl-actions">
          <button type="button" onClick={() => { board.view.fit(range.from, range.to, 0.9); board.redraw(); }}>{t("Zoom to it")}</button>
          <button type="button" onClick={() => { board.range.value = null; board.redraw(); }}>{t("Clear")}</button>
        </div>
        <Budget key={query} board={board} query={query} />
        <Back board={board} rank={range.rank} start={range.from} />
      </div>
      <div>
        <div class="tl-actions" role="group" aria-label={t("Tables of the range")}>
          {TABLES.map(([name, title]) => (
            <button type="button" aria-pressed={table.value === name} onClick={() => (table.value = name)}>{title}</button>
          ))}
        </div>
        <p class="aside">{t("Events that touch the range; each counts whole.")}</p>
        <Rows key={`${table.value} ${query}`} name={table.value} query={query} place={(columns, row) => rowPlace(columns, row, { table: table.value, rank: range.rank, within: [range.from, range.to] })} />
      </div>
    </div>
  );
}

/** What an address gives, asked for once it has been wanted for a moment. */
function useAnswer<T>(path: string): { value: T | null; error: Refused | null } {
  const value = useSignal<T | null>(null);
  const error = useSignal<Refused | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      getJson<T>(path, { signal: abort.signal }).then(
        (found) => (value.value = found),
        (problem) => abort.signal.aborted || (error.value = problem instanceof Refused ? problem : new Refused(String(problem))),
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [path]);
  return { value: value.value, error: error.value };
}

function Budget({ board, query }: { board: Board; query: string }) {
  const { value, error } = useAnswer<RangeBudget>(`api/timeline/range?${query}`);
  if (error) return <Failure error={error} />;
  if (!value) return <p class="aside" aria-busy="true">{t("loading the budget")}</p>;
  const total = value.to - value.from;
  return (
    <>
      {value.devices.map((device) => (
        <table class="tl-pairs">
          <caption>{named(device.label)}</caption>
          <tbody>
            {device.parts.map(([name, ns]) => (
              <tr>
                <th scope="row"><i class="tl-key" style={{ background: board.palette.share(board.info.shares.indexOf(name)) }} />{words(name)}</th>
                <td class="n">{duration(ns)}</td>
                <td class="n">{percent(ns / total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
      {value.devices.length ? null : <p class="aside">{t("No device activity is recorded on this rank.")}</p>}
    </>
  );
}

function Rows({ name, query, place }: { name: string; query: string; place: (columns: readonly Column[], row: readonly Value[]) => RowPlace | null }) {
  const { value, error } = useAnswer<RangeTable>(`api/timeline/range/${name}?${query}`);
  if (error) return <Failure error={error} />;
  if (!value) return <p class="aside" aria-busy="true">{t("loading the table")}</p>;
  if (!value.rows.length) return <p class="aside">{t("The range has none.")}</p>;
  return (
    <>
      {value.count > value.rows.length ? <p class="aside">{woven("The first {rows} of {count} rows.", { rows: value.rows.length, count: value.count.toLocaleString("en-US") })}</p> : null}
      <DataTable name={name} table={value} columns={SHOWN[name] ?? []} sort="total_ns" most={50} place={(row) => place(value.columns, row)} />
    </>
  );
}
