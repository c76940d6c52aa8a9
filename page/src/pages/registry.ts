/** Every page, in the order of the navigation. A page is shown only where the recording has its data. */

import type { ComponentType } from "preact";
import type { Report } from "../data/types";
import { Overview } from "./Overview";
import { Tables } from "./Tables";

export interface PageProps {
  report: Report;
  params: URLSearchParams;
}

export interface PageEntry {
  /** Its name in the address: `#/overview`. */
  id: string;
  title: string;
  group: (typeof GROUPS)[number];
  /** Whether the recording has what it shows. */
  available: (report: Report) => boolean;
  component: ComponentType<PageProps>;
  /** Whether it takes the whole width and scrolls by itself. */
  wide?: boolean;
}

export const GROUPS = ["Summary", "Device", "Host", "Memory", "Job", "Data"] as const;

export const PAGES: readonly PageEntry[] = [
  { id: "overview", title: "Overview", group: "Summary", available: () => true, component: Overview },
  { id: "tables", title: "All tables", group: "Data", available: () => true, component: Tables },
];
