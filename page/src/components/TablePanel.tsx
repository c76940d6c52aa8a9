import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getTable, Refused } from "../data/client";
import type { Report, Table } from "../data/types";
import { DataTable, type DataTableProps } from "./DataTable";
import { Failure } from "./Failure";
import { rowPlace } from "./rowPlace";
import { woven } from "../language/t";

/** A table of the report, or null until it is there; an error is a sentence. Null for a name asks for none. */
export function useTable(name: string | null): { table: Table | null; error: Refused | null } {
  const table = useSignal<Table | null>(null);
  const error = useSignal<Refused | null>(null);
  useEffect(() => {
    let wanted = true;
    table.value = null;
    error.value = null;
    if (name === null) return undefined;
    getTable(name).then(
      (found) => wanted && (table.value = found),
      (problem) => wanted && (error.value = problem instanceof Refused ? problem : new Refused(String(problem))),
    );
    return () => {
      wanted = false;
    };
  }, [name]);
  return { table: table.value, error: error.value };
}

type Shown = Omit<DataTableProps, "table" | "name">;

/** A table of the report by name, fetched when it is first shown. */
export function TablePanel({ name, ...rest }: { name: string } & Shown) {
  const { table, error } = useTable(name);
  if (error) return <Failure error={error} />;
  if (table === null) return <p class="aside" aria-busy="true">{woven("loading {name}", { name: name.replaceAll("_", " ") })}</p>;
  const left = (table.count ?? table.rows.length) - table.rows.length;
  return (
    <>
      <DataTable key={name} name={name} table={table} place={(row) => rowPlace(table.columns, row, { table: name, ...(typeof rest.where?.["rank"] === "number" ? { rank: rest.where["rank"] } : {}) })} {...rest} />
      {left > 0 ? <p class="aside">{woven("{left} more rows are not in this file: open the recording with stepscope view.", { left: left.toLocaleString("en-US") })}</p> : null}
    </>
  );
}

/** Whether the report has rows of a table. */
export function has(report: Pick<Report, "tables">, ...names: string[]): boolean {
  return names.some((name) => (report.tables[name]?.count ?? 0) > 0);
}
