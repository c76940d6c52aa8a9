import "./whatif.css";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Failure } from "../components/Failure";
import { duration, percent } from "../components/format";
import { getMade, Refused } from "../data/client";
import type { Progress } from "../data/types";
import type { PageProps } from "../pages/registry";
import { href, keep } from "../shell/router";
import { changesOf, commandOf, isNothing, NOTHING, paramsOf, questionOf, type Changes, type Part, type Predicted } from "./changes";
import { Effect } from "./Effect";
import { t, told, woven } from "../language/t";

/** Parts that are listed before the rest is asked for. */
const FIRST = 8;
/** How long a slider rests before the server is asked, ms. */
const REST = 120;

/** What a step would take if findings were mended, or parts of the job faster, gone or overlapped. */
export function WhatIf({ params }: PageProps) {
  const asked = params.get("rank");
  const rank = asked !== null && /^\d+$/.test(asked) ? Number(asked) : null;
  const { found, error, progress } = useMade<Predicted>(questionOf(rank, NOTHING), 0);
  return (
    <>
      <header class="head">
        <h1>{t("What if")}</h1>
        <p class="aside">{t("Tick what would be mended, or say what parts would take: the graph of what waits for what in the steps is replayed with that.")}</p>
      </header>
      {error ? <Failure error={error} /> : null}
      {!found && !error ? <p aria-busy="true"><progress aria-label={t("Analysing")} max={progress?.total || 1} value={progress?.done} /> <span class="aside">{progress?.what ?? t("opening")}</span></p> : null}
      {found ? <Changing key={found.rank} offered={found} params={params} /> : null}
    </>
  );
}

function Changing({ offered, params }: { offered: Predicted; params: URLSearchParams }) {
  const changes = useSignal(changesOf(params));
  useEffect(() => void (changes.value = changesOf(params)), [params]);
  const unknown = changes.value.findings.filter((key) => !offered.findings.some((one) => one.key === key));
  const known = { ...changes.value, findings: changes.value.findings.filter((key) => !unknown.includes(key)) };
  const { found, error } = useMade<Predicted>(questionOf(offered.rank, known), REST);
  const set = (part: Partial<Changes>) => {
    changes.value = { ...changes.value, ...part };
    keep("whatif", { rank: offered.rank, ...paramsOf(changes.value) });
  };
  const nothing = isNothing(known);
  return (
    <div class="whatif">
      <div>
        {offered.ranks.length > 1 ? (
          <label class="picker">{t("Rank")}{" "}
            <select value={offered.rank} onChange={(event) => keep("whatif", { rank: event.currentTarget.value, ...paramsOf({ ...changes.value, findings: [] }) })}>
              {offered.ranks.map((one) => <option value={one}>{one}</option>)}
            </select>
          </label>
        ) : null}
        <p><button type="button" disabled={isNothing(changes.value)} onClick={() => set(NOTHING)}>{t("Change nothing")}</button></p>
        <Findings offered={offered} chosen={changes.value.findings} choose={(findings) => set({ findings })} />
        {unknown.length ? <p class="aside">{woven("{unknown}: on this rank nothing in the graph stands for it, so that it can't be ticked.", { unknown: unknown.join(", ") })}</p> : null}
        <Parts offered={offered} changes={changes.value} set={set} />
      </div>
      <div>
        {error ? <Failure error={error} /> : null}
        {found ? <Effect found={found} changed={!nothing} /> : <p class="aside" aria-busy={!error}>{error ? "" : t("predicting")}</p>}
        {known.findings.length || nothing ? null : <p class="aside">{woven("The same in a terminal: {code}", { code: <code>{commandOf(offered.rank, known)}</code> })}</p>}
        <p class="aside">{t("Other ranks are taken to change in the same way. Parts that nothing waits for save nothing by themselves.")}</p>
      </div>
    </div>
  );
}

function Findings({ offered, chosen, choose }: { offered: Predicted; chosen: readonly string[]; choose: (keys: string[]) => void }) {
  if (!offered.findings.length) return null;
  const base = Math.max(offered.prediction.base_ns, 1);
  return (
    <fieldset>
      <legend>{t("Mend findings")}</legend>
      {offered.findings.map(({ key, title, saved_ns }) => (
        <label class="whatif-row">
          <input type="checkbox" checked={chosen.includes(key)} onChange={(event) => choose(event.currentTarget.checked ? [...chosen, key] : chosen.filter((one) => one !== key))} />
          <span>{title} <a href={href("guide", { read: key.split(".")[0] })} title={t("How it decides, and what to try")}><code>{key}</code></a></span>
          <span class="n">{duration(saved_ns)}<small> {percent(saved_ns / base)}</small></span>
        </label>
      ))}
    </fieldset>
  );
}

