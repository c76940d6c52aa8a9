/** Names of tracks and sections in the page's language: the server keeps them in English, with names of the recording. */

import { t, told } from "../language/t";

type Said = (...values: string[]) => string;

const device = (name: string): string => {
  const [, number] = /^[Dd]evice (\d+)$/.exec(name) ?? [];
  return number === undefined ? told(name) : t("device {number}", { number });
};

/** Names with values, as `stepscope.web.tiles.listing` writes them. */
const NAMES: readonly (readonly [RegExp, Said])[] = [
  [/^([Dd]evice \d+)$/, (name) => device(name!)],
  [/^time of (device.*)$/, (name) => t("time of {device}", { device: device(name!) })],
  [/^stream (.*), ranges$/, (name) => t("stream {name}, ranges", { name })],
  [/^stream (.*)$/, (name) => t("stream {name}", { name })],
  [/^group (.*), (\d+) ranks$/, (name, count) => t("group {name}, {count} ranks", { name, count })],
  [/^group (.*)$/, (name) => t("group {name}", { name })],
  [/^memory (allocated|reserved), (host|device.*)$/, (what, name) => t("memory {what}, {where}", { what: told(what!), where: device(name!) })],
];

/** A track or section by its name. */
export function named(name: string): string {
  for (const [pattern, say] of NAMES) {
    const found = pattern.exec(name);
    if (found) return say(...found.slice(1));
  }
  return told(name);
}
