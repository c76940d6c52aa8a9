import { DataTable } from "../components/DataTable";
import { Failure } from "../components/Failure";
import { percent, quantity } from "../components/format";
import { RankPicker, rankOf } from "../components/RankPicker";
import { has, TablePanel, useTable } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import { Prose } from "../components/Words";
import type { Column, Value } from "../data/types";
import { href } from "../shell/router";
import { DeviceSummary } from "./DeviceSummary";
import type { PageProps } from "./registry";
import { t, woven } from "../language/t";

/** How busy the devices were step by step, and what was sampled of the machine beside the recording. */
export function Machine({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  return (
    <>
      <header class="with"><h1>{t("Devices and machine")}</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="machine" params={params}
        tabs={[
          report.ranks.some((one) => one.device !== null) ? { id: "summary", title: t("Devices"), show: () => <DeviceSummary report={report} /> } : null,
          has(report, "device_utilisation") ? { id: "devices", title: t("Devices by step"), show: () => <><Prose text={report.tables["device_utilisation"]?.description} /><TablePanel name="device_utilisation" where={{ rank }} columns={["device", "step", "total_ns", "kernel_ns", "utilisation", "sm_efficiency", "achieved_occupancy"]} /></> } : null,
          has(report, "machine_use") ? { id: "samples", title: t("Machine"), show: () => <MachineUse report={report} most={60} /> } : null,
        ]}
      />
    </>
  );
}

const UNITS: Record<string, string> = { count: "", degrees: "°C" };

/** A sampled value with the unit of its row. */
export function sampled(value: number, unit: string): string {
  if (unit === "share") return percent(value);
  const plain = quantity(value, unit);
  return ["ns", "bytes", "bytes/s"].includes(unit) ? plain : `${plain} ${UNITS[unit] ?? unit}`.trimEnd();
}

const VALUES = ["mean", "median", "min", "max"];
/** What is looked at first; the single cores, of which there may be hundreds, come last. */
const ORDER = ["device", "processors", "job", "memory", "disk", "network"];

/** What was sampled of processors, memory, disks, network, devices and the job; values have the unit of their row. */
export function MachineUse({ report, most }: Pick<PageProps, "report"> & { most: number }) {
  const { table, error } = useTable("machine_use");
  if (error) return <Failure error={error} />;
  if (!table) return <p class="aside" aria-busy="true">{t("loading samples of the machine")}</p>;
  const at = (name: string) => table.columns.findIndex((column) => column.name === name);
  const [unit, subject] = [at("unit"), at("subject")];
  const place = (row: readonly Value[]) => {
    const kind = String(row[subject]).split(" ")[0] ?? "";
    return ORDER.includes(kind) ? ORDER.indexOf(kind) : ORDER.length + Number(kind === "core");
  };
  const rows = [...table.rows].sort((a, b) => place(a) - place(b));
  const write = (column: Column, value: Value, _text: string, row: readonly Value[]) =>
    VALUES.includes(column.name) && typeof value === "number" ? sampled(value, String(row[unit] ?? "")) : undefined;
  const several = new Set(rows.map((row) => row[at("rank")])).size > 1;
  return (
    <>
      <Prose text={report.tables["machine_use"]?.description} />
      <DataTable name="machine_use" table={{ ...table, rows }} columns={[...(several ? ["rank"] : []), "subject", "series", ...VALUES, "count", "profiled"]} cell={write} most={most} />
      <p class="aside">{woven("Over time they are the counters of the {timeline}.", { timeline: <a href={href("timeline")}>{t("timeline")}</a> })}</p>
    </>
  );
}
