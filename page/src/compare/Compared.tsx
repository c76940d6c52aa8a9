import { offline, sidePage } from "../data/client";
import type { ComparisonHead } from "../data/types";
import { Tables } from "../pages/Tables";
import { Frame, type FramedPage } from "../shell/Frame";
import { has } from "../components/TablePanel";
import { Compare } from "./Compare";
import { Differences } from "./Differences";
import { TreePage } from "./TreePage";
import { word, t } from "../language/t";

interface ComparedPage extends FramedPage<ComparisonHead> {
  available: (report: ComparisonHead) => boolean;
}

const GROUPS = [word("Comparison"), word("Data")] as const;
const PAGES: readonly ComparedPage[] = [
  { id: "compare", title: t("Compare"), group: "Comparison", available: () => true, component: Compare },
  { id: "tree", title: t("Call tree"), group: "Comparison", available: (report) => has(report, "compute_calls"), component: TreePage },
  { id: "differences", title: t("Differences"), group: "Comparison", available: (report) => report.splits.length > 0, component: Differences },
  { id: "tables", title: t("All tables"), group: "Data", available: () => true, component: Tables },
];

/** Two recordings side by side; the page of either is below that of the comparison. */
export function Compared({ report }: { report: ComparisonHead }) {
  return (
    <Frame
      report={report} title={report.page.title} version={report.version} groups={GROUPS} pages={PAGES.filter((page) => page.available(report))}
      beside={offline ? null : (
        <div>
          <h2>{t("Recordings")}</h2>
          <ul>
            <li><a href={sidePage("base", "")}>{t("Base")}</a></li>
            <li><a href={sidePage("new", "")}>{t("New")}</a></li>
          </ul>
        </div>
      )}
    />
  );
}
