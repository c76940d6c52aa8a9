import "../timeline/timeline.css";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Failure } from "../components/Failure";
import { DataTable } from "../components/DataTable";
import { duration } from "../components/format";
import { useTable } from "../components/TablePanel";
import { useAnswer } from "../components/useAnswer";
import type { Column, Table } from "../data/types";
import { href } from "../shell/router";
import { Axis } from "../timeline/Axis";
import { Board } from "../timeline/board";
import { Held, pressed } from "../timeline/keys";
import { placed, trackRow, type Row } from "../timeline/rows";
import { ShareKey } from "../timeline/ShareKey";
import { Stage } from "../timeline/Stage";
import type { TimelineInfo } from "../timeline/types";
import { first, step } from "../timeline/walk";
import { t, woven } from "../language/t";

interface Steps {
  steps: { step: number; from: number; to: number; typical: boolean }[];
}

/** What the devices of each stage do, a stage below the other. */
class PipelineBoard extends Board {
  constructor(info: TimelineInfo, readonly ranks: readonly number[]) {
    super(info);
  }

  override rows(which: "pinned" | "scrolled"): Row[] {
    if (which === "pinned") return [];
    return placed(this.ranks.flatMap((rank, stage) => {
      const mine = this.info.tracks.filter((track) => track.rank === rank);
      const name = t("stage {stage} · rank {rank}", { stage, rank });
      return mine.filter((track) => track.source === "time").map((track) => ({ ...trackRow(track, 1, this.choice, () => 1, ""), label: name }));
    }));
  }
}

/** The known ranks of each pipeline of the job, stage by stage; of pipelines of which there are several. */
export function pipelinesOf(groups: Table | null, known: readonly number[]): number[][] {
  const at = (name: string) => groups?.columns.findIndex((column) => column.name === name) ?? -1;
  const found = (groups?.rows ?? []).flatMap((row) => (row[at("parallelism")] === "pipeline" && Array.isArray(row[at("ranks")]) ? [(row[at("ranks")] as number[]).filter((rank) => known.includes(rank))] : []));
  return [...new Map(found.filter((ranks) => ranks.length > 1).map((ranks) => [ranks.join(), ranks])).values()];
}

/** The stages of a pipeline over a step; there is at least one. */
export function Pipeline({ pipelines }: { pipelines: readonly number[][] }) {
  const which = useSignal(0);
  const ranks = pipelines[which.value] ?? pipelines[0]!;
  return (
    <>
      <p class="prose">{t("A stage that waits for another is idle, or in a transfer that nothing hides: its bubble is at most both together.")}</p>
      {pipelines.length > 1 ? (
        <label class="picker">{t("Pipeline")}{" "}
          <select value={which.value} onChange={(event) => (which.value = Number(event.currentTarget.value))}>
            {pipelines.map((one, i) => <option value={i}>{woven("ranks {ranks}", { ranks: one.join(", ") })}</option>)}
          </select>
        </label>
      ) : null}
      <OneStep key={ranks.join()} ranks={ranks} />
    </>
  );
}

function OneStep({ ranks }: { ranks: number[] }) {
  const info = useAnswer<TimelineInfo>("api/timeline");
  const steps = useAnswer<Steps>(`api/timeline/steps?ranks=${ranks.join(",")}`);
  const board = useMemo(() => (info.found ? new PipelineBoard(info.found, ranks) : null), [info.found]);
  const error = info.error ?? steps.error;
  if (error) return <Failure error={error} />;
  if (!board || !steps.found) return <p class="aside" aria-busy="true">{t("loading the stages")}</p>;
  if (!steps.found.steps.length) return <p class="aside">{t("The stages have no steps in common.")}</p>;
  return <Opened board={board} steps={steps.found.steps} ranks={ranks} />;
}

