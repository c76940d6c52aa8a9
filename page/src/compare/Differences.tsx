import { TablePanel } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import { Prose } from "../components/Words";
import type { ComparisonHead } from "../data/types";
import { BESIDE, signed } from "./cells";
import { t } from "../language/t";

const FIRST: Record<string, readonly string[]> = {
  compute_kernels: ["operator", "kernel", "op_class", "base_ns", "new_ns", "diff_ns", "ratio"],
  compute_modules: ["name", "match", "base_ns", "new_ns", "diff_ns", "ratio", "base_total_ns", "new_total_ns", "base_backward_ns", "new_backward_ns"],
  compute_calls: ["name", "match", "base_ns", "new_ns", "diff_ns", "ratio", "base_path"],
  memory_calls: ["name", "match", "base_bytes", "new_bytes", "diff_bytes", "ratio", "base_path"],
};

/** Every split of the difference as a table; what differs most comes first. */
export function Differences({ report, params }: { report: ComparisonHead; params: URLSearchParams }) {
  return (
    <>
      <h1>{t("Differences")}</h1>
      <Tabs
        page="differences" params={params} hold={[]}
        tabs={report.splits.map(({ id, title, tables }) => ({
          id, title,
          show: () => tables.map((name) => (
            <section key={name}>
              {tables.length > 1 ? <h2>{name.replace("compute_", "").replaceAll("_", " ")}</h2> : null}
              <Prose text={report.tables[name]?.description} />
              <TablePanel name={name} cell={signed} alike={BESIDE} columns={FIRST[name] ?? []} />
            </section>
          )),
        }))}
      />
    </>
  );
}
