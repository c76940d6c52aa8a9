import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { DataTable } from "./DataTable";
import { quantity, visible } from "./format";
import { Frames } from "./Live";
import { word, t, told, woven } from "../language/t";

export interface Segment {
  segment: number;
  address: number;
  bytes: number;
  kind: string | null;
  stream: string | null;
  pool: string | null;
  blocks: Block[];
}

interface Block {
  address: number;
  bytes: number;
  requested: number | null;
  state: string;
  /** Row of `call_stacks`. */
  stack: number | null;
  place: string | null;
  category: string | null;
}

/** A segment by its position in the drawing, and a block of it; -1 for the segment itself. */
type Chosen = readonly [segment: number, block: number];

const [WIDTH, ROW] = [1000, 16];
const STATES = [word("active"), word("pending"), word("inactive"), word("unknown")];
/** Segments drawn before the reader asks for more. */
const FEW = 40;

/** Segments as bars to one scale, the largest first, with their blocks by state; a click or arrow keys choose one. */
export function SegmentChart({ segments, device, rank }: { segments: Segment[]; device: number; rank: number }) {
  const all = useSignal(false);
  const chosen = useSignal<Chosen | null>(null);
  const sorted = useMemo(() => [...segments].sort((a, b) => b.bytes - a.bytes || a.address - b.address), [segments]);
  const shown = all.value ? sorted : sorted.slice(0, FEW);
  const longest = sorted[0]?.bytes ?? 1;
  const columns = [
    { name: "segment", type: "int64", unit: "id", description: t("Number of the segment.") },
    { name: "bytes", type: "int64", unit: "bytes", description: t("Its size.") },
    { name: "kind", type: "string", unit: "", description: t("Kind of segment.") },
    { name: "stream", type: "string", unit: "", description: t("Queue that it belongs to.") },
    { name: "blocks", type: "int64", unit: "count", description: t("Blocks in it.") },
    { name: "active_bytes", type: "int64", unit: "bytes", description: t("In use.") },
    { name: "free_bytes", type: "int64", unit: "bytes", description: t("Cached, not in use.") },
    { name: "largest_free_bytes", type: "int64", unit: "bytes", description: t("Largest block that is not in use.") },
  ];
  const free = (segment: Segment) => segment.blocks.filter((block) => block.state === "inactive").map((block) => block.bytes);
  const rows = sorted.map((segment) => [
    segment.segment, segment.bytes, segment.kind, segment.stream, segment.blocks.length,
    segment.blocks.filter((block) => block.state === "active").reduce((sum, block) => sum + block.bytes, 0),
    free(segment).reduce((sum, bytes) => sum + bytes, 0), Math.max(0, ...free(segment)),
  ]);
  const x = (segment: Segment, block: Block) => 88 + (WIDTH * (block.address - segment.address)) / longest;
  const wide = (bytes: number) => Math.max(0.3, (WIDTH * bytes) / longest);
  const bars = useMemo(() => shown.map((segment, i) => (
    <g transform={`translate(0 ${ROW * i})`}>
      <text x="80" y={ROW - 5} text-anchor="end">{quantity(segment.bytes, "bytes")}</text>
      {segment.blocks.map((block) => (
        <rect class={`state-${block.state}`} x={x(segment, block)} width={wide(block.bytes)} height={ROW - 3}>
          <title>{`${told(block.state)}, ${quantity(block.bytes, "bytes")}${block.place ? `, ${visible(block.place)}` : ""}`}</title>
        </rect>
      ))}
    </g>
  )), [sorted, all.value]);
  const click = (event: MouseEvent & { currentTarget: SVGSVGElement }) => {
    const bar = (event.target as Element).closest("g");
    if (bar) chosen.value = [[...event.currentTarget.querySelectorAll("g")].indexOf(bar), [...bar.querySelectorAll("rect")].indexOf(event.target as SVGRectElement)];
  };
  const move = (event: KeyboardEvent) => {
    const next = neighbour(shown, chosen.value, event.key);
    if (next === undefined) return;
    chosen.value = next;
    event.preventDefault();
  };
  const [i, j] = chosen.value ?? [-1, -1];
  const [segment, block] = [shown[i], shown[i]?.blocks[j]];
  return (
    <figure class="segments">
      <figcaption>{woven("Segments of device {device}, the largest first{states}{how}", { device, states: STATES.map((state) => <span class="aside"><i class={`key state-${state}`} />{told(state)}</span>), how: <span class="aside">{t("Click a block, or the size of a segment.")}</span> })}
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH + 90} ${ROW * shown.length}`} tabindex={0} role="img" onClick={click} onKeyDown={move}
        aria-label={t("Segments and their blocks, as in the table below; arrow keys go from block to block and from segment to segment, Enter to the segment itself")}>
        {bars}
        {segment ? <rect class="chosen" x={block ? x(segment, block) : 88} y={ROW * i} width={wide((block ?? segment).bytes)} height={ROW - 3} /> : null}
      </svg>
      {sorted.length > FEW && !all.value ? <button type="button" onClick={() => (all.value = true)}>{woven("Show all {sorted} segments", { sorted: sorted.length.toLocaleString("en-US") })}</button> : null}
      <div aria-live="polite">{segment ? <One segment={segment} block={block} rank={rank} /> : null}</div>
      <DataTable name="segments" table={{ description: "", columns, rows }} sort="bytes" most={20} />
    </figure>
  );
}

/** Where a key leads: from block to block, from segment to segment, to the segment itself; undefined for other keys. */
function neighbour(segments: Segment[], chosen: Chosen | null, key: string): Chosen | null | undefined {
  const [i, j] = chosen ?? [0, -1];
  const last = (segments[i]?.blocks.length ?? 0) - 1;
  if (key === "ArrowRight") return [i, Math.min(j + 1, last)];
  if (key === "ArrowLeft") return [i, Math.max(j - 1, 0)];
  if (key === "ArrowDown") return [Math.min(i + 1, segments.length - 1), 0];
  if (key === "ArrowUp") return [Math.max(i - 1, 0), 0];
  if (key === "Enter") return [i, -1];
  return key === "Escape" ? null : undefined;
}

const address = (at: number): string => `0x${at.toString(16)}`;

/** All that is known of a block, or of a segment. */
function One({ segment, block, rank }: { segment: Segment; block: Block | undefined; rank: number }) {
  const whole = t("segment {segment}{kind}{stream}{pool}", { segment: segment.segment, kind: segment.kind ? `${t(", ")}${visible(segment.kind)}` : "", stream: segment.stream ? t(", stream {stream}", { stream: visible(segment.stream) }) : "", pool: segment.pool ? t(", pool {pool}", { pool: visible(segment.pool) }) : "" });
  if (!block) {
    const states = STATES.map((state) => [state, segment.blocks.filter((one) => one.state === state)] as const).filter(([, blocks]) => blocks.length);
    return (
      <div class="details">
        <p>{woven("{size} {whole}, at {address}", { size: <strong>{quantity(segment.bytes, "bytes")}</strong>, whole, address: address(segment.address) })}</p>
        <p>{woven("{states} of {blocks} blocks", { states: states.map(([state, blocks]) => t("{state} {size} in {count}", { state: told(state), size: quantity(blocks.reduce((sum, one) => sum + one.bytes, 0), "bytes"), count: blocks.length.toLocaleString("en-US") })).join(t(", ")), blocks: segment.blocks.length.toLocaleString("en-US") })}</p>
      </div>
    );
  }
  return (
    <div class="details">
      <p><strong>{quantity(block.bytes, "bytes")}</strong> {[told(block.state), block.requested === null ? "" : block.state === "inactive" ? t("last asked for {size}", { size: quantity(block.requested, "bytes") }) : t("asked for {size}", { size: quantity(block.requested, "bytes") }), block.category && visible(block.category), block.place && visible(block.place)].filter(Boolean).join(t(", "))}</p>
      <p>{woven("At {address}, {offset} into {whole}, which is {bytes} long", { address: address(block.address), offset: quantity(block.address - segment.address, "bytes"), whole, bytes: quantity(segment.bytes, "bytes") })}</p>
      {block.stack === null ? <p class="aside">{t("No call stack is recorded of it.")}</p> : <Frames rank={rank} stack={block.stack} />}
    </div>
  );
}
