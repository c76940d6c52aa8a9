/** Where one server shows several recordings: what there is to choose from, asked for again every few seconds. */

import { signal } from "@preact/signals";
import { getJson } from "../data/client";

export interface Choice {
  /** The folder of its page, beside that of the page that is shown. */
  address: string;
  name: string;
}

export interface Choices {
  folder: string;
  /** Whether there are more runs than are listed. */
  more: boolean;
  run: string | null;
  runs: (Choice & { recordings: number; changed: number; error: string })[];
  spans: (Choice & { chosen: boolean })[];
  workers: (Choice & { chosen: boolean })[];
}

const EVERY_MS = 5000;
/** Where the server lists them, relative to the page; there is one recording where the document does not say. */
const address = document.body.dataset["choices"];
/** How the folder of the page that is shown is called. */
const here = decodeURIComponent(location.pathname.split("/").at(-2) ?? "");

/** Whether there are several recordings to choose from, and this is the page of none of them. */
export const unchosen = address !== undefined && !address.startsWith("..");
/** What there is to choose from; null where there is one recording, or before the server has said. */
export const choices = signal<Choices | null>(null);

/** Show another one at the same page, without what is particular to a recording. */
export function choose(folder: string): void {
  const page = location.hash.split("?")[0] ?? "";
  location.assign(`${unchosen ? "runs/" : "../"}${encodeURIComponent(folder)}/${location.search}${page}`);
}

/** Ask now and again, as long as the page is seen. */
export function followChoices(): void {
  if (address === undefined) return;
  const path = `${address}?of=${encodeURIComponent(unchosen ? "" : here)}`;
  const ask = async () => {
    try {
      const found = await getJson<Choices>(path);
      if (JSON.stringify(found) !== JSON.stringify(choices.value)) choices.value = found;
    } catch {
      // the page itself says where the server does not answer
    }
    const last = [...(choices.value?.runs ?? [])].sort((one, other) => other.changed - one.changed)[0];
    if (unchosen && last) return location.replace(`runs/${last.address}/${location.search}${location.hash}`);
    // Spans and workers are known once the recording is open.
    setTimeout(next, unchosen || choices.value?.workers.length ? EVERY_MS : EVERY_MS / 10);
  };
  const next = () => (document.hidden ? addEventListener("visibilitychange", ask, { once: true }) : void ask());
  void ask();
}
