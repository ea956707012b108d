import type { Cell, Contestant } from './comparison.js';

/** One panel: values over concurrency, both axes logarithmic. */
interface Panel {
  readonly title: string;
  readonly valueOf: (cell: Cell) => number;
  readonly left: number;
}

const WIDTH = 900;
const HEIGHT = 360;
const PLOT = { top: 60, width: 330, height: 230 };
const COLOURS: Readonly<Record<Contestant, string>> = { ours: '#0b6e4f', reference: '#b5651d' };
const NAMES: Readonly<Record<Contestant, string>> = {
  ours: 'this service',
  reference: 'reference facilitator',
};

/**
 * Throughput and p99 over concurrency, this service and the reference, as an SVG document.
 *
 * @param cells - of one kind of payment.
 */
export function chartOf(title: string, cells: readonly Cell[]): string {
  const panels: readonly Panel[] = [
    { title: 'payments a second', valueOf: ({ perSecond }) => perSecond.median, left: 70 },
    { title: 'p99 in milliseconds', valueOf: ({ p99 }) => p99, left: 520 },
  ];
  const legend = (['ours', 'reference'] as const)
    .map((who, index) => {
      const x = 70 + index * 150;
      return `<rect x="${x}" y="${HEIGHT - 22}" width="12" height="12" fill="${COLOURS[who]}"/><text x="${x + 18}" y="${HEIGHT - 12}">${NAMES[who]}</text>`;
    })
    .join('');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#222">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="70" y="24" font-size="15" font-weight="bold">${title}</text>`,
    ...panels.map((panel) => drawPanel(panel, cells)),
    legend,
    '</svg>',
    '',
  ].join('\n');
}

function drawPanel({ title, valueOf, left }: Panel, cells: readonly Cell[]): string {
  const levels = [...new Set(cells.map(({ concurrency }) => concurrency))].sort((a, b) => a - b);
  const decades = decadesAround(cells.map(valueOf));
  const [lowest, highest] = [decades[0] ?? 1, decades.at(-1) ?? 10];
  const x = scale(levels[0] ?? 1, levels.at(-1) ?? 1, left, left + PLOT.width);
  const y = scale(lowest, highest, PLOT.top + PLOT.height, PLOT.top);
  const grid = decades.map(
    (value) =>
      `<line x1="${left}" x2="${left + PLOT.width}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/><text x="${left - 6}" y="${y(value) + 4}" text-anchor="end">${value}</text>`,
  );
  const ticks = levels.map(
    (level) =>
      `<text x="${x(level)}" y="${PLOT.top + PLOT.height + 18}" text-anchor="middle">${level}</text>`,
  );
  const lines = (['ours', 'reference'] as const).map((who) => {
    const own = cells.filter(({ contestant }) => contestant === who);
    const points = own.map(
      (cell) => [x(cell.concurrency), y(valueOf(cell)), valueOf(cell)] as const,
    );
    const path = points.map(([px, py]) => `${px},${py}`).join(' ');
    const dots = points.map(
      ([px, py, value]) =>
        `<circle cx="${px}" cy="${py}" r="3.5" fill="${COLOURS[who]}"/><text x="${px}" y="${py - 8}" text-anchor="middle" font-size="10" fill="${COLOURS[who]}">${value.toFixed(value < 10 ? 1 : 0)}</text>`,
    );
    return `<polyline points="${path}" fill="none" stroke="${COLOURS[who]}" stroke-width="2"/>${dots.join('')}`;
  });
  const caption = `<text x="${left}" y="${PLOT.top - 16}">${title}</text><text x="${left + PLOT.width / 2}" y="${PLOT.top + PLOT.height + 36}" text-anchor="middle">requests at once</text>`;
  return [caption, ...grid, ...ticks, ...lines].join('\n');
}

/** Powers of ten from below the least to above the largest. */
function decadesAround(values: readonly number[]): number[] {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.ceil(Math.log10(Math.max(...values)));
  return Array.from({ length: Math.max(1, to - from) + 1 }, (_, index) => 10 ** (from + index));
}

function scale(from: number, to: number, start: number, end: number): (value: number) => number {
  const span = Math.log(to / from);
  return (value) => Math.round((start + (Math.log(value / from) / span) * (end - start)) * 10) / 10;
}

/** One line of a curve. */
interface Curve {
  readonly name: string;
  readonly colour: string;
  readonly isDashed?: boolean;
  readonly points: readonly (readonly [x: number, y: number])[];
}

interface Axis {
  readonly title: string;
  /** The label of a line of the grid. */
  readonly label: (value: number) => string;
}

const CURVE = { left: 80, top: 50, width: 780, height: 230 };
const GRID_LINES = 5;

/** Lines over linear axes that both begin at zero, as an SVG document. */
export function curvesOf(
  title: string,
  { x: xAxis, y: yAxis }: { readonly x: Axis; readonly y: Axis },
  curves: readonly Curve[],
): string {
  const points = curves.flatMap((curve) => curve.points);
  const xMost = Math.max(...points.map(([x]) => x));
  const yStep = roundStep(Math.max(...points.map(([, y]) => y)) / GRID_LINES);
  const xStep = roundStep(xMost / GRID_LINES);
  const yMost = Math.ceil(Math.max(...points.map(([, y]) => y)) / yStep) * yStep;
  const { left, top, width, height } = CURVE;
  const at = (value: number, most: number, length: number): number =>
    Math.round((value / most) * length * 10) / 10;
  const x = (value: number): number => left + at(value, xMost, width);
  const y = (value: number): number => top + height - at(value, yMost, height);
  const rows = stepsTo(yMost, yStep).map(
    (value) =>
      `<line x1="${left}" x2="${left + width}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/><text x="${left - 6}" y="${y(value) + 4}" text-anchor="end">${yAxis.label(value)}</text>`,
  );
  const ticks = stepsTo(xMost, xStep).map(
    (value) =>
      `<text x="${x(value)}" y="${top + height + 18}" text-anchor="middle">${xAxis.label(value)}</text>`,
  );
  const lines = curves.map(({ points: own, colour, isDashed = false }) => {
    const path = own.map((point) => `${x(point[0])},${y(point[1])}`).join(' ');
    const dashes = isDashed ? ' stroke-dasharray="6 5"' : '';
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"${dashes}/>`;
  });
  const legend = curves.map(({ name, colour }, index) => {
    const from = left + index * 390;
    return `<rect x="${from}" y="${HEIGHT - 22}" width="12" height="12" fill="${colour}"/><text x="${from + 18}" y="${HEIGHT - 12}">${name}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#222">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${left}" y="24" font-size="15" font-weight="bold">${title}</text>`,
    `<text x="${left}" y="${top - 10}">${yAxis.title}</text>`,
    `<text x="${left + width / 2}" y="${top + height + 36}" text-anchor="middle">${xAxis.title}</text>`,
    ...rows,
    ...ticks,
    ...lines,
    ...legend,
    '</svg>',
    '',
  ].join('\n');
}

/** The next of 1, 2 and 5 times a power of ten. */
function roundStep(least: number): number {
  if (!(least > 0)) return 1;
  const decade = 10 ** Math.floor(Math.log10(least));
  return decade * ([1, 2, 5, 10].find((one) => one * decade >= least) ?? 10);
}

function stepsTo(most: number, step: number): number[] {
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, index) => index * step);
}
