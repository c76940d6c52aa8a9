/** Every page, in the order of the navigation. A page is shown only where the recording has its data. */

import { has } from "../components/TablePanel";
import { ranksOf } from "../components/RankPicker";
import { offline } from "../data/client";
import type { Report } from "../data/types";
import type { FramedPage } from "../shell/Frame";
import { Cluster } from "./Cluster";
import { Communication } from "./Communication";
import { Flame } from "./Flame";
import { Guide } from "./Guide";
import { Kernels } from "./Kernels";
import { Machine } from "./Machine";
import { Memory } from "./Memory";
import { Modules } from "./Modules";
import { Operators } from "./Operators";
import { Overview } from "./Overview";
import { Query } from "./Query";
import { Roofline } from "./Roofline";
import { Tables } from "./Tables";
import { Transfers } from "./Transfers";
import { Timeline } from "../timeline/Timeline";
import { WhatIf } from "../whatif/WhatIf";
import { word, t } from "../language/t";

export interface PageProps {
  report: Report;
  params: URLSearchParams;
}

export interface PageEntry extends FramedPage<Report> {
  group: (typeof GROUPS)[number];
  /** Whether the recording has what it shows. */
  available: (report: Report) => boolean;
}

export const GROUPS = [word("Summary"), word("Device"), word("Host"), word("Memory"), word("Job"), word("Data")] as const;

const of = (...tables: string[]) => (report: Report) => has(report, ...tables);

export const PAGES: readonly PageEntry[] = [
  { id: "overview", title: t("Overview"), group: "Summary", available: () => true, component: Overview },
  { id: "timeline", title: t("Timeline"), group: "Summary", available: (report) => report.source.some((one) => one.events > 0), component: Timeline, wide: true },
  { id: "whatif", title: t("What if"), group: "Summary", available: (report) => !offline && has(report, "critical_path"), component: WhatIf },
  { id: "guide", title: t("Guide"), group: "Summary", available: () => true, component: Guide },
  { id: "kernels", title: t("Kernels"), group: "Device", available: of("kernels"), component: Kernels },
  { id: "roofline", title: t("Roofline"), group: "Device", available: of("roofline"), component: Roofline },
  { id: "communication", title: t("Communication"), group: "Device", available: of("collectives", "links"), component: Communication },
  { id: "machine", title: t("Devices and machine"), group: "Device", available: of("device_utilisation", "machine_use"), component: Machine },
  { id: "operators", title: t("Operators"), group: "Host", available: of("operators", "api_calls", "annotations"), component: Operators },
  { id: "modules", title: t("Modules"), group: "Host", available: of("modules"), component: Modules },
  { id: "transfers", title: t("Data loading and copies"), group: "Host", available: of("dataloader", "copies", "synchronisations"), component: Transfers },
  { id: "flame", title: t("Flame graph"), group: "Host", available: of("operators", "api_calls", "modules"), component: Flame },
  { id: "memory", title: t("Memory"), group: "Memory", available: of("memory_timeline", "memory_peaks", "memory_snapshot", "memory_components"), component: Memory },
  { id: "cluster", title: t("Ranks"), group: "Job", available: (report) => ranksOf(report).length > 1 && has(report, "step_budget"), component: Cluster },
  { id: "sql", title: "SQL", group: "Data", available: () => !offline, component: Query },
  { id: "tables", title: t("All tables"), group: "Data", available: () => true, component: Tables },
];
