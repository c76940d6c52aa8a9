/** Changes of a job as the page has them, in its own address and in the question to the server. */

/** What may be changed, and what that alone is worth (`stepscope.web.predicting`). */
export interface Part {
  subject: string;
  words: string;
  scales: boolean;
  removed_ns: number | null;
  overlapped_ns: number | null;
}

export interface PathTime {
  part: string;
  detail: string | null;
  base_ns: number;
  new_ns: number;
}

export interface Predicted {
  rank: number;
  ranks: number[];
  findings: { key: string; title: string; saved_ns: number }[];
  parts: Part[];
  prediction: { base_ns: number; new_ns: number; saved_ns: number; removed_ns: number; steps: number[]; residual: number | null };
  path: PathTime[];
}

/** Keys of findings that are mended, what parts take of their time (0 for gone), and parts that overlap. */
export interface Changes {
  findings: readonly string[];
  factors: Readonly<Record<string, number>>;
  overlap: readonly string[];
}

export const NOTHING: Changes = { findings: [], factors: {}, overlap: [] };

export const isNothing = ({ findings, factors, overlap }: Changes): boolean => !findings.length && !Object.keys(factors).length && !overlap.length;

/** Of the page's address; what is no change is left out. */
export function changesOf(params: URLSearchParams): Changes {
  const list = (name: string) => (params.get(name) ?? "").split(",").filter(Boolean);
  let factors: Record<string, number> = {};
  try {
    const read = JSON.parse(params.get("factors") ?? "{}") as unknown;
    if (typeof read === "object" && read !== null) factors = Object.fromEntries(Object.entries(read).filter(([, factor]) => typeof factor === "number" && factor >= 0));
  } catch {
    // not written by this page
  }
  return { findings: list("findings"), factors, overlap: list("overlap") };
}

export function paramsOf({ findings, factors, overlap }: Changes): Record<string, string | undefined> {
  return {
    findings: findings.join(",") || undefined,
    factors: Object.keys(factors).length ? JSON.stringify(factors) : undefined,
    overlap: overlap.join(",") || undefined,
  };
}

/** The question to the server. */
export function questionOf(rank: number | null, { findings, factors, overlap }: Changes): string {
  const query = new URLSearchParams();
  if (rank !== null) query.set("rank", String(rank));
  for (const key of findings) query.append("finding", key);
  for (const [subject, factor] of Object.entries(factors)) {
    if (factor) query.append("scale", `${subject}=${factor}`);
    else query.append("remove", subject);
  }
  for (const subject of overlap) query.append("overlap", subject);
  return `api/whatif?${query}`;
}

/** The same for the command line. */
export function commandOf(rank: number, { factors, overlap }: Changes): string {
  const quoted = (text: string) => (/^[\w:.=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const words = Object.entries(factors).map(([subject, factor]) => (factor ? `--scale ${quoted(`${subject}=${factor}`)}` : `--remove ${quoted(subject)}`));
  return ["stepscope whatif PATH", ...words, ...overlap.map((subject) => `--overlap ${quoted(subject)}`), `--rank ${rank}`].join(" ");
}
