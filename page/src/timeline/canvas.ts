/** A canvas in the pixels of the screen. */

/** Gives a canvas a size in CSS pixels, and says how many of the screen's there are to one. */
export function fit(canvas: HTMLCanvasElement, width: number, height: number): number {
  const ratio = window.devicePixelRatio || 1;
  const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  // Setting a size clears a canvas and takes new memory for it, even where the size is the same.
  if (canvas.width !== wide || canvas.height !== tall) {
    canvas.width = wide;
    canvas.height = tall;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  return ratio;
}
