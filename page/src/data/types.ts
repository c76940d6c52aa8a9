/** What the server sends; `docs/report.md` describes the report, `stepscope.web.document` its head. */

export type Value = string | number | boolean | null | (string | number)[];

export interface Column {
  name: string;
  type: string;
  unit: string;
  description: string;
}

export interface Missing {
  message: string;
  hint: string;
  applies: boolean;
  failed: boolean;
  ranks: number[];
}

/** A table without its rows. */
export interface TableHead {
  description: string;
  computed: boolean;
  missing: Missing[];
  count: number;
}

export interface Table extends Omit<TableHead, "count"> {
  columns: Column[];
  rows: Value[][];
  /** How many rows there are where not all are here. */
  count?: number;
  /** What is shown of long names of kernels. */
  short?: Record<string, string>;
}

export type Tone = "error" | "warning" | "info" | "good" | "plain" | "";

export interface Heading {
  text: string;
  number: boolean;
  rank: number;
  bar: boolean;
}

export interface GridBlock {
  kind: "grid";
  headings: Heading[];
  rows: (string | number)[][];
  caption: string;
  hidden: number;
  table: string;
}

export interface BarsBlock {
  kind: "bars";
  rows: { label: string; total: number; parts: number[]; rank: number | null; step: number | null }[];
}

export interface LineBlock {
  kind: "line";
  text: string;
  detail: string;
  tone: Tone;
}

export interface ItemBlock {
  kind: "item";
  number: number;
  code: string;
  title: string;
  worth: string;
  text: string;
  tone: Tone;
  remedies: { text: string; before: string[]; after: string[] }[];
  inspect: string;
  also: string[];
}

export type Block = GridBlock | BarsBlock | LineBlock | ItemBlock;

export interface Section {
  /** Its title in English, by which the page knows it. */
  name: string;
  title: string;
  aside: string;
  blocks: Block[];
}

/** Rows of a table: those with these values. */
export interface EvidenceRow {
  table: string;
  where: Record<string, Value>;
}

export interface Evidence {
  ranks: number[];
  steps: number[];
  ranges: [number, number][];
  events: number[];
  rows: EvidenceRow[];
  numbers: Record<string, number | string>;
}

export interface Finding {
  code: string;
  name: string;
  family: string;
  severity: string;
  title: string;
  summary: string;
  cost_ns: number | null;
  share: number | null;
  evidence: Evidence;
  actions: { text: string; before: string; after: string; page: string }[];
  shown: boolean;
}

export interface Source {
  source: string;
  reader: string;
  rank: number;
  world_size: number | null;
  host: string | null;
  origin_unix_ns: number | null;
  events: number;
}

/** A number of the head, as it is shown. */
export interface Figure {
  label: string;
  value: string;
  detail: string;
}

export interface Report {
  version: string;
  source: Source[];
  health: { code: string; severity: string; message: string; effect: string; count: number; rank: number | null }[];
  ranks: { rank: number; device: number | null; name: string | null; world_size: number | null }[];
  page: {
    title: string;
    facts: string[];
    figures: Figure[];
    sections: Section[];
  };
  tables: Record<string, TableHead>;
  findings: Finding[];
  /** By rule that found something; older kept reports have none. */
  thresholds?: Record<string, Thresholds>;
  guide: { turns: { at: string; to: string; why: string }[]; end: string; code: string };
}

/** What a rule decided by: unit and reason, by name. */
export type Thresholds = Record<string, { unit: string; why: string }>;

/** A place of the guide. */
export interface GuidePlace {
  key: string;
  title: string;
  symptoms: string[];
  question: string;
  commands: string[];
  turns: [string, string][];
  settings: string[];
  remedies: string[];
  /** What the remedies are called. */
  titles: string[];
}

export interface Progress {
  what: string;
  done: number;
  total: number;
}

/** What is shown of one side of a comparison. */
export interface Side {
  source: string;
  rank: number;
  ranks: number;
  unit: string;
  device: string;
  program: string;
  /** Step, start and end of each compared step, in ns since the origin of the rank's recording. */
  moments: [number, number, number][];
  /** Position of the one whose length is the median. */
  typical: number | null;
}

export type SideName = "base" | "new";

/** The head of a comparison (`stepscope.web.compared.head`); `docs/compare.md` describes the rest. */
export interface ComparisonHead {
  version: string;
  verdict: string;
  step_time: {
    base_ns: number; new_ns: number; diff_ns: number; base_median_ns: number; new_median_ns: number; ratio: number | null;
    ratio_low: number | null; ratio_high: number | null; confidence: number | null; method: string | null; unit: string; reason: string;
  };
  parts: { name: string; base_ns: number; new_ns: number; diff_ns: number }[];
  findings: { change: string }[];
  page: Report["page"];
  sides: Record<SideName, Side>;
  /** Views of *Differences*: the tables that have rows, by what they split. */
  splits: { id: string; title: string; tables: string[] }[];
  tables: Record<string, TableHead>;
}
