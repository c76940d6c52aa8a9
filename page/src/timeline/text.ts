/** Names cut to the room that they have on a canvas. */

const widths = new Map<string, number>();

export function widthOf(ctx: CanvasRenderingContext2D, text: string): number {
  let found = widths.get(text);
  if (found === undefined) {
    found = ctx.measureText(text).width;
    if (widths.size > 20_000) widths.clear();
    widths.set(text, found);
  }
  return found;
}

/** As much of a text as fits, with an ellipsis where something is missing; empty if too little would be left. */
export function fitted(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 12) return "";
  const width = widthOf(ctx, text);
  if (width <= room) return text;
  const length = Math.floor((text.length * (room - 9)) / width);
  return length >= 2 ? `${text.slice(0, length)}…` : "";
}
