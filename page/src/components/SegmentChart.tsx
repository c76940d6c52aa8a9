import { useSignal } from "@preact/signals";
import { DataTable } from "./DataTable";
import { quantity, visible } from "./format";

export interface Segment {
  segment: number;
  address: number;
  bytes: number;
  kind: string | null;
  stream: string | null;
  pool: string | null;
  blocks: { address: number; bytes: number; requested: number | null; state: string; place: string | null; category: string | null }[];
}

const [WIDTH, ROW] = [1000, 16];
const STATES = ["active", "pending", "inactive", "unknown"];
/** Segments drawn before the reader asks for more. */
const FEW = 40;

/** Segments as bars to one scale, the largest first, with their blocks by state. */
export function SegmentChart({ segments, device }: { segments: Segment[]; device: number }) {
  const all = useSignal(false);
  const sorted = [...segments].sort((a, b) => b.bytes - a.bytes || a.address - b.address);
  const shown = all.value ? sorted : sorted.slice(0, FEW);
  const longest = sorted[0]?.bytes ?? 1;
  const columns = [
    { name: "segment", type: "int64", unit: "id", description: "Number of the segment." },
    { name: "bytes", type: "int64", unit: "bytes", description: "Its size." },
    { name: "kind", type: "string", unit: "", description: "Kind of segment." },
    { name: "stream", type: "string", unit: "", description: "Queue that it belongs to." },
    { name: "blocks", type: "int64", unit: "count", description: "Blocks in it." },
    { name: "active_bytes", type: "int64", unit: "bytes", description: "In use." },
    { name: "free_bytes", type: "int64", unit: "bytes", description: "Cached, not in use." },
    { name: "largest_free_bytes", type: "int64", unit: "bytes", description: "Largest block that is not in use." },
  ];
  const free = (segment: Segment) => segment.blocks.filter((block) => block.state === "inactive").map((block) => block.bytes);
  const rows = sorted.map((segment) => [
    segment.segment, segment.bytes, segment.kind, segment.stream, segment.blocks.length,
    segment.blocks.filter((block) => block.state === "active").reduce((sum, block) => sum + block.bytes, 0),
    free(segment).reduce((sum, bytes) => sum + bytes, 0), Math.max(0, ...free(segment)),
  ]);
  return (
    <figure class="segments">
      <figcaption>
        Segments of device {device}, the largest first
        {STATES.map((state) => <span class="aside"><i class={`key state-${state}`} />{state}</span>)}
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH + 90} ${ROW * shown.length}`} role="img" aria-label="Segments and their blocks, as in the table below">
        {shown.map((segment, i) => (
          <g transform={`translate(0 ${ROW * i})`}>
            <text x="80" y={ROW - 5} text-anchor="end">{quantity(segment.bytes, "bytes")}</text>
            {segment.blocks.map((block) => (
              <rect class={`state-${block.state}`} x={88 + (WIDTH * (block.address - segment.address)) / longest} width={Math.max(0.3, (WIDTH * block.bytes) / longest)} height={ROW - 3}>
                <title>{`${block.state}, ${quantity(block.bytes, "bytes")}${block.place ? `, ${visible(block.place)}` : ""}`}</title>
              </rect>
            ))}
          </g>
        ))}
      </svg>
      {sorted.length > FEW && !all.value ? <button type="button" onClick={() => (all.value = true)}>Show all {sorted.length.toLocaleString("en-US")} segments</button> : null}
      <DataTable name="segments" table={{ description: "", columns, rows }} sort="bytes" most={20} />
    </figure>
  );
}
