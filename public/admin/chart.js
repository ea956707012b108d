/** Totals by day, as lines: one a network and asset. The exact numbers stand in the table below it. */

import uPlot from './uplot.js';

const HEIGHT = 260;
/** Seen on light and on dark: one for each line there may be. */
const COLOURS = ['#3b82c4', '#c2722d', '#2f9e63', '#b0508f', '#8a7a1f', '#6a5acd', '#d0504a'];
let plot;

export function clearChart() {
  plot?.destroy();
  plot = undefined;
}

/** Asked at each drawing: the colours of the page may change beneath it. */
const ink = () => getComputedStyle(document.body).color;

/** Draws into a box that is there and empty. */
export function drawChart(box, { days, lines }) {
  clearChart();
  const axis = { stroke: ink, grid: { stroke: '#8884', width: 1 }, ticks: { stroke: '#8884' } };
  plot = new uPlot(
    {
      width: Math.max(300, box.clientWidth),
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      scales: {
        y: { range: (_, least, most) => [Math.min(0, least), most === 0 ? 1 : most * 1.1] },
      },
      axes: [
        {
          ...axis,
          incrs: [1, 2, 7, 14, 30].map((days) => days * 86_400),
          values: (_, ticks) => ticks.map((at) => new Date(at * 1000).toISOString().slice(5, 10)),
        },
        { ...axis, size: 90 },
      ],
      series: [
        {
          label: 'Day',
          value: (_, at) => (at === null ? '' : new Date(at * 1000).toISOString().slice(0, 10)),
        },
        ...lines.map(({ label }, index) => ({
          label,
          stroke: COLOURS[index % COLOURS.length],
          width: 2,
          points: { show: true, size: 6 },
        })),
      ],
    },
    [days, ...lines.map(({ values }) => values)],
    box,
  );
}

addEventListener('resize', () => {
  const box = plot?.root.parentElement;
  if (box) plot.setSize({ width: Math.max(300, box.clientWidth), height: HEIGHT });
});

globalThis
  .matchMedia('(prefers-color-scheme: dark)')
  .addEventListener('change', () => plot?.redraw());
