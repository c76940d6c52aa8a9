import "./compare.css";
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Failure } from "../components/Failure";
import { duration, NONE, percent, visible } from "../components/format";
import { useTable } from "../components/TablePanel";
import { LEAST } from "./cells";
import type { ComparisonHead } from "../data/types";
import { href } from "../shell/router";
import { treeOf, type Node } from "./tree";
import { t, woven } from "../language/t";

/** What is open at first: nodes that differ by at least this share of the largest difference, this deep at most. */
const SHOWN = 0.2;
const DEEP = 6;
/** Children shown before the reader asks for all. */
const FEW = 20;

/** Compute by module and operator, each with all that it encloses; what differs most comes first. */
export function TreePage({ report }: { report: ComparisonHead }) {
  const calls = useTable("compute_calls");
  const modules = useTable("compute_modules");
  const roots = useMemo(() => (calls.table ? treeOf(calls.table, modules.table) : []), [calls.table, modules.table]);
  const { ratio, ratio_low: low, ratio_high: high } = report.step_time;
  // What the steps of either side vary by is no difference of a part of them either.
  const noise = Math.max(LEAST, ratio && low !== null && high !== null ? (high - low) / (2 * ratio) : 0);
  if (calls.error) return <Failure error={calls.error} />;
  return (
    <>
      <h1>{t("Call tree")}</h1>
      <p class="prose">{woven("Compute {of}, by the calls around what was launched: each row has all that it encloses. The backward pass is below no module; the table of {modules} has what belongs to each. What differs by less than {noise} of its time, which is what the steps vary by, has no colour. The same as a table: {calls}.", { of: report.step_time.unit === "window" ? t("of the whole recordings") : t("per step"), modules: <a href={href("differences", { tab: "modules" })}>{t("modules")}</a>, noise: percent(noise), calls: <a href={href("differences", { tab: "calls" })}>{t("Calls")}</a> })}</p>
      {calls.table ? <Tree roots={roots} noise={noise} /> : <p class="aside" aria-busy="true">{t("loading the tree")}</p>}
    </>
  );
}

function Tree({ roots, noise }: { roots: Node[]; noise: number }) {
  const largest = useMemo(() => Math.max(1, largestOf(roots)), [roots]);
  const turned = useSignal<ReadonlySet<string>>(new Set());
  const whole = useSignal<ReadonlySet<string>>(new Set());
  const opened = (node: Node, depth: number) => (apart(node) >= SHOWN * largest && depth < DEEP) !== turned.value.has(node.key);
  const turn = (set: typeof turned, key: string) => {
    const next = new Set(set.value);
    if (!next.delete(key)) next.add(key);
    set.value = next;
  };
  const listed = (nodes: Node[], depth: number, above: string): preact.ComponentChildren[] => {
    const shown = whole.value.has(above) ? nodes : nodes.slice(0, FEW);
    const rows = shown.flatMap((node) => [
      <tr key={node.key}>
        <th scope="row" style={{ paddingLeft: `${0.2 + 1.1 * depth}rem` }}>
          {node.children.length ? (
            <button type="button" class="fold" aria-expanded={opened(node, depth)} onClick={() => turn(turned, node.key)}>{visible(node.name)}</button>
          ) : <span class="leaf">{visible(node.name)}</span>}
        </th>
        <td>{node.match && node.match !== "same" && node.match !== "rest" ? <span class="change">{node.match}</span> : null}</td>
        <td class="n">{duration(node.base)}</td><td class="n">{duration(node.made)}</td>
        <td class="n"><span class={tone(node, noise)}>{node.made > node.base ? "+" : ""}{duration(node.made - node.base)}</span></td>
        <td><Lean value={(node.made - node.base) / largest} tone={tone(node, noise)} /></td>
        <td class="n">{node.base ? (node.made / node.base).toFixed(2) : NONE}</td>
      </tr>,
      ...(node.children.length && opened(node, depth) ? listed(node.children, depth + 1, node.key) : []),
    ]);
    const left = nodes.length - shown.length;
    return left ? [...rows, <tr key={`${above} more`}><td style={{ paddingLeft: `${1.3 + 1.1 * depth}rem` }} colSpan={7}><button type="button" onClick={() => turn(whole, above)}>{woven("{left} more that differ less", { left: left.toLocaleString("en-US") })}</button></td></tr>] : rows;
  };
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={t("Call tree")}>
      <table class="grid tree">
        <thead>
          <tr>
            <th scope="col">{t("call")}</th><th scope="col">{t("match")}</th><th scope="col" class="n">{t("base")}</th><th scope="col" class="n">{t("new")}</th>
            <th scope="col" class="n">{t("difference")}</th><td /><th scope="col" class="n">{t("ratio")}</th>
          </tr>
        </thead>
        <tbody>{listed(roots, 0, "")}</tbody>
      </table>
    </div>
  );
}

/** Longer or shorter, where that is more than what the steps vary by. */
const tone = (node: Node, noise: number): string =>
  apart(node) <= noise * Math.max(node.base, node.made) ? "" : node.made > node.base ? "longer" : "shorter";

const apart = (node: Node): number => Math.abs(node.made - node.base);
const largestOf = (nodes: readonly Node[]): number => nodes.reduce((most, node) => Math.max(most, apart(node), largestOf(node.children)), 0);

/** A difference as a bar from the middle: to the right what is longer. */
function Lean({ value, tone }: { value: number; tone: string }) {
  const wide = Math.min(50, 50 * Math.abs(value));
  return (
    <svg class="lean" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="10" />
      <rect class={tone || "noise"} x={value > 0 ? 50 : 50 - wide} width={wide} height="10" />
    </svg>
  );
}
