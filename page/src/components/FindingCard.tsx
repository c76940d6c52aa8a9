import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { offline } from "../data/client";
import { href } from "../shell/router";
import type { EvidenceRow, Finding, ItemBlock, Report, Thresholds } from "../data/types";
import { getPlaces, placeTitle, type FindingPlace } from "../timeline/places";
import { duration, headingOf, percent, quantity, visible } from "./format";
import { memoryPlace } from "./memoryPlace";
import { has } from "./TablePanel";
import { coded } from "./Words";
import { t, woven } from "../language/t";

/** Places of each kind that are linked; the timeline leads through all of them. */
const SHOWN = 3;
/** Characters of what a link says about a row. */
const LONGEST = 80;

/** The finding that an item of the report's outline shows: every output numbers them alike. */
export function findingOf(item: ItemBlock, report: Report): Finding | undefined {
  return report.findings[item.number - 1];
}

/** A finding: what it is worth, what it rests on, and what to do. */
export function FindingCard({ item, report, open }: { item: ItemBlock; report: Report; open: boolean }) {
  const finding = findingOf(item, report);
  return (
    <details class={`finding ${item.tone}`} open={open}>
      <summary>
        <span class="title">{item.number}. {item.title}</span>
        <span class="worth">{item.worth}</span>
      </summary>
      <p>{coded(item.text)} <a href={href("guide", { read: item.code })} title={t("How it decides, and what to try")}><code>{item.code}</code></a></p>
      {item.remedies.length ? (
        <ul class="remedies">
          {item.remedies.map((remedy) => (
            <li>
              {coded(remedy.text)}
              {remedy.after.length ? (
                <pre tabIndex={0}>
                  {remedy.before.map((line) => <del>- {line}{"\n"}</del>)}
                  {remedy.after.map((line) => <ins>+ {line}{"\n"}</ins>)}
                </pre>
              ) : null}
            </li>
          ))}
        </ul>
      ) : null}
      {item.inspect ? <p>{woven("Look inside: {code}", { code: <code>{item.inspect}</code> })}</p> : null}
      {item.also.length ? <p class="aside">{woven("It also explains: {also}", { also: item.also.join(t("; ")) })}</p> : null}
      {finding && finding.cost_ns && !offline && has(report, "critical_path") ? (
        <p><a href={href("whatif", { rank: finding.evidence.ranks[0], findings: finding.code })}>{t("What the step would be without it")}</a></p>
      ) : null}
      {finding ? <EvidenceLinks finding={finding} number={report.findings.indexOf(finding)} thresholds={report.thresholds?.[finding.code] ?? {}} /> : null}
    </details>
  );
}

/** Where to see it: places in the timeline, rows of tables, and the numbers it rests on. */
function EvidenceLinks({ finding, number, thresholds }: { finding: Finding; number: number; thresholds: Thresholds }) {
  const known = useSignal<readonly FindingPlace[]>([]);
  useEffect(() => void getPlaces().then((places) => (known.value = places.filter((place) => place.finding === number)), () => undefined), [number]);
  const { ranks, ranges, events, rows, numbers } = finding.evidence;
  const rank = ranks[0] ?? 0;
  const figures = Object.entries(numbers);
  const worded = (place: FindingPlace | undefined, otherwise: string) => (place ? <span title={place.name ?? undefined}>{placeTitle(place)}</span> : otherwise);
  const ofEvent = (event: number) => known.value.find((place) => place.event === event);
  // A stretch that an event fills is named by the event.
  const ofRange = ([from, to]: [number, number]) => known.value.find((place) => place.at === from && place.end - place.start === to - from);
  const more = known.value.length - new Set([...ranges.slice(0, SHOWN).map(String), ...events.slice(0, SHOWN)]).size;
  if (!ranges.length && !events.length && !rows.length && !figures.length) return null;
  return (
    <div class="evidence">
      <ul class="places">
        {ranges.slice(0, SHOWN).map(([from, to]) => (
          <li><a href={href("timeline", { rank, from, to, finding: number + 1 })}>{woven("{what} at {from}", { what: worded(ofRange([from, to]), t("Stretch of {length}", { length: duration(to - from) })), from: duration(from) })}</a></li>
        ))}
        {events.slice(0, SHOWN).map((event) => (
          <li><a href={href("timeline", { rank, event, finding: number + 1 })}>{worded(ofEvent(event), t("Event {event}", { event }))}</a></li>
        ))}
        {more > 0 ? <li class="aside">{woven("and {more} more, by ‹ and › in the timeline", { more })}</li> : null}
        {rows.slice(0, 2).map((row) => memoryPlace(row, rank)).map((place) => (place ? <li><a href={place.href}>{place.words}</a></li> : null))}
        {rows.slice(0, 4).map((row) => (
          <li><a href={href("tables", { table: row.table, where: JSON.stringify(row.where) })}>{woven("Row of {table}{which}", { table: row.table.replaceAll("_", " "), which: rowWords(row, rows) })}</a></li>
        ))}
      </ul>
      {figures.length ? (
        <details class="numbers">
          <summary>{t("Numbers it rests on")}</summary>
          <table>
            <tbody>
              {figures.map(([name, value]) => (
                <tr>
                  <th scope="row" title={name}>{headingOf({ name })}</th>
                  <td class="n">{typeof value === "number" ? measured(name, value, thresholds[name]?.unit) : visible(value)}</td>
                  <td class="aside">{thresholds[name]?.why}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      ) : null}
    </div>
  );
}

/** A number in its unit: that of a threshold, else what its name ends in. */
function measured(name: string, value: number, unit = ""): string {
  if (unit === "share" || name.endsWith("share")) return percent(value);
  if (unit === "ns" || name.endsWith("_ns")) return duration(value);
  return quantity(value, unit || (name.endsWith("bytes") ? "bytes" : ""));
}

/** What tells a row from others of its table; empty where there is one. */
function rowWords({ table, where }: EvidenceRow, rows: EvidenceRow[]): string {
  if (rows.filter((one) => one.table === table).length < 2) return "";
  const values = Object.entries(where).flatMap(([name, value]) => (name === "rank" || value === null ? [] : visible(String(value))));
  const words = values.slice(0, 2).join(", ") || t("rank {rank}", { rank: where["rank"] });
  return `: ${words.length > LONGEST ? `${words.slice(0, LONGEST - 1)}…` : words}`;
}
