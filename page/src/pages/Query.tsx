import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { DataTable } from "../components/DataTable";
import { Failure } from "../components/Failure";
import { useAnswer } from "../components/useAnswer";
import { getJson, Refused } from "../data/client";
import type { Column, Table } from "../data/types";
import { keep } from "../shell/router";
import type { PageProps } from "./registry";
import { t } from "../language/t";

const FIRST = "SELECT name, count(*) AS count, sum(dur) AS total_ns\nFROM kernels\nGROUP BY name\nORDER BY total_ns DESC\nLIMIT 20";

/** SQL over the canonical tables, with what they hold beside it. */
export function Query({ params }: PageProps) {
  const id = useId();
  const sql = useSignal(params.get("sql") ?? FIRST);
  const result = useSignal<(Table & { more: boolean; seconds: number }) | null>(null);
  const error = useSignal<Refused | null>(null);
  const running = useSignal(false);
  const run = () => {
    running.value = true;
    error.value = null;
    keep("sql", { sql: sql.value });
    getJson<Table & { more: boolean; seconds: number }>("api/query", { body: { sql: sql.value } })
      .then(
        (found) => (result.value = found),
        (problem) => (error.value = problem instanceof Refused ? problem : new Refused(String(problem))),
      )
      .finally(() => (running.value = false));
  };
  return (
    <>
      <h1>SQL</h1>
      <div class="query">
        <div>
          <label for={id}>{t("One SELECT over the tables of the recording, in DuckDB's dialect; times are ns.")}</label>
          <textarea id={id} rows={9} spellcheck={false} value={sql.value} onInput={(event) => (sql.value = event.currentTarget.value)}
            onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(); }} />
          <p><button type="button" class="main" disabled={running.value} onClick={run}>{running.value ? t("Running") : t("Run")}</button> <span class="aside">Ctrl+Enter</span></p>
          {error.value ? <Failure error={error.value} /> : null}
          {result.value ? (
            <>
              <p class="aside">{result.value.seconds.toFixed(2)} s{result.value.more ? t("; there are more than these {rows} rows: stepscope query gives all", { rows: result.value.rows.length.toLocaleString("en-US") }) : ""}</p>
              <DataTable key={result.value} name="result" table={result.value} />
            </>
          ) : null}
        </div>
        <Schema insert={(name) => (sql.value = `${sql.value.trimEnd()} ${name}`)} />
      </div>
    </>
  );
}

function Schema({ insert }: { insert: (name: string) => void }) {
  const { found } = useAnswer<{ tables: { name: string; description: string; columns: Column[] }[] }>("api/schema");
  return (
    <aside aria-label={t("Tables")}>
      <h2>{t("Tables")}</h2>
      {found?.tables.map((table) => (
        <details>
          <summary title={table.description}>{table.name}</summary>
          <p class="aside">{table.description}</p>
          <ul>
            {table.columns.map((column) => (
              <li><button type="button" title={column.description} onClick={() => insert(column.name)}>{column.name}</button> <small>{column.type}</small></li>
            ))}
          </ul>
        </details>
      ))}
    </aside>
  );
}