function Opened({ board, steps, ranks }: { board: PipelineBoard; steps: Steps["steps"]; ranks: number[] }) {
  const chosen = useSignal(Math.max(0, steps.findIndex((one) => one.typical)));
  const held = useRef(new Held(board));
  const shown = steps[chosen.value] ?? steps[0]!;
  const rows = useMemo(() => board.rows("scrolled"), [board]);
  const fit = () => {
    board.view.zero = shown.from;
    board.marks.value = [shown.from, shown.to];
    board.view.fit(shown.from, shown.to, 0.94);
    board.range.value = null;
    board.redraw();
  };
  useEffect(fit, [shown]);
  useEffect(() => {
    // For tests, which can't see into a canvas.
    Object.assign(window, { stepscopePipeline: board });
    return () => held.current.stop();
  }, [board]);
  const down = (event: KeyboardEvent) => {
    if (event.key === "0" || event.key === "Escape") fit();
    else if (!pressed(board, held.current, { neighbour: (way) => step(board, way), first: () => first(board), find: () => undefined, help: () => undefined }, event)) return;
    event.preventDefault();
  };
  return (
    <figure class="pair">
      <div class="tools">
        <label class="picker">{t("Step")}{" "}
          <select value={chosen.value} onChange={(event) => (chosen.value = Number(event.currentTarget.value))}>
            {steps.map((one, i) => <option value={i}>{one.step}, {duration(one.to - one.from)}{one.typical ? "" : t(", not typical")}</option>)}
          </select>
        </label>
        <span class="grow" />
        <button type="button" aria-label={t("Zoom out")} onClick={() => { board.view.zoom(2); board.redraw(); }}>−</button>
        <button type="button" aria-label={t("Zoom in")} onClick={() => { board.view.zoom(0.5); board.redraw(); }}>+</button>
        <button type="button" onClick={fit}>{t("Whole step")}</button>
        <a href={href("timeline", { rank: ranks[0], from: Math.round(shown.from - board.shiftOf(ranks[0]!)), to: Math.round(shown.to - board.shiftOf(ranks[0]!)) })}>{t("In the timeline")}</a>
      </div>
      <div class="pair-box" tabIndex={0} role="group" aria-label={t("Stages over time; W, S, A and D zoom and move")} onKeyDown={down}
        onKeyUp={(event) => held.current.release(event.key.length === 1 ? event.key.toLowerCase() : event.key)} onBlur={() => held.current.stop()}>
        <Axis board={board} />
        <div class="half tall"><Stage board={board} rows={rows} which="scrolled" tools={false} label={t("Stages over time; the table below has what each did")} /></div>
      </div>
      <ShareKey boards={[board]} />
      <Stages ranks={ranks} step={shown.step} />
    </figure>
  );
}

/** Columns of `step_budget` that tell what a stage did. */
const SPENT = ["total_ns", "compute_ns", "exposed_copy_ns", "exposed_comm_ns", "idle_ns"];
const STAGE: Column[] = [
  { name: "stage", type: "int64", unit: "", description: t("Position in the pipeline.") },
  { name: "rank", type: "int64", unit: "", description: t("Rank that computes it.") },
];
const BUBBLE: Column[] = [
  { name: "bubble_ns", type: "int64", unit: "ns", description: t("Exposed communication and idle time: at most so much of the step is its bubble.") },
  { name: "bubble_share", type: "double", unit: "share", description: "bubble_ns as a share of the step." },
];

/** What each stage did in the step, as in `step_budget`. */
function Stages({ ranks, step }: { ranks: number[]; step: number }) {
  const { table } = useTable("step_budget");
  if (!table) return null;
  const at = (name: string) => table.columns.findIndex((column) => column.name === name);
  const rows = ranks.flatMap((rank, stage) => table.rows.filter((row) => row[at("rank")] === rank && row[at("step")] === step).map((row) => {
    const number = (name: string) => Number(row[at(name)] ?? 0);
    const [total, bubble] = [number("total_ns"), number("exposed_comm_ns") + number("idle_ns")];
    return [stage, rank, ...SPENT.map(number), bubble, total ? bubble / total : 0];
  }));
  const columns = [...STAGE, ...SPENT.map((name) => table.columns[at(name)]!), ...BUBBLE];
  return <DataTable name="stages of the step" table={{ columns, rows, description: t("A stage of the pipeline in the chosen step.") }} alike={/_ns$/} />;
}
