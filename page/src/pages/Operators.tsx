import { DataTable } from "../components/DataTable";
import { visible } from "../components/format";
import { RankPicker, rankOf } from "../components/RankPicker";
import { Shares } from "../components/Shares";
import { has, TablePanel, useTable } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import { Breaking, Stack } from "../components/Words";
import type { Column, Table, Value } from "../data/types";
import { href } from "../shell/router";
import type { PageProps } from "./registry";
import { t, woven } from "../language/t";

const SELF = ["total_ns", "self_ns", "count", "self_device_ns", "total_device_ns", "kernels"];

/** Operators by name, by input shapes, by call stack and by module: host and device, self and total. */
export function Operators({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  const name = params.get("name");
  const stacks = has(report, "operators_by_stack");
  if (name !== null && stacks) return <CallFrames name={name} rank={rank} />;
  const cell = (column: Column, value: Value, text: string) =>
    column.name === "stack" && typeof value === "string" ? <Stack frames={value.split(";")} />
      : column.name === "name" && stacks ? <a href={href("operators", { rank, name: String(value) })} title={t("View call frames")}><Breaking text={text} /></a> : undefined;
  const view = (id: string, table: string, title: string, first: string[]) =>
    has(report, table) ? { id, title, show: () => <TablePanel name={table} columns={["name", ...first, ...SELF]} sort={deviceFirst(report) ? "self_device_ns" : "self_ns"} where={{ rank }} cell={cell} /> } : null;
  const byName = view("names", "operators", t("By operator"), []);
  return (
    <>
      <header class="with"><h1>{t("Operators")}</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="operators" params={params}
        tabs={[
          byName ? { ...byName, show: () => <><OperatorShares rank={rank} />{byName.show()}</> } : null,
          view("shapes", "operators_by_shape", t("By input shapes"), ["shapes", "dtypes"]),
          view("stacks", "operators_by_stack", t("By call stack"), ["stack"]),
          view("modules", "operators_by_module", t("By module"), ["module"]),
          has(report, "api_calls") ? { id: "calls", title: t("Runtime calls"), show: () => <TablePanel name="api_calls" sort="total_ns" where={{ rank }} columns={["name", "category", "total_ns", "share", "count", "mean_ns", "median_ns", "max_ns", "threads"]} /> } : null,
          has(report, "annotations") ? { id: "annotations", title: t("Annotations"), show: () => <TablePanel name="annotations" sort="total_ns" where={{ rank }} /> } : null,
          has(report, "projected_ranges") ? { id: "ranges", title: t("Ranges on the device"), show: () => <TablePanel name="projected_ranges" sort="total_ns" where={{ rank }} columns={["name", "category", "total_ns", "count", "mean_ns", "max_ns", "host_ns", "activities", "device_ns"]} /> } : null,
          has(report, "os_runtime") ? { id: "system", title: t("Operating system"), show: () => <TablePanel name="os_runtime" sort="total_ns" where={{ rank }} /> } : null,
        ]}
      />
    </>
  );
}

const deviceFirst = (report: PageProps["report"]): boolean => has(report, "kernels");

function OperatorShares({ rank }: { rank: number }) {
  const { table } = useTable("operators");
  if (!table) return null;
  return (
    <div class="beside">
      <Shares table={table} by="name" value="self_device_ns" where={{ rank }} caption={t("Device time, self")} most={6} />
      <Shares table={table} by="name" value="self_ns" where={{ rank }} caption={t("Host time, self")} most={6} />
    </div>
  );
}

/** The distinct call stacks of one operator, with file and line, innermost first. */
function CallFrames({ name, rank }: { name: string; rank: number }) {
  const { table } = useTable("operators_by_stack");
  const narrowed = table ? stacksOf(table, name, rank) : null;
  const cell = (column: Column, value: Value) =>
    column.name === "stack" && typeof value === "string" ? <ol class="frames">{value.split(";").map((frame) => <li>{visible(frame)}</li>)}</ol> : undefined;
  return (
    <>
      <p><a href={href("operators", { rank, tab: "stacks" })}>{t("All operators")}</a></p>
      <h1>{woven("Call frames of {name}", { name: visible(name) })}</h1>
      {narrowed ? <DataTable name="call frames" table={narrowed} columns={["stack", "count", "total_ns", "self_ns", "self_device_ns", "total_device_ns"]} sort="total_ns" cell={cell} /> : null}
    </>
  );
}

function stacksOf(table: Table, name: string, rank: number): Table {
  const at = (column: string) => table.columns.findIndex((one) => one.name === column);
  return { ...table, rows: table.rows.filter((row) => row[at("name")] === name && row[at("rank")] === rank) };
}
