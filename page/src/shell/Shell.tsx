import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Failure } from "../components/Failure";
import { getReport, Refused } from "../data/client";
import type { Progress, Report } from "../data/types";
import { GROUPS, PAGES } from "../pages/registry";
import { Timeline } from "../timeline/Timeline";
import { unchosen } from "./choices";
import { NoneYet, Picker } from "./Picker";
import { href, place } from "./router";
import { dark, switchTheme } from "./theme";

/** Navigation beside the page that the address names. */
export function Shell() {
  const report = useSignal<Report | null>(null);
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
  return <Opened report={report.value} />;
}

function Opened({ report }: { report: Report }) {
  const main = useRef<HTMLElement>(null);
  const shown = PAGES.filter((page) => page.available(report));
  const current = shown.find((page) => page.id === place.value.page) ?? shown[0];
  const title = current?.title ?? "";
  useEffect(() => {
    document.title = `${title} · ${report.page.title} · stepscope`;
    main.current?.scrollTo(0, 0);
  }, [title]);
  const Component = current?.component;
  return (
    <div class="shell">
      <nav aria-label="Pages">
        <button type="button" class="skip" onClick={() => main.current?.focus()}>Skip to the page</button>
        <a class="brand" href={href("overview")}>stepscope</a>
        <Picker />
        {GROUPS.map((group) => {
          const pages = shown.filter((page) => page.group === group);
          return pages.length ? (
            <div key={group}>
              <h2>{group}</h2>
              <ul>
                {pages.map((page) => (
                  <li key={page.id}>
                    <a href={href(page.id)} aria-current={page === current ? "page" : undefined}>{page.title}</a>
                  </li>
                ))}
              </ul>
            </div>
          ) : null;
        })}
        <footer>
          <button type="button" onClick={switchTheme}>{dark.value ? "Light colours" : "Dark colours"}</button>
          <small>stepscope {report.version}</small>
        </footer>
      </nav>
      <main ref={main} tabIndex={-1} class={current?.wide ? "wide" : ""}>
        {Component ? <Component report={report} params={place.value.params} /> : null}
      </main>
    </div>
  );
}

/** The timeline needs no report: it is there while that is being made. */
function Early({ progress }: { progress: Progress | null }) {
  return (
    <div class="shell">
      <nav aria-label="Pages">
        <a class="brand" href={href("overview")}>stepscope</a>
        <Picker />
        <p class="aside early">Analysing: {progress?.what ?? "opening"}</p>
        <progress aria-label="Analysing" max={progress?.total || 1} value={progress ? progress.done : undefined} />
      </nav>
      <main class="wide"><Timeline params={place.value.params} /></main>
    </div>
  );
}

function Making({ progress }: { progress: Progress | null }) {
  return (
    <main class="alone" aria-live="polite">
      <Picker />
      <h1>Analysing the recording</h1>
      <progress aria-label="Analysing" max={progress?.total || 1} value={progress ? progress.done : undefined} />
      <p class="aside">{progress?.what ?? "opening"}</p>
      <p><a href={href("timeline")}>Look at the timeline meanwhile</a></p>
    </main>
  );
}
