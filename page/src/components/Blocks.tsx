import type { BarsBlock, Block, GridBlock, LineBlock, Section } from "../data/types";
import { href } from "../shell/router";
import { Budget } from "./Budget";
import { t, told } from "../language/t";

const AS_TABLE = t("As a table to sort, filter and take along");

/** Characters from which a cell may take more lines than one. */
const LONG = 24;

/** A section of the report as every output has it: lines, bars and small tables. */
export function SectionView({ section }: { section: Section }) {
  return (
    <section class="part" aria-label={section.title}>
      <h2>{section.title}{section.aside ? <span class="aside">{section.aside}</span> : null}</h2>
      <Blocks blocks={section.blocks} title={section.title} />
    </section>
  );
}

export function Blocks({ blocks, title }: { blocks: Block[]; title: string }) {
  const lines = blocks.filter((block): block is LineBlock => block.kind === "line");
  const others = blocks.filter((block): block is BarsBlock | GridBlock => block.kind === "bars" || block.kind === "grid");
  return (
    <>
      {lines.length ? <ul class="lines">{lines.map((line) => <Line line={line} />)}</ul> : null}
      {others.map((block) => (block.kind === "bars" ? <><Budget rows={block.rows} /><p class="aside"><a href={href("tables", { table: "step_budget" })}>{AS_TABLE}</a></p></> : <Grid grid={block} title={title} />))}
    </>
  );
}

export function Line({ line }: { line: LineBlock }) {
  const named = line.tone === "error" || line.tone === "warning";
  return (
    <li class={line.tone}>
      {named ? <strong>{told(line.tone)}{t(": ")}</strong> : null}
      {line.text}
      {line.detail ? <span class="aside"> → {line.detail}</span> : null}
    </li>
  );
}

export function Grid({ grid, title }: { grid: GridBlock; title: string }) {
  const last = grid.headings.length - 1;
  const sentences = last > 0 && !grid.headings[last]!.number && !grid.headings[last]!.bar && grid.rows.some((row) => String(row[last]).length > LONG);
  return (
    <>
      <div class="scroll" tabIndex={0} role="group" aria-label={grid.caption || title}>
        <table class="grid">
          {grid.caption ? <caption>{grid.caption}</caption> : null}
          <thead>
            <tr>
              {grid.headings.map((heading, i) =>
                heading.bar ? <td class="gauge" /> : heading.text ? <th scope="col" class={heading.number ? "n" : sentences && i === last ? "aloof" : ""}>{heading.text}</th> : <td />,
              )}
            </tr>
          </thead>
          <tbody>
            {grid.rows.map((row) => (
              <>
                <tr>
                  {row.map((cell, i) => {
                    const heading = grid.headings[i];
                    const text = String(cell);
                    if (i === 0) return <th scope="row" class={text.startsWith("  ") ? "inner" : text.trim().length > LONG ? "long" : ""}>{text.trim()}</th>;
                    if (heading?.bar) return <td class="gauge">{typeof cell === "number" ? <Share value={cell} /> : null}</td>;
                    return <td class={heading?.number ? "n" : sentences && i === last ? "aloof" : ""}>{text.trim()}</td>;
                  })}
                </tr>
                {sentences && row[last] ? <tr class="below"><td colSpan={last}><small>{String(row[last])}</small></td></tr> : null}
              </>
            ))}
          </tbody>
        </table>
      </div>
      {grid.table ? (
        <p class="aside"><a href={href("tables", { table: grid.table })}>{grid.hidden ? t("{hidden} more rows", { hidden: grid.hidden.toLocaleString("en-US") }) : AS_TABLE}</a></p>
      ) : null}
    </>
  );
}

/** A share of 1 as a bar; the number stands beside it. */
export function Share({ value }: { value: number }) {
  return (
    <svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="10" />
      <rect width={Math.min(100, Math.max(0, 100 * value))} height="10" />
    </svg>
  );
}
