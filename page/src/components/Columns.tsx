import { percent } from "./format";

interface ColumnsProps {
  title: string;
  labels: readonly string[];
  series: readonly { name: string; values: readonly number[] }[];
}

const HEIGHT = 180;

/** Shares as columns beside each other, for distributions. */
export function Columns({ title, labels, series }: ColumnsProps) {
  const most = Math.max(1e-9, ...series.flatMap((one) => one.values));
  const wide = Math.min(72, Math.floor(1000 / Math.max(1, labels.length)));
  const bar = (wide - 10) / series.length;
  return (
    <figure class="columns">
      <figcaption>
        {title}
        {series.map((one, i) => <span class="aside"><i class={`key c${i}`} />{one.name}</span>)}
      </figcaption>
      <div class="scroll" tabIndex={0} role="group" aria-label={title}>
        <svg width={wide * labels.length + 10} height={HEIGHT + 40} role="img" aria-label={`${title}: ${labels.map((label, i) => `${label} ${series.map((one) => percent(one.values[i] ?? 0)).join(", ")}`).join("; ")}`}>
          {labels.map((label, x) => [
            ...series.map((one, i) => {
              const height = (HEIGHT * (one.values[x] ?? 0)) / most;
              return (
                <rect class={`c${i}`} x={5 + wide * x + bar * i} y={HEIGHT - height} width={Math.max(1, bar - 1)} height={height}>
                  <title>{`${label}: ${one.name} ${percent(one.values[x] ?? 0)}`}</title>
                </rect>
              );
            }),
            <text x={wide * (x + 0.5)} y={HEIGHT + 18} text-anchor="middle">{label}</text>,
          ])}
          <line x1="0" x2={wide * labels.length + 10} y1={HEIGHT} y2={HEIGHT} />
        </svg>
      </div>
    </figure>
  );
}
