/** What was drawn before, moved: while a window moves sideways, only the strip that comes into view is drawn. */

import { fit } from "./canvas";
import type { View } from "./view";

/** After so long everything is drawn anew, so that names stand where they are read, ms; later where that takes long. */
const REFRESH = 400;
/** Drawing anew takes at most a part of so many of the time. */
const SELDOM = 80;
/** A move of more than this share of the width is drawn anew. */
const FAR = 0.5;

/** A stretch of the canvas, x from and to. */
export type Part = readonly [number, number];

/** Keeps the last image of the rows, without what lies over them. */
export class Reused {
  private readonly canvas = document.createElement("canvas");
  private readonly ctx = this.canvas.getContext("2d") as CanvasRenderingContext2D;
  private key: readonly unknown[] = [];
  private from = 0;
  private perPixel = 0;
  private drawn = 0;
  /** How long it took to draw everything, ms. */
  private took = 0;
  /** Whether the image is as it would be if the window had not moved. */
  private still = false;
  private settle = 0;

  constructor(private readonly again: () => void) {}

  /**
   * Brings the image up to date and puts it onto a canvas.
   *
   * @param key All that the image depends on besides where the window is.
   * @param paint Draws a part of the rows as the view shows them.
   */
  image(onto: CanvasRenderingContext2D, view: View, height: number, key: readonly unknown[], paint: (ctx: CanvasRenderingContext2D, part: Part, view: View) => void): void {
    const { width } = view;
    const ratio = fit(this.canvas, width, height);
    const pixels = (view.from - this.from) / this.perPixel;
    const shift = Math.round(pixels * ratio);
    const by = shift / ratio;
    const moved = pixels !== 0 || !this.still;
    const same = key.length === this.key.length && key.every((one, i) => one === this.key[i]) && Math.abs(view.perPixel / this.perPixel - 1) < 1e-9;
    const now = performance.now();
    clearTimeout(this.settle);
    if (!same || Math.abs(by) > FAR * width || (moved && now - this.drawn > Math.max(REFRESH, SELDOM * this.took))) {
      [this.key, this.from, this.perPixel, this.drawn, this.still] = [key, view.from, view.perPixel, now, true];
      this.part(ratio, [0, width], height, view, paint);
      this.took = performance.now() - now;
    } else if (moved) {
      this.still = false;
      if (shift) this.move(ratio, shift, height, view, paint);
      // Once it stands still, all of it is as it would be if it had not moved.
      this.settle = setTimeout(() => {
        this.key = [];
        this.again();
      }, REFRESH / 2);
    }
    onto.save();
    onto.setTransform(1, 0, 0, 1, 0, 0);
    onto.globalCompositeOperation = "copy";
    onto.drawImage(this.canvas, 0, 0);
    onto.restore();
  }

  private move(ratio: number, shift: number, height: number, view: View, paint: (ctx: CanvasRenderingContext2D, part: Part, view: View) => void): void {
    const { ctx, canvas } = this;
    this.from += (shift / ratio) * this.perPixel;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.globalCompositeOperation = "copy";
    ctx.drawImage(canvas, -shift, 0);
    ctx.globalCompositeOperation = "source-over";
    // From a whole pixel of the screen on; what was the last one may have been in view in part.
    const strip: Part = shift > 0 ? [(canvas.width - shift - 1) / ratio, view.width] : [0, -shift / ratio];
    this.part(ratio, strip, height, view.at(this.from, this.perPixel), paint);
  }

  private part(ratio: number, part: Part, height: number, view: View, paint: (ctx: CanvasRenderingContext2D, part: Part, view: View) => void): void {
    const { ctx, canvas } = this;
    const [left, right] = [Math.round(part[0] * ratio), part[1] < view.width ? Math.round(part[1] * ratio) : canvas.width];
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(left, 0, right - left, canvas.height);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.save();
    ctx.beginPath();
    ctx.rect(part[0], 0, part[1] - part[0], height);
    ctx.clip();
    paint(ctx, part, view);
    ctx.restore();
  }

  stop(): void {
    clearTimeout(this.settle);
  }
}
