import { offline } from "../data/client";
import { href } from "../shell/router";
import type { EvidenceRow, Finding, ItemBlock, Report } from "../data/types";
import { duration, quantity, visible } from "./format";
import { memoryPlace } from "./memoryPlace";
import { has } from "./TablePanel";
import { coded } from "./Words";

/** Characters of what a link says about a row. */
const LONGEST = 80;

/** The finding that an item of the report's outline shows. */
export function findingOf(item: ItemBlock, report: Report): Finding | undefined {
  const same = report.findings.filter((one) => one.code === item.code);
  return same.find((one) => item.text.includes(one.summary.slice(0, 60))) ?? same[0];
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
      <p>{coded(item.text)} <a href={href("guide", { read: item.code })} title="How it decides, and what to try"><code>{item.code}</code></a></p>
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
      {item.inspect ? <p>Look inside: <code>{item.inspect}</code></p> : null}
      {item.also.length ? <p class="aside">It also explains: {item.also.join("; ")}</p> : null}
      {finding && finding.cost_ns && !offline && has(report, "critical_path") ? (
        <p><a href={href("whatif", { rank: finding.evidence.ranks[0], findings: finding.code })}>What the step would be without it</a></p>
      ) : null}
      {finding ? <EvidenceLinks finding={finding} /> : null}
    </details>
  );
}

/** Where to see it: places in the timeline, rows of tables, and the numbers it rests on. */
function EvidenceLinks({ finding }: { finding: Finding }) {
  const { ranks, ranges, events, rows, numbers } = finding.evidence;
  const rank = ranks[0] ?? 0;
  const figures = Object.entries(numbers);
  if (!ranges.length && !events.length && !rows.length && !figures.length) return null;
  return (
    <div class="evidence">
      <ul class="places">
        {ranges.slice(0, 3).map(([from, to]) => (
          <li><a href={href("timeline", { rank, from, to })}>Timeline at {duration(from)}, {duration(to - from)} long</a></li>
        ))}
        {events.slice(0, 3).map((event, i) => (
          <li><a href={href("timeline", { rank, event })}>{i ? `Event ${event}` : `In the timeline: event ${event}`}</a></li>
        ))}
        {rows.slice(0, 2).map((row) => memoryPlace(row, rank)).map((place) => (place ? <li><a href={place.href}>{place.words}</a></li> : null))}
        {rows.slice(0, 4).map((row) => (
          <li><a href={href("tables", { table: row.table, where: JSON.stringify(row.where) })}>Row of {row.table.replaceAll("_", " ")}{rowWords(row, rows)}</a></li>
        ))}
      </ul>
      {figures.length ? (
        <details class="numbers">
          <summary>Numbers it rests on</summary>
          <table>
            <tbody>
              {figures.map(([name, value]) => (
                <tr>
                  <th scope="row">{name}</th>
                  <td class="n">{typeof value === "number" ? (name.endsWith("_ns") ? duration(value) : quantity(value, "")) : visible(value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      ) : null}
    </div>
  );
}

/** What tells a row from others of its table; empty where there is one. */
function rowWords({ table, where }: EvidenceRow, rows: EvidenceRow[]): string {
  if (rows.filter((one) => one.table === table).length < 2) return "";
  const values = Object.entries(where).flatMap(([name, value]) => (name === "rank" || value === null ? [] : visible(String(value))));
  const words = values.slice(0, 2).join(", ") || `rank ${where["rank"]}`;
  return `: ${words.length > LONGEST ? `${words.slice(0, LONGEST - 1)}…` : words}`;
}
