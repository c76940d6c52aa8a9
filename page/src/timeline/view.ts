/** The window of time that is shown, and how it moves. */

/** Narrowest window, ns. */
const LEAST = 20;

export class View {
  from: number;
  to: number;
  width = 1000;
  /** Where the time axis has its 0. */
  zero = 0;

  constructor(
    public first: number,
    public last: number,
  ) {
    [this.from, this.to] = this.whole();
  }

  /** Everything, with a little air around it. */
  whole(): [number, number] {
    const air = (this.last - this.first) * 0.01;
    return [this.first - air, this.last + air];
  }

  /** The same window elsewhere, at a scale that it has but for rounding. */
  at(from: number, perPixel: number): View {
    const found = new View(this.first, this.last);
    [found.from, found.to, found.width, found.zero] = [from, from + perPixel * this.width, this.width, this.zero];
    return found;
  }

  get perPixel(): number {
    return (this.to - this.from) / this.width;
  }

  x(time: number): number {
    return (time - this.from) / this.perPixel;
  }

  time(x: number): number {
    return this.from + x * this.perPixel;
  }

  /** Level whose buckets are about a pixel wide. */
  get level(): number {
    return Math.max(0, Math.min(44, Math.round(Math.log2(this.perPixel))));
  }

  set(from: number, to: number): void {
    const [first, last] = this.whole();
    const span = Math.min(Math.max(to - from, LEAST), last - first);
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - span / 2, first), last - span);
    this.to = this.from + span;
  }

  pan(share: number): void {
    const by = share * (this.to - this.from);
    this.set(this.from + by, this.to + by);
  }

  /** Show `factor` times as much, with what is at `x` staying where it is. */
  zoom(factor: number, x = this.width / 2): void {
    const at = this.time(x);
    const [first, last] = this.whole();
    const span = Math.min(Math.max((this.to - this.from) * factor, LEAST), last - first);
    const from = at - (x / this.width) * span;
    this.set(from, from + span);
  }

  /** Show a range with air around it. */
  fit(from: number, to: number, share = 0.6): void {
    const span = Math.max(to - from, LEAST / 2) / share;
    const middle = (from + to) / 2;
    this.set(middle - span / 2, middle + span / 2);
  }

  /** Move as little as needed for a range to be seen. */
  reveal(from: number, to: number): void {
    if (to - from > this.to - this.from) this.fit(from, to, 0.8);
    else if (from < this.from || to > this.to) {
      const span = this.to - this.from;
      this.set((from + to - span) / 2, (from + to + span) / 2);
    }
  }
}
