/** Without its middle, where room on an axis is short; the table has the whole name. */
export function shortened(name, most = 28) {
  if (name.length <= most) return name;
  const behind = Math.floor((most - 1) / 2);
  return `${name.slice(0, most - 1 - behind)}…${name.slice(-behind)}`;
}

/** Ticks of a logarithmic axis: 1, 2 and 5 times powers of ten, or those alone where there would be more than `most`. */
export function logTicks(low, high, most = 11) {
  const digits = 3 * Math.log10(high / low) <= most ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; ++power)
    for (const digit of digits) ticks.push(Number((digit * 10 ** power).toPrecision(1)));
  return ticks.filter((tick) => tick >= low && tick <= high);
}

/** What the ticks of an axis say: rounded, with more digits where that says the same of two of them. */
export function tickTexts(ticks) {
  const shown = ticks.filter((tick) => tick !== null);
  const areApart = (say) => new Set(shown.map(say)).size === shown.length;
  let say = rounded;
  for (let digits = 5; digits <= 15 && !areApart(say); ++digits) say = (tick) => String(Number(tick.toPrecision(digits)));
  return ticks.map((tick) => (tick === null ? "" : say(tick)));
}

/** Four significant digits, as the tables have them. */
export function rounded(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e15) return String(Math.round(value));
  const short = Number(value.toPrecision(4));
  return Math.abs(short) > 0 && Math.abs(short) < 1e-4 ? short.toExponential() : String(short);
}
