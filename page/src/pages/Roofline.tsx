import { RankPicker, rankOf } from "../components/RankPicker";
import { quantity, visible } from "../components/format";
import { Scatter, type Point, type Roof } from "../components/Scatter";
import { has, TablePanel, useTable } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import type { PageProps } from "./registry";
import { t } from "../language/t";

const COLUMNS = ["flops", "bytes", "intensity", "flop_rate", "efficiency", "bound"];

/** How close operators come to what the device could do, by intensity. */
export function Roofline({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  return (
    <>
      <header class="with"><h1>{t("Roofline")}</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="roofline" params={params}
        tabs={[
          { id: "operators", title: t("By operator"), show: () => <><Drawn rank={rank} /><TablePanel name="roofline" sort="total_ns" where={{ rank }} columns={["name", "op_class", "dtype", "total_ns", "share", ...COLUMNS]} /></> },
          has(report, "roofline_shapes") ? { id: "shapes", title: t("By input shapes"), show: () => <TablePanel name="roofline_shapes" sort="total_ns" where={{ rank }} columns={["name", "shapes", "dtype", "total_ns", ...COLUMNS]} /> } : null,
          has(report, "mfu") ? { id: "mfu", title: t("MFU by step"), show: () => <TablePanel name="mfu" where={{ rank }} columns={["device", "step", "total_ns", "flops", "flop_rate", "mfu", "covered", "dtype", "peak"]} /> } : null,
        ]}
      />
    </>
  );
}

function Drawn({ rank }: { rank: number }) {
  const { table } = useTable("roofline");
  if (!table) return null;
  const at = Object.fromEntries(table.columns.map((column, i) => [column.name, i]));
  const rows = table.rows.filter((row) => row[at["rank"]!] === rank);
  const groups = [...new Set(rows.map((row) => String(row[at["op_class"]!])))];
  const points = rows.flatMap((row): Point[] => {
    const [x, y] = [row[at["intensity"]!], row[at["flop_rate"]!]];
    if (typeof x !== "number" || typeof y !== "number" || x <= 0 || y <= 0) return [];
    return [{ name: visible(String(row[at["name"]!])), x, y, weight: Number(row[at["total_ns"]!]), group: groups.indexOf(String(row[at["op_class"]!])) }];
  });
  if (!points.length) return null;
  // One roof for each peak that operators are held against, the one of most time first; all have the memory's slope.
  const spent = new Map<string, { roof: Roof; ns: number }>();
  for (const row of rows) {
    const [level, slope, name] = [row[at["peak_flop_rate"]!], row[at["peak_byte_rate"]!], row[at["peak"]!]];
    if (typeof level !== "number" || typeof slope !== "number") continue;
    const known = spent.get(String(name)) ?? { roof: { slope, level, label: `${name}: ${quantity(level, "FLOP/s")}, ${quantity(slope, "bytes/s")}` }, ns: 0 };
    known.ns += Number(row[at["total_ns"]!]);
    spent.set(String(name), known);
  }
  const roofs = [...spent.values()].sort((a, b) => b.ns - a.ns).map(({ roof }) => roof);
  return <Scatter title={t("FLOP/s by intensity; the larger, the more time")} points={points} groups={groups} xUnit="FLOP/byte" yUnit="FLOP/s" roofs={roofs} />;
}
