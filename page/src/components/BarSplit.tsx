import { duration } from "./format";
import { t } from "../language/t";

interface BarSplitProps {
  /** Lengths of the parts, which add up to the bar. */
  parts: readonly number[];
  names: readonly string[];
  /** The length that fills the whole width. */
  longest: number;
  write?: (value: number) => string;
}

const WIDTH = 1000;

/** One bar, split into parts; its label says the same in words. */
export function BarSplit({ parts, names, longest, write = duration }: BarSplitProps) {
  let from = 0;
  const shown = parts.flatMap((part, i) => {
    const x = (WIDTH * from) / longest;
    from += part;
    return part > 0 ? [{ i, part, x, width: Math.max(1, (WIDTH * part) / longest) }] : [];
  });
  const words = shown.map(({ i, part }) => `${names[i]} ${write(part)}`).join(", ");
  return (
    <svg class="bar" viewBox={`0 0 ${WIDTH} 16`} preserveAspectRatio="none" role="img" aria-label={words || t("nothing")}>
      {shown.map(({ i, part, x, width }) => (
        <rect class={`p${i}`} x={x} width={width} height="16">
          <title>{`${names[i]} ${write(part)}`}</title>
        </rect>
      ))}
    </svg>
  );
}
