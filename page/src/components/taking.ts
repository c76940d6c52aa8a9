/** Taking data along: to the clipboard, or as a file. */

import type { Value } from "../data/types";
import { t } from "../language/t";

function quoted(value: Value): string {
  const text = value === null ? "" : Array.isArray(value) ? value.join(" ") : String(value);
  // A cell that begins like a formula would be run by a spreadsheet.
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Comma-separated values with a line of names. */
export function separated(names: readonly string[], rows: readonly (readonly Value[])[]): string {
  return [names, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

/** Copy; resolves to what to say about it. */
export async function copy(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return t("copied");
  } catch {
    return t("the browser refuses to copy here");
  }
}

export function download(name: string, text: string, type = "text/csv"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
