/** Texts of the page in the language of the document: English stands in the code, others in a catalogue beside it. */

import type { ComponentChildren } from "preact";

declare global {
  /** The catalogue, from a script of its own that only documents in its language load. */
  var stepscopeTexts: Record<string, string> | undefined;
}

type Values<T> = Readonly<Record<string, T>>;

const texts: Readonly<Record<string, string>> = globalThis.stepscopeTexts ?? {};
const VALUE = /\{(\w+)\}/;

/** A word or a text that is no constant where it is shown: what was marked, or what the server says by a name. */
export const told = (text: string): string => (Object.hasOwn(texts, text) ? texts[text] || text : text);

/** Says that a text is shown, by `told`, so that the catalogue has it. */
export const word = <T extends string>(text: T): T => text;

/** A text, with values in place of `{names}`. */
export function t(text: string, values?: Values<unknown>): string {
  if (!values) return told(text);
  return told(text).split(VALUE).map((part, i) => (i % 2 ? String(values[part] ?? "") : part)).join("");
}

/** The same where values are elements. */
export function woven(text: string, values: Values<ComponentChildren>): ComponentChildren[] {
  return told(text).split(VALUE).map((part, i) => (i % 2 ? values[part] : part));
}

/** A text that differs between one and several. */
export function counted(count: number, one: string, many: string, values: Values<unknown> = {}): string {
  return t(count === 1 ? one : many, { count: count.toLocaleString("en-US"), ...values });
}
