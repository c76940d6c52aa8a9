/** Questions to the server, or to the data inside the document. Addresses are relative, so that any prefix works. */

import { embedded } from "./embedded";
import type { ComparisonHead, Progress, Report, Table } from "./types";
import { t } from "../language/t";

/** A sentence for the reader. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly hint = "",
    readonly status = 0,
  ) {
    super(message);
  }
}

const token = new URLSearchParams(location.search).get("token") ?? "";

/** Whether the data is in the document itself, so that nothing else can be asked for. */
export const offline = embedded !== null;

/** The address of the page of one side of a comparison. */
export const sidePage = (side: string, hash: string): string => `${side}/${token ? `?token=${encodeURIComponent(token)}` : ""}${hash}`;

interface Answer {
  status: number;
  json(): Promise<unknown>;
  bytes(): Promise<ArrayBuffer>;
}

interface Kept {
  tag: string;
  body: ArrayBuffer;
}

/** Answers by address, with the tag under which the server knows them. */
const kept = new Map<string, Kept>();
const MOST_KEPT = 200;

function answerOf(status: number, body: ArrayBuffer): Answer {
  return {
    status,
    json: async () => JSON.parse(new TextDecoder().decode(body)),
    bytes: async () => body,
  };
}

async function ask(path: string, options: { signal?: AbortSignal; body?: unknown } = {}): Promise<Answer> {
  if (embedded !== null) {
    const found = embedded(path);
    if (found === null) throw new Refused(t("this file does not hold that"), t("open the recording with `stepscope view`"));
    return answerOf(200, await found);
  }
  const before = kept.get(path);
  const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
  if (before && options.body === undefined) headers["If-None-Match"] = before.tag;
  const init: RequestInit = { headers, signal: options.signal ?? null, cache: "no-store" };
  if (options.body !== undefined) {
    init.method = "POST";
    init.body = JSON.stringify(options.body);
    headers["Content-Type"] = "application/json";
  }
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refused(t("the server does not answer"), t("is `stepscope view` still running?"));
  }
  if (response.status === 304 && before) return answerOf(200, before.body);
  const body = await response.arrayBuffer();
  if (!response.ok) {
    let said: { error?: string; hint?: string } = {};
    try {
      said = JSON.parse(new TextDecoder().decode(body));
    } catch {
      // not one of this program's sentences
    }
    throw new Refused(said.error ?? t("the server answered with status {status}", { status: response.status }), said.hint, response.status);
  }
  const tag = response.headers.get("ETag");
  if (tag && response.status === 200) {
    kept.delete(path);
    kept.set(path, { tag, body });
    const oldest = kept.keys().next().value;
    if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
  }
  return answerOf(response.status, body);
}

/** The JSON at an address such as `api/report`; with a body, what the server answers to it. */
export async function getJson<T>(path: string, options: { signal?: AbortSignal; body?: unknown } = {}): Promise<T> {
  return (await (await ask(path, options)).json()) as T;
}

/** The bytes at an address, such as typed arrays. */
export async function getBytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await ask(path, signal ? { signal } : {})).bytes();
}

/** What is at an address once it is made; meanwhile how far it is. */
export async function getMade<T>(path: string, show: (progress: Progress) => void, signal?: AbortSignal): Promise<T> {
  for (;;) {
    const answer = await ask(path, signal ? { signal } : {});
    const value = await answer.json();
    if (answer.status !== 202) return value as T;
    show((value as { progress: Progress }).progress);
    await new Promise((resolve) => setTimeout(resolve, 200));
    signal?.throwIfAborted();
  }
}

/** The head of the report, or of the comparison. */
export const getReport = (show: (progress: Progress) => void): Promise<Report | ComparisonHead> => getMade("api/report", show);

const tables = new Map<string, Promise<Table>>();

/** A table of the report, fetched on first use. */
export function getTable(name: string): Promise<Table> {
  let found = tables.get(name);
  if (!found) {
    found = getJson<Table>(`api/tables/${encodeURIComponent(name)}`);
    found.catch(() => tables.delete(name));
    tables.set(name, found);
  }
  return found;
}
