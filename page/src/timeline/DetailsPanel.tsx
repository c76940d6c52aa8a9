import { duration, quantity, visible } from "../components/format";
import type { Value } from "../data/types";
import type { Board } from "./board";
import { Back } from "./Back";
import { moment } from "./ruler";
import type { Brief } from "./types";
import { t, told, woven } from "../language/t";
import { named } from "./naming";

/** Everything that is recorded of the chosen event, and what it belongs to. */
export function DetailsPanel({ board }: { board: Board }) {
  const found = board.details.value;
  if (!found) return <Drawn board={board} />;
  const { event } = found;
  const fit = () => {
    board.view.fit(event.start, event.start + (event.dur ?? 0));
    board.redraw();
  };
  const flows = board.flows.value.filter((flow) => flow.source.id === event.id || flow.target.id === event.id);
  return (
    <div class="tl-details">
      <div>
        <h2>{found.name}</h2>
        <Facts event={event} shift={found.shift} thread={found.thread} />
        <div class="tl-actions">
          <button type="button" onClick={fit}>{t("Zoom to it")}</button>
          <button type="button" onClick={() => board.select(event.rank, event.start, event.start + Math.max(event.dur ?? 1, 1))}>{t("Select its time")}</button>
        </div>
        <Links board={board} title={t("Leads to")} events={flows.filter((flow) => flow.source.id === event.id).map((flow) => ({ ...flow.target, what: flow.kind }))} />
        <Links board={board} title={t("Comes from")} events={flows.filter((flow) => flow.target.id === event.id).map((flow) => ({ ...flow.source, what: flow.kind }))} />
        <Links board={board} title={t("Belongs to")} events={found.related} />
        <Back board={board} rank={event.rank} start={event.start} event={event} name={found.name} />
      </div>
      <div>
        {found.facts.map(({ title, rows }) => (
          <table class="tl-pairs">
            <caption>{told(title)}</caption>
            <tbody>
              {rows.map(([name, value, unit]) => <tr><th scope="row">{name}</th><td>{written(value, unit)}</td></tr>)}
            </tbody>
          </table>
        ))}
      </div>
      {found.stack.length ? (
        <div>
          <h3>{t("Call stack, innermost first")}</h3>
          <ol class="tl-stack">{found.stack.map((line) => <li>{line}</li>)}</ol>
        </div>
      ) : null}
    </div>
  );
}

/** What is drawn of the chosen event, until the rest comes. */
function Drawn({ board }: { board: Board }) {
  const event = board.selected.value;
  if (!event) return <p class="aside" role="status">{board.said.value || t("Click an event, or press Enter, to see what is recorded of it.")}</p>;
  const thread = event.track === null ? "" : named(board.info.tracks[event.track]?.label ?? "");
  return (
    <div class="tl-details">
      <div>
        <h2>{visible(event.name)}</h2>
        <Facts event={event} shift={board.shiftOf(event.rank)} thread={thread} />
        <p class="aside" role="status">{board.said.value || t("Reading what is recorded of it …")}</p>
      </div>
    </div>
  );
}

function Facts({ event, shift, thread }: { event: Brief; shift: number; thread: string }) {
  return (
    <dl class="tl-facts">
      <dt>{t("start")}</dt><dd>{moment(event.start - shift)}</dd>
      <dt>{t("duration")}</dt><dd>{event.dur === null ? t("not recorded") : moment(event.dur)}</dd>
      <dt>{t("category")}</dt><dd>{event.category}</dd>
      <dt>{t("on")}</dt><dd>{woven("rank {rank}, {thread}", { rank: event.rank, thread })}</dd>
      {event.step === null ? null : [<dt>{t("step")}</dt>, <dd>{event.step}</dd>]}
    </dl>
  );
}

function Links({ board, title, events }: { board: Board; title: string; events: (Brief & { what: string })[] }) {
  if (!events.length) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="tl-links">
        {events.slice(0, 12).map((one) => (
          <li>
            <span class="aside">{told(one.what)} </span>
            <button type="button" class="link" onClick={() => void board.choose(one.rank, one.id, "reveal")}>{visible(one.name).slice(0, 120)}</button>
            <span class="aside"> {duration(one.dur)}</span>
          </li>
        ))}
        {events.length > 12 ? <li class="aside">{woven("and {events} more", { events: events.length - 12 })}</li> : null}
      </ul>
    </>
  );
}

function written(value: Value, unit: string): string {
  if (typeof value === "number") return unit ? quantity(value, unit) : String(value);
  return visible(String(value));
}
