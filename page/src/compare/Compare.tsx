import "./compare.css";
import { Line, SectionView } from "../components/Blocks";
import { Figures } from "../components/Figures";
import { TablePanel } from "../components/TablePanel";
import type { ComparisonHead, LineBlock } from "../data/types";
import { BESIDE, change } from "./cells";
import { Interval } from "./Interval";
import { PairTimeline } from "./PairTimeline";
import { StepStrip } from "./StepStrip";
import { Waterfall } from "./Waterfall";
import { t, woven } from "../language/t";

/** Sections that have a drawing of their own here. */
const DRAWN = new Set(["Verdict", "Can they be compared?", "What the difference is made of", "Findings", "By phase", "Compute"]);

/** Whether two recordings can be compared, which is faster, and what the difference is made of. */
export function Compare({ report }: { report: ComparisonHead }) {
  const { page, sides, step_time: times } = report;
  const lines = (name: string) => page.sections.find((one) => one.name === name)?.blocks.filter((block): block is LineBlock => block.kind === "line") ?? [];
  const comparable = lines("Can they be compared?");
  return (
    <>
      <header class="head">
        <h1>{page.title}</h1>
        <dl class="sides">
          {page.facts.map((fact) => [<dt>{fact.split(": ")[0]}</dt>, <dd>{fact.slice(fact.indexOf(": ") + 2)}</dd>])}
        </dl>
      </header>
      {comparable.length ? (
        <section class="part" aria-label={t("Can they be compared?")}>
          <h2>{t("Can they be compared?")}</h2>
          <ul class="lines">{comparable.map((line) => <Line line={line} />)}</ul>
        </section>
      ) : null}
      <section class="part" aria-label={t("Verdict")}>
        <h2>{t("Verdict")}</h2>
        {lines("Verdict").map((line) => <p class={`verdict ${report.verdict}`}>{line.text}</p>)}
        <Figures figures={page.figures.filter((figure) => figure.label !== "Verdict")} />
        {times.ratio === null ? null : (
          <div class="beside noise">
            <StepStrip sides={sides} times={times} />
            <Interval times={times} />
          </div>
        )}
      </section>
      {report.parts.length ? <Waterfall report={report} /> : null}
      {sides.base.typical !== null && sides.new.typical !== null ? <PairTimeline sides={sides} /> : null}
      {report.findings.some((one) => one.change !== "same") ? (
        <section class="part" aria-label={t("What became of findings")}>
          <h2>{woven("Findings {span}", { span: <span class="aside">{t("prices: what the typical step would save")}</span> })}</h2>
          <TablePanel name="findings" cell={change} alike={BESIDE} columns={["change", "title", "base_cost_ns", "new_cost_ns", "diff_ns", "code"]} most={20} />
        </section>
      ) : null}
      {page.sections.filter((section) => !DRAWN.has(section.name)).map((section) => <SectionView section={section} />)}
    </>
  );
}
