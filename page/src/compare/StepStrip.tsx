import { DataTable } from "../components/DataTable";
import { duration } from "../components/format";
import type { Column, ComparisonHead, SideName } from "../data/types";
import { t, told, woven } from "../language/t";

const [LEFT, WIDTH, ROW] = [52, 560, 34];
const SIDES: readonly SideName[] = ["base", "new"];
const COLUMNS: Column[] = [
  { name: "side", type: "string", unit: "", description: t("Recording: the base or the new one.") },
  { name: "step", type: "int64", unit: "id", description: t("Number of the step.") },
  { name: "length_ns", type: "int64", unit: "ns", description: t("From its start to that of the next one, or its end.") },
];

/** How long each step took: a dot per step, a line at the median. */
export function StepStrip({ sides, times }: { sides: ComparisonHead["sides"]; times: ComparisonHead["step_time"] }) {
  const lengths = SIDES.map((side) => sides[side].moments.map(([, from, to]) => to - from));
  const all = lengths.flat();
  if (times.unit === "window" || all.length < 3) return null;
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const air = (most - least || most) * 0.06;
  const [low, high] = [Math.max(0, least - air), most + air];
  const x = (ns: number) => LEFT + ((WIDTH - LEFT - 14) * (ns - low)) / (high - low || 1);
  const medians = [times.base_median_ns, times.new_median_ns];
  return (
    <figure class="strip">
      <figcaption>{woven("Steps {aside}", { aside: <span class="aside">{t("a dot each, and their median")}</span> })}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${2 * ROW + 26}`} role="img" aria-label={SIDES.map((side, i) => t("{side}: {count} steps, median {median}", { side: told(side), count: lengths[i]!.length, median: duration(medians[i]) })).join("; ")}>
        {SIDES.map((side, i) => (
          <g>
            <text x="0" y={ROW * i + ROW / 2 + 4}>{told(side)}</text>
            <line class="rule" x1={LEFT} x2={WIDTH} y1={ROW * (i + 1)} y2={ROW * (i + 1)} />
            {lengths[i]!.map((ns, n) => (
              <circle class={`c${i}`} cx={x(ns)} cy={ROW * i + ROW / 2 + (n % 3) * 4 - 4} r="4.5"><title>{t("{side}, step {step}: {ns}", { side: told(side), step: sides[side].moments[n]![0], ns: duration(ns) })}</title></circle>
            ))}
            <line class="median" x1={x(medians[i]!)} x2={x(medians[i]!)} y1={ROW * i + 3} y2={ROW * i + ROW - 3} />
          </g>
        ))}
        <text x={x(least)} y={2 * ROW + 18} text-anchor="start">{duration(least)}</text>
        <text x={x(most)} y={2 * ROW + 18} text-anchor="end">{duration(most)}</text>
      </svg>
      <details class="lesser">
        <summary>{t("Steps as a table")}</summary>
        <DataTable name="steps" table={{ columns: COLUMNS, rows: SIDES.flatMap((side) => sides[side].moments.map(([step, from, to]) => [side, step, to - from])), description: "" }} />
      </details>
    </figure>
  );
}
