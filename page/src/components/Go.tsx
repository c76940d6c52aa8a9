import type { RowPlace } from "./rowPlace";

/** A link from a row to its place; nothing for a row without one. */
export function Go({ place, of }: { place: RowPlace | null | undefined; of: string }) {
  return place ? <a class="go" href={place.href} title={place.words} aria-label={`${place.words}: ${of.slice(0, 80)}`} /> : null;
}
