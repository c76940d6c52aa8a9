/** Colours of events by kind and of a device's time by what it did, for light and dark. */

/** Hue, saturation and lightness in light colours; dark ones are a little deeper. Text on all of them is dark. */
type Shade = readonly [number, number, number];

const KINDS: Record<string, Shade> = {
  step: [215, 35, 80], annotation: [190, 35, 74], module: [265, 45, 82], op: [205, 70, 74], python: [48, 60, 76],
  runtime: [20, 65, 78], sync: [355, 75, 76], launch: [28, 75, 74], queue: [330, 35, 80], kernel: [140, 40, 68],
  collective: [292, 50, 76], copy: [38, 85, 66], set: [42, 55, 76], gc: [0, 70, 70], dataloader: [95, 45, 66],
  overhead: [330, 55, 80], other: [220, 10, 80],
};
const CLASSES: Record<string, Shade> = {
  gemm: [150, 50, 62], attention: [178, 50, 62], convolution: [120, 40, 64], normalisation: [82, 50, 64],
  elementwise: [60, 55, 66], reduction: [100, 35, 74], embedding: [165, 30, 76], optimizer: [232, 55, 80],
  collective: [292, 50, 76], copy: [38, 85, 66], other: [140, 15, 74],
};
const SHARES: Record<string, Shade> = {
  computing: [150, 48, 52], "exposed communication": [292, 45, 62], "exposed copy": [38, 90, 52],
  data_wait: [14, 85, 62], synchronisation: [352, 70, 66], allocation: [24, 45, 50], host_dispatch: [208, 60, 72],
  launch_latency: [222, 35, 84], dependency: [178, 35, 72], profiler_overhead: [330, 60, 80], unknown: [220, 8, 86],
};
/** Details of one cause differ in lightness. */
const STEPS = 4;
/** Names of one kind differ a little, so that neighbours can be told apart. */
const TINTS = 7;

function css([hue, saturation, lightness]: Shade, dark: boolean, by = 0): string {
  const light = (dark ? lightness * 0.86 : lightness) + by;
  return `hsl(${hue} ${dark ? saturation * 0.8 : saturation}% ${Math.max(20, Math.min(92, light))}%)`;
}

export class Palette {
  private readonly kinds: string[][];
  private readonly shares: string[];
  readonly ink: string;
  readonly soft: string;
  readonly line: string;
  readonly back: string;
  readonly raise: string;
  readonly accent: string;
  readonly bad: string;
  readonly warn: string;
  readonly onFill = "#14171c";

  constructor(kinds: readonly string[], shares: readonly string[], dark: boolean, colour: (name: string) => string) {
    const shade = (kind: string): Shade => {
      const [group, name] = kind.split(":");
      return (name === undefined ? KINDS[kind] : CLASSES[name]) ?? (group === "kernel" ? [140, 15, 74] : [220, 10, 80]);
    };
    this.kinds = kinds.map((kind) => Array.from({ length: TINTS }, (_, i) => css(shade(kind), dark, (i - 3) * 1.8)));
    const seen = new Map<string, number>();
    this.shares = shares.map((share) => {
      const cause = share.replace(/^idle: /, "").split(",")[0] ?? share;
      const number = seen.get(cause) ?? 0;
      seen.set(cause, number + 1);
      return css(SHARES[cause] ?? [220, 8, 80], dark, (number % STEPS) * (dark ? -5 : 4));
    });
    [this.ink, this.soft, this.line, this.back, this.raise, this.accent, this.bad, this.warn] = [
      "--ink", "--soft", "--line", "--back", "--raise", "--accent", "--bad", "--copy",
    ].map(colour) as [string, string, string, string, string, string, string, string];
  }

  kind(kind: number, name: string): string {
    const tints = this.kinds[kind] ?? this.kinds[0] ?? [];
    return tints[hash(name) % TINTS] ?? "gray";
  }

  share(label: number): string {
    return this.shares[label] ?? "gray";
  }
}

const hashes = new Map<string, number>();

function hash(text: string): number {
  let found = hashes.get(text);
  if (found === undefined) {
    found = 7;
    for (let i = 0; i < text.length; i++) found = (found * 31 + text.charCodeAt(i)) >>> 0;
    if (hashes.size > 20_000) hashes.clear();
    hashes.set(text, found);
  }
  return found;
}
