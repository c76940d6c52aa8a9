import { quantity } from "./format";
import { t } from "../language/t";

export interface Point {
  name: string;
  x: number;
  y: number;
  /** Relative area. */
  weight: number;
  group: number;
}

export interface Roof {
  slope: number;
  level: number;
  label: string;
}

interface ScatterProps {
  title: string;
  points: Point[];
  groups: readonly string[];
  xUnit: string;
  yUnit: string;
  /** Least upper bounds: a slope (y per x) and a level each; the first is the one that most of the time is below. */
  roofs: readonly Roof[];
}

const [WIDTH, HEIGHT, LEFT, BELOW] = [900, 420, 84, 46];

/** Points on logarithmic axes below the roof that a device's bandwidth and rate make. */
export function Scatter({ title, points, groups, xUnit, yUnit, roofs }: ScatterProps) {
  const xs = points.map((point) => point.x);
  const ys = points.map((point) => point.y);
  const ridges = roofs.map((roof) => roof.level / roof.slope);
  const x = axis(Math.min(...xs, ...ridges.map((ridge) => ridge / 10)), Math.max(...xs, ...ridges.map((ridge) => ridge * 10)), LEFT, WIDTH - 30);
  const y = axis(Math.min(...ys), Math.max(...ys, ...roofs.map((roof) => roof.level * 1.2)), HEIGHT - BELOW, 12);
  // Of roofs close to each other, the lower one is named below its line.
  const crowded = (roof: Roof) => roofs.some((other) => other.level > roof.level && y.at(roof.level) - y.at(other.level) < 18);
  const largest = Math.max(...points.map((point) => point.weight), 1);
  const named = labelled(points, (point) => [x.at(point.x), y.at(point.y)]);
  const write = (value: number, unit: string) => (unit === "FLOP/byte" ? String(Number(value.toPrecision(3))) : quantity(value, unit));
  return (
    <figure class="scatter">
      <figcaption>
        {title}
        {groups.map((group, i) => <span class="aside"><i class={`key c${i % 8}`} />{group}</span>)}
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={t("{title}: {points} points, as in the table below", { title, points: points.length })}>
        {x.ticks.map((tick) => [<line class="grid" x1={x.at(tick)} x2={x.at(tick)} y1="12" y2={HEIGHT - BELOW} />, <text x={x.at(tick)} y={HEIGHT - BELOW + 18} text-anchor="middle">{write(tick, xUnit)}</text>])}
        {y.ticks.map((tick) => [<line class="grid" x1={LEFT} x2={WIDTH - 30} y1={y.at(tick)} y2={y.at(tick)} />, <text x={LEFT - 8} y={y.at(tick) + 4} text-anchor="end">{write(tick, yUnit)}</text>])}
        <text x={(LEFT + WIDTH) / 2} y={HEIGHT - 6} text-anchor="middle">{xUnit}</text>
        {roofs.map((roof, i) => (
          <g class={i ? "lesser-roof" : ""}>
            <polyline class="roof" points={[[x.low, x.low * roof.slope], [roof.level / roof.slope, roof.level], [x.high, roof.level]].map(([a, b]) => `${x.at(a!)},${Math.min(HEIGHT - BELOW, y.at(b!))}`).join(" ")} />
            <text class="roof" x={WIDTH - 34} y={y.at(roof.level) + (crowded(roof) ? 13 : -5)} text-anchor="end">{roof.label}</text>
          </g>
        ))}
        {points.map((point) => (
          <g>
            <circle class={`c${point.group % 8}`} cx={x.at(point.x)} cy={y.at(point.y)} r={3 + 13 * Math.sqrt(point.weight / largest)}>
              <title>{`${point.name}: ${write(point.x, xUnit)} ${xUnit}, ${write(point.y, yUnit)}`}</title>
            </circle>
            {named.has(point) ? <text x={x.at(point.x)} y={y.at(point.y) - 6 - 13 * Math.sqrt(point.weight / largest)} text-anchor={x.at(point.x) > WIDTH - 160 ? "end" : "middle"}>{point.name}</text> : null}
          </g>
        ))}
      </svg>
    </figure>
  );
}

/** The largest points whose names do not lie on each other. */
function labelled(points: Point[], at: (point: Point) => [number, number]): Set<Point> {
  const taken: [number, number, number][] = [];
  const found = new Set<Point>();
  for (const point of [...points].sort((a, b) => b.weight - a.weight).slice(0, 12)) {
    const [x, y] = at(point);
    const half = 3.2 * point.name.length;
    if (taken.some(([a, b, other]) => Math.abs(a - x) < half + other && Math.abs(b - y) < 16)) continue;
    taken.push([x, y, half]);
    found.add(point);
  }
  return found;
}

function axis(least: number, most: number, from: number, to: number) {
  const low = 10 ** Math.floor(Math.log10(Math.max(least, 1e-12)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(most, low * 10)));
  const span = Math.log10(high / low);
  const step = Math.max(1, Math.ceil(span / 8));
  const ticks = Array.from({ length: Math.floor(span / step + 1e-9) + 1 }, (_, i) => low * 10 ** (i * step));
  return { low, high, ticks, at: (value: number) => from + ((to - from) * Math.log10(Math.max(value, low) / low)) / span };
}
