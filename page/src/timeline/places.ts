/** Places of findings, as the server knows them (`stepscope.web.tiles.places`), and what is said of them. */

import { duration } from "../components/format";
import { getJson } from "../data/client";
import { t } from "../language/t";

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
  dataloader: t("wait for data"), sync: t("wait for the device"), collective: t("collective"), copy: t("copy"), set: "memset",
  gc: t("garbage collection"), overhead: t("work of the profiler"), launch: t("launch"),
};
/** Characters of a name in a link. */
const LONGEST = 48;

/** What is at a place: `wait for data of 3.03 ms in step 2`. */
export function placeWords({ start, end, step, name, category }: FindingPlace): string {
  const what = name === null ? t("stretch") : ((category && WORDS[category]) ?? (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name));
  const length = duration(end - start);
  if (end <= start) return step === null ? what : t("{what} in step {step}", { what, step });
  return step === null ? t("{what} of {length}", { what, length }) : t("{what} of {length} in step {step}", { what, length, step });
}

/** The same at the start of a line: words begin with a capital letter, names are as they are. */
export function placeTitle(place: FindingPlace): string {
  const words = placeWords(place);
  return place.name === null || (place.category && place.category in WORDS) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
}
