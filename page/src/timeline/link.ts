/** The view as an address, and back: times are those of one rank. */

import { getJson, getTable, offline, Refused } from "../data/client";
import type { Board } from "./board";
import type { Brief } from "./types";
import { t } from "../language/t";

type Params = Record<string, string | number | undefined>;

const listed = (values: Iterable<string | number>): string | undefined => [...values].join(",") || undefined;
const numbers = (text: string | null): number[] => (text ? text.split(",").map(Number).filter(Number.isFinite) : []);
const whole = (text: string | null): number | null => (text !== null && /^-?\d{1,18}$/.test(text) ? Number(text) : null);

/** What restores the view. */
export function paramsOf(board: Board): Params {
  const { view, selected, range, info } = board;
  const rank = selected.value?.rank ?? range.value?.rank ?? info.ranks[0]?.rank ?? 0;
  const shift = board.shiftOf(rank);
  return {
    exact: 1,
    rank,
    from: Math.round(view.from - shift),
    to: Math.round(view.to - shift),
    event: selected.value?.id,
    finding: board.finding.value === null ? undefined : board.finding.value + 1,
    range: range.value ? `${range.value.from - shift},${range.value.to - shift}` : undefined,
    marks: listed(board.marks.value.map((mark) => mark - shift)),
    pin: listed(board.pinned.value),
    hide: listed(board.hidden.value),
    turn: listed(board.turned.value),
    search: board.search.value || undefined,
  };
}

/** Go where an address says; what it does not say stays, or is everything at first. */
export function follow(board: Board, params: URLSearchParams): void {
  const rank = whole(params.get("rank")) ?? board.info.ranks[0]?.rank ?? 0;
  const shift = board.shiftOf(rank);
  const tracks = (name: string) => new Set(numbers(params.get(name)).filter((index) => board.info.tracks[index]));
  board.pinned.value = tracks("pin");
  board.hidden.value = tracks("hide");
  board.turned.value = new Set((params.get("turn") ?? "").split(",").filter(Boolean));
  board.marks.value = numbers(params.get("marks")).map((mark) => mark + shift);
  board.search.value = params.get("search") ?? "";
  const [from, to] = [whole(params.get("from")), whole(params.get("to"))];
  const event = whole(params.get("event"));
  const [a, b] = numbers(params.get("range"));
  const exact = params.has("exact");
  // A place may be one of several findings: the one from which the link leads here is meant.
  const finding = whole(params.get("finding"));
  if (finding !== null) board.finding.value = finding - 1;
  // What was chosen before is not what the place is about.
  if (!exact && (event !== null || from !== null || params.has("longest") || params.has("step"))) board.forget();
  if (from !== null && to !== null && to > from) {
    if (exact) board.view.set(from + shift, to + shift);
    else {
      // A place that something else refers to: with what is around it, and chosen.
      board.view.fit(from + shift, to + shift);
      board.select(rank, from + shift, to + shift);
    }
  } else if (event === null) board.view.set(...board.home());
  if (a !== undefined && b !== undefined) board.select(rank, a + shift, b + shift);
  if (event !== null) void board.choose(rank, event, exact ? "bring up" : from === null ? "fit" : "reveal");
  if (params.has("longest") || params.has("step")) void arrive(board, rank, params);
  openRank(board, rank);
  const time = board.info.tracks.find((track) => track.rank === rank && track.form === "shares");
  if (time && event === null && params.has("rank") && board.info.ranks.length > 1) board.bringUp(time.index, 0);
  board.redraw();
}

/** Go to what has to be asked for: the longest event of a name, or a step. */
async function arrive(board: Board, rank: number, params: URLSearchParams): Promise<void> {
  try {
    const name = params.get("longest");
    if (name === null) {
      const found = await stepOf(rank, Number(params.get("step")));
      const shift = board.shiftOf(rank);
      board.view.fit(found[0] + shift, found[1] + shift, 0.8);
      board.select(rank, found[0] + shift, found[1] + shift);
      return;
    }
    const query = new URLSearchParams({ rank: String(rank), name, table: params.get("table") ?? "" });
    for (const key of ["step", "dur"]) if (params.get(key) !== null) query.set(key, params.get(key) as string);
    const [from, to] = (params.get("in") ?? "").split(",");
    if (from && to) [["from", from], ["to", to]].forEach(([key, value]) => query.set(key as string, value as string));
    const found = await getJson<Brief>(`api/timeline/longest?${query}`);
    await board.choose(rank, found.id, "fit", found);
  } catch (error) {
    board.error.value = error instanceof Refused ? error : new Refused(String(error));
  }
}

/** From where to where the devices worked on a step, else the host, in the rank's own time. */
async function stepOf(rank: number, step: number): Promise<[number, number]> {
  const { columns, rows } = await getTable("step_budget").catch(() => ({ columns: [], rows: [] }));
  const at = (name: string) => columns.findIndex((column) => column.name === name);
  const mine = rows.filter((row) => row[at("rank")] === rank && row[at("step")] === step);
  const of = (name: string) => mine.flatMap((row) => (typeof row[at(name)] === "number" ? [row[at(name)] as number] : []));
  const [start, end] = [Math.min(...of("start_ns")), Math.max(...of("end_ns"))];
  if (end > start) return [start, end];
  if (!offline) {
    const asked = `SELECT ts, ts + dur FROM steps WHERE rank = ${rank} AND step = ${step} AND dur > 0`;
    const found = await getJson<{ rows: [number, number][] }>("api/query", { body: { sql: asked } });
    if (found.rows[0]) return found.rows[0];
  }
  throw new Refused(t("rank {rank} has no step {step} in its budget", { rank, step }));
}

function openRank(board: Board, rank: number): void {
  const row = board.rows("scrolled").find((one) => one.key === `r${rank}`);
  if (row && !row.open) board.turn(row.key);
}
