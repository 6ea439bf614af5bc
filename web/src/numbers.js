/** Room on an axis is short; the table has the whole name. */
export const shortened = (name, most = 28) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

/** Four significant digits, as the tables have them. */
export function rounded(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e15) return String(Math.round(value));
  const short = Number(value.toPrecision(4));
  return Math.abs(short) > 0 && Math.abs(short) < 1e-4 ? short.toExponential() : String(short);
}