function Parts({ offered, changes, set }: { offered: Predicted; changes: Changes; set: (part: Partial<Changes>) => void }) {
  const more = useSignal(false);
  const own = useSignal("");
  const set1 = (subject: string, factor: number) => {
    const { [subject]: _, ...rest } = changes.factors;
    set({ factors: factor === 1 ? rest : { ...rest, [subject]: factor } });
  };
  const named: Part[] = Object.keys(changes.factors)
    .filter((subject) => !offered.parts.some((part) => part.subject === subject))
    .map((subject) => ({ subject, words: subject, scales: true, removed_ns: null, overlapped_ns: null }));
  const touched = (part: Part) => part.subject in changes.factors || changes.overlap.includes(part.subject);
  const shown = [...named, ...offered.parts.filter((part, i) => more.value || i < FIRST || touched(part))];
  return (
    <fieldset>
      <legend>{t("Change parts of the job")}</legend>
      {shown.map((part) => <PartRow key={part.subject} part={part} changes={changes} factor={(value) => set1(part.subject, value)} overlap={(on) => set({ overlap: on ? [...changes.overlap, part.subject] : changes.overlap.filter((one) => one !== part.subject) })} />)}
      {offered.parts.length > FIRST ? <button type="button" aria-expanded={more.value} onClick={() => (more.value = !more.value)}>{more.value ? t("Fewer") : t("{count} more", { count: offered.parts.length - FIRST })}</button> : null}
      <form class="whatif-own" onSubmit={(event) => { event.preventDefault(); if (own.value.trim()) set1(own.value.trim(), 0.5); own.value = ""; }}>
        <label>
          <span class="aside">{t("Something else")}</span>
          <input type="text" placeholder="op:aten::gelu, kernel:*softmax*" value={own.value} onInput={(event) => (own.value = event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={!own.value.trim()}>{t("Add")}</button>
      </form>
    </fieldset>
  );
}

function PartRow({ part, changes, factor, overlap }: { part: Part; changes: Changes; factor: (value: number) => void; overlap: (on: boolean) => void }) {
  const { subject, words, scales, removed_ns, overlapped_ns } = part;
  const now = changes.factors[subject] ?? 1;
  const [, kind] = /^kernel:(.+)$/.exec(subject) ?? [];
  const named = kind && words !== subject ? t("{kind} kernels", { kind }) : told(words);
  return (
    <div class="whatif-part">
      <span title={subject}>{named}</span>
      {scales ? (
        <label>
          <span class="hidden">{t("Time that {words} take, per cent", { words: named })}</span>
          <input type="range" min={0} max={200} step={5} value={100 * now} onInput={(event) => factor(Number(event.currentTarget.value) / 100)} />
          <output>{now === 0 ? t("gone") : `${Math.round(100 * now)} %`}</output>
        </label>
      ) : (
        <label><input type="checkbox" checked={now === 0} onChange={(event) => factor(event.currentTarget.checked ? 0 : 1)} />{t("none")}</label>
      )}
      {overlapped_ns === null ? null : <label class="over"><input type="checkbox" checked={changes.overlap.includes(subject)} onChange={(event) => overlap(event.currentTarget.checked)} />{woven(" overlapped{saves}", { saves: <small>{t(" saves {time}", { time: duration(overlapped_ns) })}</small> })}</label>}
      {removed_ns === null ? null : <small>{t("at most {time}", { time: duration(removed_ns) })}</small>}
    </div>
  );
}

/** What is at an address, once it is made and has been wanted for a moment; the last answer stays meanwhile. */
function useMade<T>(path: string, rest: number): { found: T | null; error: Refused | null; progress: Progress | null } {
  const found = useSignal<T | null>(null);
  const error = useSignal<Refused | null>(null);
  const progress = useSignal<Progress | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      getMade<T>(path, (now) => (progress.value = now), leaving.signal).then(
        (answer) => leaving.signal.aborted || ([found.value, error.value] = [answer, null]),
        (problem) => leaving.signal.aborted || (error.value = problem instanceof Refused ? problem : new Refused(String(problem))),
      );
    }, rest);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [path]);
  return { found: found.value, error: error.value, progress: progress.value };
}
