/** Of one function over all stacks: what it calls, merged, and who calls it, innermost first. */

import type { Frames } from "./FlameGraph";

class Merged {
  private readonly name: number[] = [];
  private readonly parent: number[] = [];
  private readonly self: number[] = [];
  private readonly total: number[] = [];
  private readonly known = new Map<string, number>();

  below(parent: number, name: number): number {
    const key = `${parent} ${name}`;
    let found = this.known.get(key);
    if (found === undefined) {
      found = this.name.length;
      this.known.set(key, found);
      this.name.push(name);
      this.parent.push(parent);
      this.self.push(0);
      this.total.push(0);
    }
    return found;
  }

  add(node: number, total: number, self: number): void {
    this.total[node]! += total;
    this.self[node]! += self;
  }

  frames(of: Frames): Frames {
    return { names: of.names, ...(of.whole ? { whole: of.whole } : {}), name: this.name, parent: this.parent, self_ns: this.self, total_ns: this.total };
  }
}

/** Frames of a name that are below none of the same name: with the inner ones of a recursion time would count twice. */
function outermost(frames: Frames, name: number): number[] {
  return frames.name.flatMap((one, i) => {
    if (one !== name) return [];
    for (let above = frames.parent[i]!; above >= 0; above = frames.parent[above]!) if (frames.name[above] === name) return [];
    return [i];
  });
}

/** What a function calls, over all of its stacks. */
export function callees(frames: Frames, name: number): Frames {
  const merged = new Merged();
  const node = new Map<number, number>();
  for (const i of outermost(frames, name)) node.set(i, merged.below(-1, name));
  // A frame comes after the one that it is below.
  frames.name.forEach((one, i) => {
    const above = node.get(frames.parent[i]!);
    if (above !== undefined && !node.has(i)) node.set(i, merged.below(above, one));
    const mine = node.get(i);
    if (mine !== undefined) merged.add(mine, frames.total_ns[i]!, frames.self_ns[i]!);
  });
  return merged.frames(frames);
}

/** Who calls a function: it is outermost, then its callers, each with the time that the function takes for it. */
export function callers(frames: Frames, name: number): Frames {
  const merged = new Merged();
  for (const i of outermost(frames, name)) {
    const took = frames.total_ns[i]!;
    let at = merged.below(-1, name);
    merged.add(at, took, 0);
    for (let above = frames.parent[i]!; above >= 0; above = frames.parent[above]!) {
      at = merged.below(at, frames.name[above]!);
      merged.add(at, took, 0);
    }
    merged.add(at, 0, took);
  }
  return merged.frames(frames);
}
