import { useSignal } from "@preact/signals";
import { Share } from "../components/Blocks";
import { duration, percent, visible } from "../components/format";
import { RankPicker, rankOf } from "../components/RankPicker";
import { TablePanel, useTable } from "../components/TablePanel";
import { Tabs } from "../components/Tabs";
import type { Table } from "../data/types";
import type { PageProps } from "./registry";

interface Node {
  path: string;
  parent: string | null;
  name: string;
  kind: string;
  count: number;
  total: number;
  self: number;
  device: number;
  backward: number;
  depth: number;
  children: Node[];
}

/** The tree of modules and annotations: host and device time of each. */
export function Modules({ report, params }: PageProps) {
  const rank = rankOf(report, params);
  return (
    <>
      <header class="with"><h1>Modules</h1><RankPicker report={report} params={params} /></header>
      <Tabs
        page="modules" params={params}
        tabs={[
          { id: "tree", title: "Tree", show: () => <Tree rank={rank} /> },
          { id: "table", title: "Table", show: () => <TablePanel name="modules" sort="device_ns" where={{ rank }} columns={["path", "kind", "count", "total_ns", "self_ns", "device_ns", "self_device_ns", "backward_ns", "kernels"]} /> },
        ]}
      />
    </>
  );
}

function Tree({ rank }: { rank: number }) {
  const { table } = useTable("modules");
  const closed = useSignal<ReadonlySet<string>>(new Set());
  if (!table) return <p class="aside" aria-busy="true">loading modules</p>;
  const roots = grown(table, rank);
  const device = roots.reduce((sum, node) => sum + node.device, 0);
  const host = roots.reduce((sum, node) => sum + node.total, 0);
  const turn = (path: string) => {
    const next = new Set(closed.value);
    if (!next.delete(path)) next.add(path);
    closed.value = next;
  };
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Modules">
      <table class="grid tree">
        <thead>
          <tr>
            <th scope="col">module</th><th scope="col" class="n">calls</th>
            <th scope="col" class="n">host</th><th scope="col" class="n">host, self</th>
            <th scope="col" class="n">device</th><th scope="col" class="n">share</th><td /><th scope="col" class="n">backward</th>
          </tr>
        </thead>
        <tbody>
          {listed(roots, closed.value).map((node) => {
            const share = device ? node.device / device : node.total / (host || 1);
            return (
              <tr>
                <th scope="row" style={{ paddingLeft: `${0.2 + 1.1 * node.depth}rem` }}>
                  {node.children.length ? (
                    <button type="button" class="fold" aria-expanded={!closed.value.has(node.path)} onClick={() => turn(node.path)}>{visible(node.name)}</button>
                  ) : <span class="leaf">{visible(node.name)}</span>}
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
      device: number("device_ns"), backward: number("backward_ns"), depth: number("depth"), children: [],
    });
  }
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const above = node.parent === null ? undefined : nodes.get(node.parent);
    (above ? above.children : roots).push(node);
  }
  return roots;
}

function listed(nodes: Node[], closed: ReadonlySet<string>, depth = 0): Node[] {
  return [...nodes]
    .sort((a, b) => b.device - a.device || b.total - a.total)
    .flatMap((node) => [{ ...node, depth }, ...(closed.has(node.path) ? [] : listed(node.children, closed, depth + 1))]);
}
