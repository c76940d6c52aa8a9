import { Fragment } from "preact";
import { duration, NONE, percent } from "../components/format";
import { type PathTime, type Predicted } from "./changes";
import { counted, word, t, told, woven } from "../language/t";

/** Parts of the path with colours of their own, in the order of the bars; any other is the last. */
const PARTS = [word("kernel"), word("communication"), word("copy"), word("data"), word("host"), word("launch"), word("synchronisation"), word("other")] as const;
/** Kinds of time that are listed before the rest is asked for. */
const FIRST = 10;

const place = (part: string): number => {
  const found = (PARTS as readonly string[]).indexOf(part);
  return found < 0 ? PARTS.length - 1 : found;
};

export const named = ({ part, detail }: PathTime): string =>
  part === "kernel" ? (detail ? t("{kind} kernels", { kind: detail }) : t("kernels")) : part === "communication" ? (detail ?? told(part)) : detail ? `${told(part)}: ${told(detail)}` : told(part);

/** The step as it is and as it would be, and what its critical path consists of. */
export function Effect({ found, changed }: { found: Predicted; changed: boolean }) {
  const { base_ns: base, new_ns: now, saved_ns: saved, steps, residual } = found.prediction;
  const first = found.path.reduce((best, one) => (one.base_ns > best.base_ns ? one : best), found.path[0] ?? NOWHERE);
  const then = found.path[0] ?? NOWHERE;
  const longest = Math.max(base, now, 1);
  return (
    <section aria-label={t("Effect")} aria-live="polite">
      <dl class="figures">
        <div><dt>{t("step now")}</dt><dd>{duration(base)}</dd><dd class="aside">{counted(steps.length, "mean of {count} step, rank {rank}", "mean of {count} steps, rank {rank}", { rank: found.rank })}</dd></div>
        <div><dt>{t("step then")}</dt><dd class="whatif-then">{duration(now)}</dd><dd class="aside">{changed ? `${saved < 0 ? "+" : "−"}${duration(Math.abs(saved))}, ${percent(Math.abs(saved) / Math.max(base, 1))}` : t("nothing is changed yet")}</dd></div>
        <div><dt>{t("speed")}</dt><dd>{now > 0 ? `× ${(base / now).toFixed(2)}` : NONE}</dd><dd class="aside">{t("steps per second")}</dd></div>
        <div><dt>{t("limited most by")}</dt><dd>{named(changed ? then : first)}</dd><dd class="aside">{changed ? t("{share} of it; now {first}, {before}", { share: percent(then.new_ns / Math.max(now, 1)), first: named(first), before: percent(first.base_ns / Math.max(base, 1)) }) : t("{share} of the critical path", { share: percent(first.base_ns / Math.max(base, 1)) })}</dd></div>
      </dl>
      <h2>{woven("What sets the step's length{aside}", { aside: <span class="aside">{t("its critical path: work and waiting one after the other, which add up to the step")}</span> })}</h2>
      <table class="grid whatif-bars">
        <tbody>
          {([[word("now"), base, "base_ns"], [word("then"), now, "new_ns"]] as const).map(([title, total, key]) => (
            <tr>
              <th scope="row">{told(title)}</th>
              <td class="n">{duration(total)}</td>
              <td><Bar path={found.path} of={key} longest={longest} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="colours">{PARTS.map((part, i) => (found.path.some((one) => place(one.part) === i) ? <span><i class={`key w${i}`} />{told(part)}</span> : null))}</p>
      <Times path={found.path} base={base} now={now} />
      {residual !== null && residual > 0.02 ? <p class="aside">{woven("The unchanged graph misses the recorded steps by {residual}: take the prediction with that care.", { residual: percent(residual) })}</p> : null}
    </section>
  );
}

const NOWHERE: PathTime = { part: word("nothing"), detail: null, base_ns: 0, new_ns: 0 };

function Bar({ path, of, longest }: { path: readonly PathTime[]; of: "base_ns" | "new_ns"; longest: number }) {
  const sums = PARTS.map((_, i) => path.reduce((sum, one) => (place(one.part) === i ? sum + one[of] : sum), 0));
  let from = 0;
  return (
    <svg class="whatif-bar" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label={PARTS.flatMap((part, i) => (sums[i] ? [`${told(part)} ${duration(sums[i])}`] : [])).join(", ")}>
      {sums.map((ns, i) => {
        const x = (1000 * from) / longest;
        from += ns;
        return ns ? <rect class={`w${i}`} x={x} width={Math.max((1000 * ns) / longest, 1)} height="20"><title>{`${told(PARTS[i]!)} ${duration(ns)}`}</title></rect> : null;
      })}
    </svg>
  );
}

function Times({ path, base, now }: { path: readonly PathTime[]; base: number; now: number }) {
  const shown = path.filter((one) => one.new_ns >= 0.001 * now || one.base_ns >= 0.001 * base);
  const row = (one: PathTime) => (
    <tr>
      <th scope="row"><i class={`key w${place(one.part)}`} />{named(one)}</th>
      <td class="n">{duration(one.base_ns)}</td>
      <td class="n">{percent(one.base_ns / Math.max(base, 1))}</td>
      <td class="n">{duration(one.new_ns)}</td>
      <td class="n">{percent(one.new_ns / Math.max(now, 1))}</td>
      <td class={`n ${one.new_ns > one.base_ns ? "longer" : one.new_ns < one.base_ns ? "shorter" : ""}`}>{one.new_ns === one.base_ns ? NONE : `${one.new_ns > one.base_ns ? "+" : "−"}${duration(Math.abs(one.new_ns - one.base_ns))}`}</td>
    </tr>
  );
  const head = <thead><tr><th scope="col">{t("on the critical path")}</th><th scope="col" class="n">{t("now")}</th><td /><th scope="col" class="n">{t("then")}</th><td /><th scope="col" class="n">{t("difference")}</th></tr></thead>;
  return (
    <Fragment>
      <div class="scroll" tabIndex={0} role="group" aria-label={t("Critical path")}><table class="grid">{head}<tbody>{shown.slice(0, FIRST).map(row)}</tbody></table></div>
      {shown.length > FIRST ? <details><summary>{woven("{count} more", { count: shown.length - FIRST })}</summary><table class="grid">{head}<tbody>{shown.slice(FIRST).map(row)}</tbody></table></details> : null}
    </Fragment>
  );
}
