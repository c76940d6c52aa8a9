/** Tiles as the server writes them (`stepscope.web.tiles.encode`), decoded without copying. */

const MAGIC = 0x31545353;

export type Numbers = Float64Array | Int32Array;

export interface Tile {
  track: number;
  level: number;
  tile: number;
  form: "events" | "shares" | "line";
  /** Where the tile begins, in ns; times of its columns count from here. */
  lo: number;
  lanes: number;
  names: string[];
  before: number | null;
  columns: Map<string, Numbers>;
  bytes: number;
}

export interface EventColumns {
  start: Numbers;
  span: Numbers;
  busy: Numbers;
  event: Numbers;
  lane: Numbers;
  kind: Numbers;
  name: Numbers;
  count: Numbers;
}

/** The blocks of a reply. */
export function decode(reply: ArrayBuffer): Tile[] {
  const view = new DataView(reply);
  const found: Tile[] = [];
  let at = 0;
  while (at < reply.byteLength) {
    if (view.getUint32(at, true) !== MAGIC) throw new Error(`no tile begins at byte ${at}`);
    const from = at;
    const length = view.getUint32(at + 4, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(reply, at + 8, length)));
    at += 8 + length;
    const columns = new Map<string, Numbers>();
    for (const [name, type, size] of header.columns as [string, string, number][]) {
      const column = type === "float64" ? new Float64Array(reply, at, size) : new Int32Array(reply, at, size);
      columns.set(name, column);
      at += Math.ceil(column.byteLength / 8) * 8;
    }
    found.push({
      track: header.track,
      level: header.level,
      tile: header.tile,
      form: header.form,
      lo: Number(header.lo),
      lanes: header.lanes ?? 1,
      names: header.names ?? [],
      before: header.before ?? null,
      columns,
      bytes: at - from,
    });
  }
  return found;
}

const NONE = new Float64Array(0);

/** The columns of a tile of events by name. */
export function eventColumns(tile: Tile): EventColumns {
  const of = (name: string): Numbers => tile.columns.get(name) ?? NONE;
  return {
    start: of("start"), span: of("span"), busy: of("busy"), event: of("event"),
    lane: of("lane"), kind: of("kind"), name: of("name"), count: of("count"),
  };
}

export const keyOf = (track: number, level: number, tile: number): string => `${track}/${level}/${tile}`;
