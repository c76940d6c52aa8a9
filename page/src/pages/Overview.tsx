import { Blocks, SectionView } from "../components/Blocks";
import { FindingCard } from "../components/FindingCard";
import type { ItemBlock } from "../data/types";
import type { PageProps } from "./registry";

/** Sections below the findings; the others have pages of their own. */
const SHOWN = ["Where the time went", "Phases", "Why idle", "How well it ran", "Outside the steps", "Not computed"];

/** What ran, how well, what is wrong, and where each step's time went. */
export function Overview({ report }: PageProps) {
  const { title, facts, figures, sections } = report.page;
  const findings = sections.find((section) => section.title === "Findings");
  const health = sections.find((section) => section.title === "Health");
  const rest = SHOWN.flatMap((title) => sections.find((section) => section.title === title) ?? []);
  return (
    <>
      <header class="head">
        <h1>{title}</h1>
        <p class="aside">{facts.join(" · ")}</p>
      </header>
      <dl class="figures">
        {figures.map((figure) => (
          <div>
            <dt>{figure.label}</dt>
            <dd>{figure.value}</dd>
            {figure.detail ? <dd class="aside">{figure.detail}</dd> : null}
          </div>
        ))}
      </dl>
      {findings ? (
        <section class="part" aria-label="Findings">
          <h2>Findings{findings.aside ? <span class="aside">{findings.aside}</span> : null}</h2>
          <Blocks blocks={findings.blocks} title="Findings" />
          {findings.blocks
            .filter((block): block is ItemBlock => block.kind === "item")
            .map((item, i) => <FindingCard item={item} report={report} open={i < 2} />)}
        </section>
      ) : null}
      {rest.map((section) => <SectionView section={section} />)}
      {health ? <SectionView section={health} /> : null}
    </>
  );
}
