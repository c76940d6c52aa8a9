import { useSignal } from "@preact/signals";
import { DataTable } from "../components/DataTable";
import { percent, quantity } from "../components/format";
import { Heat } from "../components/Heat";
import { rowPlace } from "../components/rowPlace";
import { has, useTable } from "../components/TablePanel";
import type { Column, Report, Table, Value } from "../data/types";
import { href } from "../shell/router";
import { sampled } from "./Machine";
import { t } from "../language/t";

/** Of a table per device and step: what is averaged over its steps. */
const MEANS = [
  ["device_utilisation", "utilisation"], ["device_utilisation", "sm_efficiency"], ["device_utilisation", "achieved_occupancy"], ["mfu", "flop_rate"], ["mfu", "mfu"],
] as const;

type Rows = { of: (row: readonly Value[], name: string) => Value; rows: Value[][]; columns: Column[] };
const opened = (table: Table | null): Rows => ({ rows: table?.rows ?? [], columns: table?.columns ?? [], of: (row, name) => row[table?.columns.findIndex((one) => one.name === name) ?? -1] ?? null });
const mean = (values: Value[]): number | null => {
  const known = values.filter((value): value is number => typeof value === "number");
  return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
};

/** Each device as one row: what it is, how busy, at which rates and clocks, power and links; and step by step as a map. */
export function DeviceSummary({ report }: { report: Report }) {
  const name = (table: string) => (has(report, table) ? table : null);
  const tables: Record<string, Rows> = {
    device_utilisation: opened(useTable(name("device_utilisation")).table),
    mfu: opened(useTable(name("mfu")).table),
  };
  const samples = opened(useTable(name("machine_use")).table);
  const links = opened(useTable(name("links")).table);
  const devices = report.ranks.filter((one) => one.device !== null);
  const series = [...new Set(samples.rows.filter((row) => String(samples.of(row, "subject")).startsWith("device ")).map((row) => String(samples.of(row, "series"))))];
  const units = new Map(samples.rows.map((row) => [String(samples.of(row, "series")), String(samples.of(row, "unit"))]));
  const sent = (rank: number): number | null => {
    const mine = links.rows.filter((row) => links.of(row, "rank") === rank && links.of(row, "src") !== links.of(row, "dst"));
    const [bytes, ns] = ["bytes", "total_ns"].map((one) => mine.reduce((sum, row) => sum + Number(links.of(row, one) ?? 0), 0)) as [number, number];
    return ns && bytes ? (1e9 * bytes) / ns : null;
  };
  const columns: Column[] = [
    { name: "rank", type: "int32", unit: "id", description: t("Rank that uses it.") },
    { name: "device", type: "int32", unit: "id", description: t("Index of the device.") },
    { name: "model", type: "string", unit: "", description: t("What it is.") },
    ...MEANS.map(([table, column]): Column => tables[table]?.columns.find((one) => one.name === column) ?? { name: column, type: "float64", unit: "", description: "" }),
    { name: "link_rate", type: "float64", unit: "bytes/s", description: t("Bytes over time of all transfers to other ranks.") },
    ...series.map((one): Column => ({ name: one, type: "float64", unit: "", description: t("Sampled beside the recording: mean, in the unit that is shown.") })),
  ];
  const rows = devices.map(({ rank, device, name: model }): Value[] => {
    const mine = (one: Rows) => one.rows.filter((row) => one.of(row, "rank") === rank && (one.of(row, "device") ?? device) === device);
    const sample = (wanted: string) => samples.rows.find((row) => samples.of(row, "rank") === rank && samples.of(row, "subject") === `device ${device}` && samples.of(row, "series") === wanted);
    return [
      rank, device, model,
      ...MEANS.map(([table, column]) => mean(mine(tables[table]!).map((row) => tables[table]!.of(row, column)))),
      sent(rank),
      ...series.map((one) => { const row = sample(one); return row ? samples.of(row, "mean") : null; }),
    ];
  });
  const cell = (column: Column, value: Value) => {
    if (typeof value !== "number") return undefined;
    if (series.includes(column.name)) return sampled(value, units.get(column.name) ?? "");
    return column.unit && column.unit !== "id" ? (column.unit === "fraction" ? percent(value) : quantity(value, column.unit)) : undefined;
  };
  return (
    <>
      <DataTable name="devices" table={{ columns, rows, description: t("A device, and means over its steps.") }} cell={cell} place={(row) => rowPlace(columns, row, { table: "devices" })} />
      <ByStep utilisation={tables["device_utilisation"]!} />
    </>
  );
}

const MEASURES = { utilisation: t("Time with a kernel"), sm_efficiency: t("SMs with work"), achieved_occupancy: t("Occupancy") } as const;

/** How busy each device was in each step. */
function ByStep({ utilisation }: { utilisation: Rows }) {
  const chosen = useSignal<keyof typeof MEASURES>("utilisation");
  const known = (Object.keys(MEASURES) as (keyof typeof MEASURES)[]).filter((key) => utilisation.rows.some((row) => typeof utilisation.of(row, key) === "number"));
  const measure = known.includes(chosen.value) ? chosen.value : (known[0] ?? "utilisation");
  const cells = new Map<string, number>();
  const [places, steps] = [new Map<string, { rank: number; device: Value }>(), new Set<number>()];
  for (const row of utilisation.rows) {
    const [rank, device, step, value] = ["rank", "device", "step", measure].map((one) => utilisation.of(row, one));
    if (typeof step !== "number" || typeof value !== "number") continue;
    const key = `${rank}${device === null ? "" : `:${device}`}`;
    places.set(key, { rank: Number(rank), device: device ?? null });
    steps.add(step);
    cells.set(`${key} ${step}`, value);
  }
  const [rows, columns] = [[...places.keys()], [...steps].sort((a, b) => a - b)];
  if (columns.length < 2) return null;
  return (
    <>
      <label class="picker">{t("Show")}{" "}
        <select value={measure} onChange={(event) => (chosen.value = event.currentTarget.value as keyof typeof MEASURES)}>
          {known.map((key) => <option value={key}>{MEASURES[key]}</option>)}
        </select>
      </label>
      <Heat title={t("{measure} of devices by step", { measure: MEASURES[measure] })} rows={rows} columns={columns} rowName={t("rank and device")} columnName={t("step")}
        value={(y, x) => cells.get(`${rows[y]} ${columns[x]}`) ?? null} write={percent}
        choose={(y, x) => { location.hash = href("timeline", { rank: places.get(rows[y]!)?.rank, step: columns[x] }); }} />
    </>
  );
}
