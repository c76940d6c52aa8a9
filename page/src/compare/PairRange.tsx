import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { duration } from "../components/format";
import { getJson, offline } from "../data/client";
import { words } from "../timeline/Tip";
import type { RangeBudget } from "../timeline/types";
import type { Pair } from "./pair";

interface Range {
  from: number;
  to: number;
}

/** What the devices of either side did in the chosen range, a mean over them. */
export function PairRange({ pair, range }: { pair: Pair; range: Range }) {
  const budgets = useSignal<readonly RangeBudget[]>([]);
  const [base] = pair.boards;
  const [from, to] = [range.from - base.view.zero, range.to - base.view.zero];
  useEffect(() => {
    if (offline || to <= from) return undefined;
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      const asked = pair.boards.map((board) => getJson<RangeBudget>(
        `${board.at}api/timeline/range?rank=${board.about.rank}&from=${Math.round(from + board.view.zero)}&to=${Math.round(to + board.view.zero)}`,
        { signal: leaving.signal },
      ));
      Promise.all(asked).then((found) => (budgets.value = found), () => undefined);
    }, 150);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [from, to]);
  const sums = budgets.value.map(meanOf);
  const names = [...new Set(sums.flatMap((one) => [...one.keys()]))];
  return (
    <>
      <p>Range: <strong>{duration(to - from)}</strong>, from {duration(from)} to {duration(to)} <button type="button" onClick={() => { base.range.value = null; base.redraw(); }}>Clear</button></p>
      {names.length ? (
        <div class="scroll" tabIndex={0} role="group" aria-label="What the devices did in the range">
          <table class="grid">
            <thead><tr><th scope="col">in the range</th><th scope="col" class="n">base</th><th scope="col" class="n">new</th><th scope="col" class="n">difference</th></tr></thead>
            <tbody>
              {names.map((name) => {
                const [one, other] = sums.map((sum) => sum.get(name) ?? 0) as [number, number];
                const label = base.info.shares.indexOf(name);
                return (
                  <tr>
                    <th scope="row">{label < 0 ? null : <i class="tl-key" style={{ background: base.palette.share(label) }} />}{words(name)}</th>
                    <td class="n">{duration(one)}</td><td class="n">{duration(other)}</td>
                    <td class="n">{other > one ? "+" : ""}{duration(other - one)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ) : null}
    </>
  );
}

function meanOf(budget: RangeBudget): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { parts } of budget.devices) for (const [name, ns] of parts) sums.set(name, (sums.get(name) ?? 0) + ns / budget.devices.length);
  return sums;
}
