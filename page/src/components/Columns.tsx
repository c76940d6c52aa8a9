import { percent } from "./format";

interface ColumnsProps {
  title: string;
  labels: readonly string[];
  series: readonly { name: string; values: readonly number[] }[];
}

const HEIGHT = 180;
/** Room for the label of the highest line, and for those of lines beside the columns. */
const [TOP, LEFT] = [18, 50];

/** Shares as columns beside each other, for distributions. */
export function Columns({ title, labels, series }: ColumnsProps) {
  // The highest line is a whole tenth, so that its label and that of the half are round.
  const most = Math.ceil(10 * Math.max(0.01, ...series.flatMap((one) => one.values))) / 10;
  const wide = Math.min(72, Math.floor(960 / Math.max(1, labels.length)));
  const bar = (wide - 10) / series.length;
  return (
    <figure class="columns">
      <figcaption>
        {title}
        {series.map((one, i) => <span class="aside"><i class={`key c${i}`} />{one.name}</span>)}
      </figcaption>
      <div class="scroll" tabIndex={0} role="group" aria-label={title}>
        <svg width={LEFT + wide * labels.length + 10} height={TOP + HEIGHT + 30} role="img" aria-label={`${title}: ${labels.map((label, i) => `${label} ${series.map((one) => percent(one.values[i] ?? 0)).join(", ")}`).join("; ")}`}>
          {[0.5, 1].map((part) => <line class="guide" x1="0" x2={LEFT + wide * labels.length + 10} y1={TOP + HEIGHT * (1 - part)} y2={TOP + HEIGHT * (1 - part)} />)}
          {labels.map((label, x) => [
            ...series.map((one, i) => {
              const height = (HEIGHT * (one.values[x] ?? 0)) / most;
              return (
                <rect class={`c${i}`} x={LEFT + 5 + wide * x + bar * i} y={TOP + HEIGHT - height} width={Math.max(1, bar - 1)} height={height}>
                  <title>{`${label}: ${one.name} ${percent(one.values[x] ?? 0)}`}</title>
                </rect>
              );
            }),
            <text x={LEFT + wide * (x + 0.5)} y={TOP + HEIGHT + 18} text-anchor="middle">{label}</text>,
          ])}
          <line x1="0" x2={LEFT + wide * labels.length + 10} y1={TOP + HEIGHT} y2={TOP + HEIGHT} />
          {[0.5, 1].map((part) => <text x="0" y={TOP + HEIGHT * (1 - part) - 4}>{percent(part * most)}</text>)}
        </svg>
      </div>
    </figure>
  );
}
