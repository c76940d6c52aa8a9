import { percent } from "../components/format";
import type { ComparisonHead } from "../data/types";
import { t, woven } from "../language/t";

const [WIDTH, ROW] = [560, 46];

/** By how much the new side takes longer, with the interval that noise leaves; without an upper end it is open. */
export function Interval({ times }: { times: ComparisonHead["step_time"] }) {
  const { ratio, ratio_low: low, ratio_high: high } = times;
  if (ratio === null || low === null) return null;
  const [least, most] = [Math.min(low, 0.99), Math.max(high ?? 2 * ratio, 1.01)];
  const air = (most - least) * 0.12;
  const x = (value: number) => (WIDTH * (value - least + air)) / (most - least + 2 * air);
  const sign = (value: number) => `${value > 1 ? "+" : ""}${percent(value - 1)}`;
  const rates = times.method === "rates";
  const confidence = Math.round(100 * (times.confidence ?? 0));
  const chance = rates ? t("nine of ten calls of kernels") : t("{confidence} % interval", { confidence });
  const ends = { low: sign(low), high: high === null ? "" : sign(high) };
  const middle = high === null
    ? t("{ratio}, {chance} {low} and more", { ratio: sign(ratio), chance, low: ends.low })
    : t("{ratio}, {chance} {low} to {high}", { ratio: sign(ratio), chance, ...ends });
  const kind = low > 1 ? "longer" : high !== null && high < 1 ? "shorter" : "same";
  return (
    <figure class="strip">
      <figcaption>{woven("Difference {aside}", { aside: <span class="aside">{rates ? t("and that of nine of ten calls of kernels; within 1 % is the same") : t("and its {confidence} % interval; within 1 % is the same", { confidence })}</span> })}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${ROW + 48}`} role="img" aria-label={middle}>
        <rect class="same-band" x={x(0.99)} y="0" width={x(1.01) - x(0.99)} height={ROW + 22} />
        <line class="zero" x1={x(1)} x2={x(1)} y1="0" y2={ROW + 22} />
        <rect class={kind} x={x(low)} y={ROW / 2 - 5} width={Math.max(3, (high === null ? WIDTH : x(high)) - x(low))} height="10" rx="5" />
        <circle class={`${kind} middle`} cx={x(ratio)} cy={ROW / 2} r="8" />
        <text x={x(1)} y={ROW + 38} text-anchor={x(1) > WIDTH - 30 ? "end" : x(1) < 30 ? "start" : "middle"}>0 %</text>
        <text class="ends" x={Math.min(Math.max(x(low), 0), WIDTH - 130)} y={ROW + 2}>{high === null ? woven("{low} and more", ends) : woven("{low} to {high}", ends)}</text>
      </svg>
    </figure>
  );
}
