/** The calls of both sides as one tree, in which each node has the compute of all that it encloses. */

import type { Table } from "../data/types";

export interface Node {
  key: string;
  name: string;
  match: string;
  base: number;
  made: number;
  /** What it launched itself. */
  ownBase: number;
  ownMade: number;
  children: Node[];
}

const SEPARATOR = " / ";

/** The roots, from tables `compute_calls` and, for what modules are called on the other side, `compute_modules`. */
export function treeOf(calls: Table, modules: Table | null): Node[] {
  const renamed = new Map<string, string>();
  for (const table of [modules, calls]) {
    const at = columnsOf(table);
    for (const row of table?.rows ?? []) {
      const [base, made] = [row[at("base_path")], row[at("new_path")]];
      if (typeof base === "string" && typeof made === "string" && base !== made) renamed.set(made, base);
    }
  }
  const at = columnsOf(calls);
  const top: Node = { key: "", name: "", match: "", base: 0, made: 0, ownBase: 0, ownMade: 0, children: [] };
  const nodes = new Map<string, Node>([["", top]]);
  const nodeOf = (path: string[]): Node => {
    const key = path.join(SEPARATOR);
    let found = nodes.get(key);
    if (!found) {
      found = { key, name: path[path.length - 1] ?? "", match: "", base: 0, made: 0, ownBase: 0, ownMade: 0, children: [] };
      nodes.set(key, found);
      nodeOf(path.slice(0, -1)).children.push(found);
    }
    return found;
  };
  for (const row of calls.rows) {
    const path = row[at("base_path")] ?? underBase(String(row[at("new_path")] ?? row[at("name")]), renamed);
    const steps = String(path).split(SEPARATOR);
    const [base, made] = [Number(row[at("base_ns")]), Number(row[at("new_ns")])];
    const node = nodeOf(steps);
    Object.assign(node, { name: String(row[at("name")]), match: String(row[at("match")]) });
    node.ownBase += base;
    node.ownMade += made;
    for (let i = 0; i <= steps.length; i++) {
      const one = nodeOf(steps.slice(0, i));
      one.base += base;
      one.made += made;
    }
  }
  return ordered(top.children);
}

const columnsOf = (table: Table | null) => (name: string): number => table?.columns.findIndex((column) => column.name === name) ?? -1;

/** Where a path of the new side is in the tree: below the base's name of what encloses it. */
function underBase(path: string, renamed: ReadonlyMap<string, string>): string {
  const steps = path.split(SEPARATOR);
  for (let i = steps.length; i > 0; i--) {
    const found = renamed.get(steps.slice(0, i).join(SEPARATOR));
    if (found !== undefined) return [found, ...steps.slice(i)].join(SEPARATOR);
  }
  return path;
}

function ordered(nodes: Node[]): Node[] {
  nodes.sort((a, b) => Math.abs(b.made - b.base) - Math.abs(a.made - a.base) || b.made - a.made);
  for (const node of nodes) ordered(node.children);
  return nodes;
}
