// What the style sheet says about colors, read anew for each drawing: the reader may have changed the theme.

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const kSeriesColors = 8;
const kDashes = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

export const ink = () => variable("--ink");
export const faint = () => variable("--faint");
export const grid = () => variable("--grid");
export const line = () => variable("--line");
export const soft = () => variable("--soft");
export const page = () => variable("--page");
export const sans = () => variable("--sans");
export const font = (size = 12) => `${size}px ${variable("--sans")}`;

export const seriesColor = (number) => variable(`--series-${number % kSeriesColors}`);

/** Neighbours in the legend differ by more than color. */
export const seriesDash = (number) => kDashes[Math.floor(number / 2) % kDashes.length];

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** A function from 0..1 to [red, green, blue]. */
export function heatScale() {
  const stops = variable("--heat").split(/\s+/).map(channels);
  return (share) => {
    const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
    const below = Math.min(Math.floor(at), stops.length - 2);
    return stops[below].map((c, i) => Math.round(c + (at - below) * (stops[below + 1][i] - c)));
  };
}
