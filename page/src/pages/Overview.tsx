import { Blocks, SectionView } from "../components/Blocks";
import { FindingCard, findingOf } from "../components/FindingCard";
import { Figures } from "../components/Figures";
import { has } from "../components/TablePanel";
import type { ItemBlock } from "../data/types";
import { MachineUse } from "./Machine";
import type { PageProps } from "./registry";
import { t, woven } from "../language/t";

/** Sections below the findings; the others have pages of their own. */
const SHOWN = ["Where the time went", "Phases", "Serving", "Why idle", "How well it ran"];

/** What ran, how well, what is wrong, and where each step's time went. */
export function Overview({ report }: PageProps) {
  const { title, facts, figures, sections } = report.page;
  const findings = sections.find((section) => section.name === "Findings");
  const lacking = sections.find((section) => section.name === "Not computed");
  const slow = sections.find((section) => section.name === "Which rank is slow");
  const health = sections.find((section) => section.name === "Health");
  const rest = SHOWN.flatMap((name) => sections.find((section) => section.name === name) ?? []);
  const items = findings?.blocks.filter((block): block is ItemBlock => block.kind === "item") ?? [];
  const shown = (item: ItemBlock) => findingOf(item, report)?.shown !== false;
  return (
    <>
      <header class="head">
        <h1>{title}</h1>
        <p class="aside">{facts.join(" · ")}</p>
      </header>
      {slow ? <SectionView section={slow} /> : null}
      <Figures figures={figures} />
      {findings ? (
        <section class="part" aria-label={t("Findings")}>
          <h2>{woven("Findings{aside}", { aside: findings.aside ? <span class="aside">{findings.aside}</span> : null })}</h2>
          <Blocks blocks={findings.blocks} title={t("Findings")} />
          {items.filter(shown).map((item, i) => <FindingCard item={item} report={report} open={i < 2} />)}
          {items.every(shown) ? null : (
            <details class="lesser">
              <summary>{woven("Below 1 % of the step: {count}", { count: items.filter((item) => !shown(item)).length })}</summary>
              {items.filter((item) => !shown(item)).map((item) => <FindingCard item={item} report={report} open={false} />)}
            </details>
          )}
        </section>
      ) : null}
      {rest.map((section) => <SectionView section={section} />)}
      {has(report, "machine_use") ? (
        <section class="part" aria-label={t("Machine")}>
          <h2>{woven("Machine{aside}", { aside: <span class="aside">{t("sampled beside the recording")}</span> })}</h2>
          <MachineUse report={report} most={12} />
        </section>
      ) : null}
      {lacking ? <SectionView section={lacking} /> : null}
      {health ? <SectionView section={health} /> : null}
    </>
  );
}
