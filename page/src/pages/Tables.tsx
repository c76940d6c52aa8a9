import { TablePanel } from "../components/TablePanel";
import { coded, Prose } from "../components/Words";
import { whereOf } from "../components/memoryPlace";
import type { Report } from "../data/types";
import { href } from "../shell/router";
import { t } from "../language/t";

/** Every table of the report; `where` in the address, a JSON object, narrows one to the rows of a finding. */
export function Tables({ report, params }: { report: Pick<Report, "tables">; params: URLSearchParams }) {
  const name = params.get("table") ?? "";
  const about = report.tables[name];
  const full = Object.entries(report.tables).filter(([, table]) => table.count > 0);
  const lacking = Object.entries(report.tables).filter(([, table]) => table.missing.some((one) => one.applies));
  if (about) {
    const where = whereOf(params);
    return (
      <>
        <p><a href={href("tables")}>{t("All tables")}</a></p>
        <h1>{name.replaceAll("_", " ")}</h1>
        <Prose text={about.description} />
        {where ? <p><a href={href("tables", { table: name })}>{t("Show all rows")}</a></p> : null}
        {about.missing.map((one) => <p class="aside">{one.message}{t(": ")}{one.hint}</p>)}
        <TablePanel key={name} name={name} {...(where ? { where } : {})} />
      </>
    );
  }
  return (
    <>
      <h1>{t("All tables")}</h1>
      <dl class="catalogue">
        {full.map(([key, table]) => [
          <dt><a href={href("tables", { table: key })}>{key.replaceAll("_", " ")}</a> <span class="aside">{table.count.toLocaleString("en-US")}</span></dt>,
          <dd>{coded(table.description)}</dd>,
        ])}
      </dl>
      {lacking.length ? <h2>{t("What this recording lacks")}</h2> : null}
      <dl class="catalogue">
        {lacking.map(([key, table]) => [<dt>{key.replaceAll("_", " ")}</dt>, <dd>{table.missing.map((one) => `${one.message}: ${one.hint}`).join("; ")}</dd>])}
      </dl>
    </>
  );
}
