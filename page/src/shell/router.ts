/** Where the page is, kept in the address behind `#`: `#/timeline?rank=0&event=12`. */

import { signal } from "@preact/signals";

export interface Place {
  page: string;
  params: URLSearchParams;
}

function read(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { page: decodeURIComponent(path) || "overview", params: new URLSearchParams(query) };
}

export const place = signal<Place>(read());

addEventListener("hashchange", () => {
  place.value = read();
});

/** The address of a page, for links. */
export function href(page: string, params: Record<string, string | number | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value !== undefined) query.set(key, String(value));
  const text = query.toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

/** Note parameters in the address without a new entry in the history. */
export function keep(page: string, params: Record<string, string | number | undefined>): void {
  history.replaceState(null, "", href(page, params));
  place.value = read();
}
