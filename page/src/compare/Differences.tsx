import { has, TablePanel } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import type { ComparisonHead } from "../data/types";
import { BESIDE, signed } from "./cells";

/** Tables of differences by what they split. */
export const SPLITS: readonly { id: string; title: string; tables: readonly string[] }[] = [
  { id: "classes", title: "Classes", tables: ["compute_classes"] },
  { id: "modules", title: "Modules", tables: ["compute_module_classes", "compute_modules"] },
  { id: "operators", title: "Operators", tables: ["compute_operators"] },
  { id: "calls", title: "Calls", tables: ["compute_calls"] },
  { id: "kernels", title: "Kernels", tables: ["compute_kernels", "kernel_shapes", "kernel_types"] },
  { id: "communication", title: "Communication", tables: ["communication"] },
  { id: "memory", title: "Memory", tables: ["memory", "memory_calls", "memory_peak"] },
  { id: "host", title: "Host", tables: ["api"] },
  { id: "phases", title: "Phases", tables: ["step_phases"] },
  { id: "overall", title: "Overall", tables: ["overall"] },
];
const FIRST: Record<string, readonly string[]> = {
  compute_kernels: ["operator", "kernel", "op_class", "base_ns", "new_ns", "diff_ns", "ratio"],
  compute_modules: ["name", "match", "base_ns", "new_ns", "diff_ns", "ratio", "base_total_ns", "new_total_ns", "base_backward_ns", "new_backward_ns"],
  compute_calls: ["name", "match", "base_ns", "new_ns", "diff_ns", "ratio", "base_path"],
};

/** Every split of the difference as a table; what differs most comes first. */
export function Differences({ report, params }: { report: ComparisonHead; params: URLSearchParams }) {
  return (
    <>
      <h1>Differences</h1>
      <Tabs
        page="differences" params={params} hold={[]}
        tabs={SPLITS.map(({ id, title, tables }) => {
          const full = tables.filter((name) => has(report, name));
          return full.length ? {
            id, title,
            show: () => full.map((name) => (
              <section key={name}>
                {full.length > 1 ? <h2>{name.replace("compute_", "").replaceAll("_", " ")}</h2> : null}
                <p class="prose">{report.tables[name]?.description}</p>
                <TablePanel name={name} cell={signed} alike={BESIDE} columns={FIRST[name] ?? []} />
              </section>
            )),
          } : null;
        })}
      />
    </>
  );
}
