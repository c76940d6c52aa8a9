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

/** In a frame of another page the address is not seen, and lost when that page is loaded again: it is noted by its path. */
const framed = window.parent !== window;
const NOTED = `stepscope-place ${location.pathname}`;

function noted(): string {
  try {
    return (framed && sessionStorage.getItem(NOTED)) || "";
  } catch {
    return ""; // a frame without storage
  }
}

function note(): void {
  try {
    if (framed) sessionStorage.setItem(NOTED, location.hash);
  } catch {
    // it holds until the page is left
  }
}

if (framed && !location.hash && noted()) history.replaceState(null, "", noted());

export const place = signal<Place>(read());

addEventListener("hashchange", () => {
  note();
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
  note();
  place.value = read();
}
