import { useSignal } from "@preact/signals";
import { Share } from "../components/Blocks";
import { duration, percent, visible } from "../components/format";
import { RankPicker, rankOf } from "../components/RankPicker";
import { TablePanel, useTable } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import { Go } from "../components/Go";
import { rowPlace } from "../components/rowPlace";
import type { Table, Value } from "../data/types";
import type { PageProps } from "./registry";
import { t, woven } from "../language/t";

interface Node {
  path: string;
  parent: string | null;
  name: string;
  kind: string;
  count: number;
  total: number;
  self: number;
  device: number;
  /** Its row; of several alike that of the first. */
  row: readonly Value[];
  backward: number;
  depth: number;
  children: Node[];
  /** Of a row that stands for several alike: how many. */
  alike: number;
}

/** Layers of one name and structure from which on they are one row at first. */
const MANY = 3;
/** Rows below this share are shown when asked for. */
const LITTLE = 0.0005;
/** But not where they take this share of the host. */
const OF_HOST = 0.01;

/** The tree of modules and annotations: host and device time of each. */
export function Modules({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  return (
    <>
      <header class="with"><h1>{t("Modules")}</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="modules" params={params}
        tabs={[
          { id: "tree", title: t("Tree"), show: () => <Tree rank={rank} /> },
          { id: "table", title: t("Table"), show: () => <TablePanel name="modules" sort="device_ns" where={{ rank }} columns={["path", "kind", "count", "total_ns", "self_ns", "device_ns", "self_device_ns", "backward_ns", "kernels"]} /> },
        ]}
      />
    </>
  );
}

function Tree({ rank }: { rank: number }) {
  const { table } = useTable("modules");
  const turned = useSignal<ReadonlySet<string>>(new Set());
  const every = useSignal(false);
  if (!table) return <p class="aside" aria-busy="true">{t("loading modules")}</p>;
  const roots = grown(table, rank);
  const device = roots.reduce((sum, node) => sum + node.device, 0);
  const host = roots.reduce((sum, node) => sum + node.total, 0);
  const turn = (path: string) => {
    const next = new Set(turned.value);
    if (!next.delete(path)) next.add(path);
    turned.value = next;
  };
  const open = (node: Node) => (node.alike === 1) !== turned.value.has(node.path);
  const shareOf = (node: Node) => (device ? node.device / device : node.total / (host || 1));
  const all = listed(roots, open);
  const shown = every.value ? all : all.filter((node) => shareOf(node) >= LITTLE || (device > 0 && node.total >= OF_HOST * host));
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={t("Modules")}>
      <table class="grid tree">
        <thead>
          <tr>
            <th scope="col">{t("module")}</th><th scope="col" class="n">{t("calls")}</th>
            <th scope="col" class="n">{t("host")}</th><th scope="col" class="n">{t("host, self")}</th>
            <th scope="col" class="n">{t("device")}</th><th scope="col" class="n">{t("share")}</th><td /><th scope="col" class="n">{t("backward")}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((node) => {
            const share = shareOf(node);
            return (
              <tr>
                <th scope="row" style={{ paddingLeft: `${0.2 + 1.1 * node.depth}rem` }}>
                  {node.children.length ? (
                    <button type="button" class="fold" aria-expanded={open(node)} onClick={() => turn(node.path)}>{visible(node.name)}{node.alike > 1 ? <small>{woven(" {alike} alike", { alike: node.alike })}</small> : null}</button>
                  ) : <span class="leaf">{visible(node.name)}</span>}
                  <Go place={rowPlace(table.columns, node.row, { table: "modules" })} of={visible(node.name)} />
                </th>
                <td class="n">{node.count.toLocaleString("en-US")}</td>
                <td class="n">{duration(node.total)}</td><td class="n">{duration(node.self)}</td>
                <td class="n">{duration(node.device)}</td><td class="n">{percent(share)}</td><td><Share value={share} /></td>
                <td class="n">{duration(node.backward)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {all.length > shown.length || every.value ? <p><button type="button" aria-pressed={every.value} onClick={() => (every.value = !every.value)}>{every.value ? t("Leave out what takes nearly nothing") : t("{count} that take nearly nothing", { count: all.length - shown.length })}</button></p> : null}
    </div>
  );
}

function grown(table: Table, rank: number): Node[] {
  const at = Object.fromEntries(table.columns.map((column, i) => [column.name, i]));
  const nodes = new Map<string, Node>();
  for (const row of table.rows) {
    if (row[at["rank"]!] !== rank) continue;
    const number = (name: string) => Number(row[at[name]!] ?? 0);
    const parent = row[at["parent"]!];
    nodes.set(String(row[at["path"]!]), {
      path: String(row[at["path"]!]), parent: parent === null || parent === undefined || parent === "" ? null : String(parent),
      name: String(row[at["name"]!]), kind: String(row[at["kind"]!]), count: number("count"), total: number("total_ns"), self: number("self_ns"),
      device: number("device_ns"), row, backward: number("backward_ns"), depth: number("depth"), children: [], alike: 1,
    });
  }
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const above = node.parent === null ? undefined : nodes.get(node.parent);
    (above ? above.children : roots).push(node);
  }
  return roots;
}

/** Rows in order: what takes most first, but layers of one name and structure together and by their number. */
function listed(nodes: readonly Node[], open: (node: Node) => boolean, depth = 0): Node[] {
  return folded(nodes)
    .sort((a, b) => b.device - a.device || b.total - a.total)
    .flatMap((node) => [{ ...node, depth }, ...(open(node) ? below(node, open, depth + 1) : [])]);
}

const below = (node: Node, open: (node: Node) => boolean, depth: number): Node[] =>
  node.alike > 1
    ? node.children.flatMap((one) => [{ ...one, depth }, ...(open(one) ? listed(one.children, open, depth + 1) : [])])
    : listed(node.children, open, depth);

const NUMBER = /\d+(?=\D*$)/;
const stem = (name: string): string => name.replace(NUMBER, "#");

/** What a module consists of, whatever its layers are numbered. */
function shape(node: Node): string {
  return `${stem(node.name)}(${node.children.map(shape).sort().join(",")})`;
}

/** Siblings, of which many alike are one row above them. */
function folded(nodes: readonly Node[]): Node[] {
  const groups = new Map<string, Node[]>();
  for (const node of nodes) {
    const key = NUMBER.test(node.name) && node.children.length ? `${node.kind} ${shape(node)}` : node.path;
    groups.set(key, [...(groups.get(key) ?? []), node]);
  }
  return [...groups.values()].flatMap((alike) => (alike.length < MANY ? alike : [together(alike)]));
}

function together(alike: readonly Node[]): Node {
  const number = (node: Node) => Number(NUMBER.exec(node.name)?.[0] ?? 0);
  const children = [...alike].sort((a, b) => number(a) - number(b));
  const [first, last] = [children[0] as Node, children[children.length - 1] as Node];
  const sum = (of: (node: Node) => number) => children.reduce((total, node) => total + of(node), 0);
  return {
    ...first, path: `${first.path} to ${last.path}`, name: `${first.name} … ${last.name}`, count: sum((one) => one.count), total: sum((one) => one.total),
    self: sum((one) => one.self), device: sum((one) => one.device), backward: sum((one) => one.backward), children, alike: children.length,
  };
}
