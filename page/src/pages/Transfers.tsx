import { RankPicker, rankOf } from "../components/RankPicker";
import { has, TablePanel } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import { Prose } from "../components/Words";
import type { PageProps } from "./registry";
import { t } from "../language/t";

/** Data loading, copies, and where the host waits for the device. */
export function Transfers({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  const view = (id: string, table: string, title: string, columns: string[]) =>
    has(report, table) ? { id, title, show: () => <><Prose text={report.tables[table]?.description} /><TablePanel name={table} sort="total_ns" where={{ rank }} columns={columns} /></> } : null;
  return (
    <>
      <header class="with"><h1>{t("Data loading and copies")}</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="transfers" params={params}
        tabs={[
          view("loading", "dataloader", t("Data loading"), ["name", "count", "total_ns", "mean_ns", "max_ns", "per_step_ns", "share_of_steps", "first_ns", "later_median_ns", "later_max_ns"]),
          view("copies", "copies", t("Copies"), ["name", "count", "total_ns", "share", "mean_ns", "max_ns", "bytes", "median_bytes", "bandwidth", "blocking", "blocked_ns"]),
          view("waits", "synchronisations", t("Synchronisations"), ["name", "kind", "operator", "annotation", "line", "count", "total_ns", "mean_ns", "max_ns", "busy_ns", "idle_ns", "refill_ns"]),
        ]}
      />
    </>
  );
}
