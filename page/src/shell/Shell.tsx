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
import { Frame } from "./Frame";
import { NoneYet, Picker } from "./Picker";
import { has } from "../components/TablePanel";
import { href, place } from "./router";
import { t, woven } from "../language/t";

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
  if (report.value === null) return place.value.page === "timeline" ? <Early progress={progress.value} /> : <Making progress={progress.value} />;
  return "verdict" in report.value ? <Compared report={report.value} /> : <Opened report={report.value} />;
}

function Opened({ report }: { report: Report }) {
  leadToTimeline(report.source.some((one) => one.events > 0), has(report, "step_budget", "phases", "memory_steps"));
  return <Frame report={report} title={report.page.title} version={report.version} groups={GROUPS} pages={PAGES.filter((page) => page.available(report))} />;
}

/** The timeline needs no report: it is there while that is being made. */
function Early({ progress }: { progress: Progress | null }) {
  return (
    <div class="shell">
      <nav aria-label={t("Pages")}>
        <a class="brand" href={href("overview")}>stepscope</a>
        <Picker />
        <p class="aside early">{woven("Analysing: {what}", { what: progress?.what ?? t("opening") })}</p>
        <progress aria-label={t("Analysing")} max={progress?.total || 1} value={progress ? progress.done : undefined} />
      </nav>
      <main class="wide"><Timeline params={place.value.params} /></main>
    </div>
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
