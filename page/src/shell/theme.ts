/** Light or dark: as the system has it, or as the reader chose last. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "stepscope-theme";

function stored(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "system";
  } catch {
    return "system"; // a frame without storage
  }
}

export const theme = signal<Theme>(stored());
const system = matchMedia("(prefers-color-scheme: dark)");
/** What is shown; drawings read it, since a canvas does not follow style sheets. */
export const dark = signal(false);

export function followTheme(): void {
  const systemDark = signal(system.matches);
  system.addEventListener("change", (event) => {
    systemDark.value = event.matches;
  });
  effect(() => {
    dark.value = theme.value === "dark" || (theme.value === "system" && systemDark.value);
    document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
  });
}

/** Choose the other one of what is shown. */
export function switchTheme(): void {
  const chosen: Theme = dark.value ? "light" : "dark";
  theme.value = chosen === (system.matches ? "dark" : "light") ? "system" : chosen;
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // it holds until the page is left
  }
}

/** A colour of the style sheet, such as `--compute`. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
