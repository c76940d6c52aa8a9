import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Compared } from "../compare/Compared";
import { Failure } from "../components/Failure";
import { leadToTimeline } from "../components/rowPlace";
import { getReport, Refused } from "../data/client";
import type { ComparisonHead, Progress, Report } from "../data/types";
import { GROUPS, PAGES } from "../pages/registry";
import { Timeline } from "../timeline/Timeline";
import { unchosen } from "./choices";
import { Frame, type FramedPage } from "./Frame";
import { NoneYet, Picker } from "./Picker";
import { has } from "../components/TablePanel";
import { href, place } from "./router";
import { t, woven } from "../language/t";

/** Pages that need no report. */
const EARLY: readonly FramedPage<undefined>[] = [{ id: "timeline", title: t("Timeline"), group: "", component: Timeline, wide: true }];

/** The report, or the comparison, that the server has. */
export function Shell() {
  const report = useSignal<Report | ComparisonHead | null>(null);
  const progress = useSignal<Progress | null>(null);
  const error = useSignal<Refused | null>(null);
  useEffect(() => {
    if (unchosen) return;
    getReport((now) => (progress.value = now)).then(
      (found) => (report.value = found),
      (problem) => (error.value = problem instanceof Refused ? problem : new Refused(String(problem))),
    );
  }, []);
  if (unchosen) return <NoneYet />;
  if (error.value) return <main class="alone"><Picker /><Failure error={error.value} /></main>;
  if (report.value === null && place.value.page !== "timeline") return <Making progress={progress.value} />;
  return report.value && "verdict" in report.value ? <Compared report={report.value} /> : <Opened report={report.value} progress={progress.value} />;
}

/** The pages of the report. The timeline needs none: it is there while that is being made, and stays as it is. */
function Opened({ report, progress }: { report: Report | null; progress: Progress | null }) {
  if (!report) return <Frame report={undefined} title="" version="" groups={[]} pages={EARLY} beside={<Early progress={progress} />} />;
  leadToTimeline(report.source.some((one) => one.events > 0), has(report, "step_budget", "phases", "memory_steps"));
  return <Frame report={report} title={report.page.title} version={report.version} groups={GROUPS} pages={PAGES.filter((page) => page.available(report))} />;
}

function Early({ progress }: { progress: Progress | null }) {
  return (
    <>
      <p class="aside early">{woven("Analysing: {what}", { what: progress?.what ?? t("opening") })}</p>
      <progress aria-label={t("Analysing")} max={progress?.total || 1} value={progress ? progress.done : undefined} />
    </>
  );
}

function Making({ progress }: { progress: Progress | null }) {
  return (
    <main class="alone" aria-live="polite">
      <Picker />
      <h1>{t("Analysing the recording")}</h1>
      <progress aria-label={t("Analysing")} max={progress?.total || 1} value={progress ? progress.done : undefined} />
      <p class="aside">{progress?.what ?? t("opening")}</p>
      <p><a href={href("timeline")}>{t("Look at the timeline meanwhile")}</a></p>
    </main>
  );
}
