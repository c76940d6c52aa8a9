/** Places of findings, as the server knows them (`stepscope.web.tiles.places`), and what is said of them. */

import { duration } from "../components/format";
import { getJson } from "../data/client";

export interface FindingPlace {
  /** Position of the finding in the report. */
  finding: number;
  rank: number;
  /** Its start in the rank's own time, ns. */
  at: number;
  /** ns on the common axis. */
  start: number;
  end: number;
  step: number | null;
  event: number | null;
  name: string | null;
  category: string | null;
}

let asked: Promise<FindingPlace[]> | null = null;

/** All places of all findings, asked for once. */
export function getPlaces(): Promise<FindingPlace[]> {
  asked ??= getJson<{ places: FindingPlace[] }>("api/timeline/places").then((found) => found.places);
  asked.catch(() => (asked = null));
  return asked;
}

const WORDS: Record<string, string> = {
  dataloader: "wait for data", sync: "wait for the device", collective: "collective", copy: "copy", set: "memset",
  gc: "garbage collection", overhead: "work of the profiler", launch: "launch",
};
/** Characters of a name in a link. */
const LONGEST = 48;

/** What is at a place: `wait for data of 3.03 ms in step 2`. */
export function placeWords({ start, end, step, name, category }: FindingPlace): string {
  const what = name === null ? "stretch" : ((category && WORDS[category]) ?? (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name));
  const lasts = end > start ? ` of ${duration(end - start)}` : "";
  return `${what}${lasts}${step === null ? "" : ` in step ${step}`}`;
}
