import { choices, choose, type Choice } from "./choices";
import { t, woven } from "../language/t";

/** Chooses a run, and a worker and a span of it, where one server shows several recordings. */
export function Picker() {
  const found = choices.value;
  if (found === null) return null;
  const runs = found.runs.map((run) => ({ ...run, chosen: run.address === found.run, name: run.error ? t("{name} (can't be read)", { name: run.name }) : run.name }));
  return (
    <div class="choices">
      <Select label={t("Run")} offered={runs} />
      {found.workers.length > 2 ? <Select label={t("Worker")} offered={found.workers} /> : null}
      {found.spans.length > 1 ? <Select label={t("Span")} offered={found.spans} /> : null}
      {found.more ? <small>{t("There are more runs than are listed.")}</small> : null}
    </div>
  );
}

function Select({ label, offered }: { label: string; offered: (Choice & { chosen: boolean })[] }) {
  const chosen = offered.find((one) => one.chosen)?.address ?? "";
  return (
    <label>
      {label}
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {chosen ? null : <option value="">{t("choose")}</option>}
        {offered.map((one) => <option key={one.address} value={one.address}>{one.name}</option>)}
      </select>
    </label>
  );
}

/** Before a recording is chosen: the page goes on to the last one as soon as there is one. */
export function NoneYet() {
  const found = choices.value;
  return (
    <main class="alone" aria-live="polite">
      {found === null ? <h1>{t("Looking for recordings")}</h1> : <h1>{t("No recordings yet")}</h1>}
      {found === null ? null : <p>{woven("{where} What is recorded there shows here by itself, for example from {code}.", { where: found.folder ? t("Below {folder} there is nothing that stepscope can read.", { folder: found.folder }) : t("There is no folder of this machine to look in: give TensorBoard one as --logdir."), code: <code>torch.profiler.tensorboard_trace_handler</code> })}</p>}
    </main>
  );
}
