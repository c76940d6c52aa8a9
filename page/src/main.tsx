import "uplot/dist/uPlot.min.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/parts.css";
import "./styles/charts.css";
import { render } from "preact";
import { followChoices } from "./shell/choices";
import { Shell } from "./shell/Shell";
import { followTheme } from "./shell/theme";

followTheme();
followChoices();
const root = document.getElementById("page");
if (root) {
  root.replaceChildren();
  render(<Shell />, root);
}
