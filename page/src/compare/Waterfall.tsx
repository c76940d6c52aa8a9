import { TablePanel, useTable } from "../components/TablePanel";
import { duration, NONE, percent } from "../components/format";
import type { ComparisonHead, Table } from "../data/types";
import { fallOf, wordsOf, type Fall } from "./fall";
import { BESIDE, signed } from "./cells";
import { t, told, woven } from "../language/t";

const WIDTH = 1000;

/** From the base's step to the new one: each part moves the end by what it differs; the rows add up. */
export function Waterfall({ report }: { report: ComparisonHead }) {
  const { table } = useTable("step_parts");
  const whole = report.step_time.unit === "window";
  const { falls, from, to } = fallOf(report.parts, detailsOf(table));
  const base = report.parts.reduce((sum, part) => sum + part.base_ns, 0);
  const made = report.parts.reduce((sum, part) => sum + part.new_ns, 0);
  const x = (ns: number) => (WIDTH * (Math.max(ns, from) - from)) / (to - from || 1);
  const total = (name: string, ns: number) => (
    <tr class="total">
      <th scope="row">{told(name)}</th>
      <td class="n">{name === "base" ? duration(base) : ""}</td><td class="n">{name === "new" ? duration(made) : ""}</td>
      <td class="n">{name === "new" ? difference(made - base) : ""}</td><td class="n">{name === "new" && base ? percentOf(made - base, base) : ""}</td>
      <td><Bar label={`${told(name)} ${duration(ns)}`} parts={[["whole", 0, x(ns)]]} edges={[x(ns)]} /></td>
    </tr>
  );
  return (
    <section class="part" aria-label={t("What the difference is made of")}>
      <h2>{woven("What the difference is made of {aside}", { aside: <span class="aside">{whole ? t("of the whole recordings; the rows add up") : t("per step; the rows add up")}</span> })}</h2>
      <div class="scroll" tabIndex={0} role="group" aria-label={t("What the difference is made of")}>
        <table class="grid waterfall">
          <thead>
            <tr>
              <th scope="col">{t("part")}</th><th scope="col" class="n">{t("base")}</th><th scope="col" class="n">{t("new")}</th>
              <th scope="col" class="n">{t("difference")}</th><th scope="col" class="n">{whole ? t("of whole") : t("of step")}</th>
              <th scope="col" class="axis"><span>{from ? duration(from) : "0"}</span><span>{duration(to)}</span></th>
            </tr>
          </thead>
          <tbody>
            {total("base", base)}
            {falls.map((fall) => (
              <tr>
                <th scope="row" class={fall.inner ? "inner" : ""}>{told(fall.name)}</th>
                <td class="n">{duration(fall.base)}</td><td class="n">{duration(fall.made)}</td>
                <td class="n">{difference(fall.made - fall.base)}</td><td class="n">{base ? percentOf(fall.made - fall.base, base) : NONE}</td>
                <td><Bar label={`${told(fall.name)} ${fall.made > fall.base ? "+" : ""}${duration(fall.made - fall.base)}`} parts={[[kindOf(fall), x(Math.min(fall.from, fall.to)), x(Math.max(fall.from, fall.to))]]} edges={[x(fall.from), x(fall.to)]} /></td>
              </tr>
            ))}
            {total("new", made)}
          </tbody>
        </table>
      </div>
      {from ? <p class="aside">{woven("The drawing begins at {from}, so that differences are seen.", { from: duration(from) })}</p> : null}
      <details class="lesser">
        <summary>{t("As a table to sort, filter and take along")}</summary>
        <TablePanel name="step_parts" cell={signed} alike={BESIDE} />
      </details>
    </section>
  );
}

function Bar({ label, parts, edges }: { label: string; parts: [string, number, number][]; edges: number[] }) {
  return (
    <svg class="fall" viewBox={`0 0 ${WIDTH} 20`} preserveAspectRatio="none" role="img" aria-label={label}>
      {parts.map(([kind, from, to]) => <rect class={kind} x={from} y="3" width={Math.max(2, to - from)} height="14" />)}
      {edges.map((at) => <line x1={at} x2={at} y1="0" y2="20" />)}
    </svg>
  );
}

const kindOf = (fall: Fall): string => `${fall.made > fall.base ? "longer" : "shorter"}${fall.inner ? " inner-part" : ""}`;
function percentOf(part: number, base: number): string {
  const share = Math.round((1000 * part) / base) / 1000 || 0;
  return `${share > 0 ? "+" : ""}${percent(share)}`;
}

function difference(ns: number) {
  return <span class={ns > 0 ? "longer" : ns < 0 ? "shorter" : ""}>{ns > 0 ? "+" : ""}{duration(ns)}</span>;
}

function detailsOf(table: Table | null): Map<string, { name: string; base: number; made: number }[]> {
  const found = new Map<string, { name: string; base: number; made: number }[]>();
  const at = (name: string) => table?.columns.findIndex((column) => column.name === name) ?? -1;
  const [part, detail, base, made] = [at("part"), at("detail"), at("base_ns"), at("new_ns")];
  for (const row of table?.rows ?? []) {
    const key = String(row[part]);
    found.set(key, [...(found.get(key) ?? []), { name: wordsOf(String(row[detail] ?? "other")), base: Number(row[base]), made: Number(row[made]) }]);
  }
  return found;
}
