import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  LISTINGS_OF,
  nextStage,
  type Stage,
  type StageEvent,
  STAGES,
  STATE_OF,
  TRANSITIONS,
} from '../../src/settlement/model/settlement-machine.js';
import {
  SPONSORING_EVENTS,
  SPONSORING_STATES,
  sponsoringCell,
} from '../../src/settlement/model/sponsoring-machine.js';

export const PAGE = fileURLToPath(new URL('../../docs/settlement-states.md', import.meta.url));

/** Transitions that differ in their first value alone, in one row. */
function rowsOf(transitions: readonly (readonly [first: string, ...cells: string[]])[]): string[] {
  const rows = new Map<string, string[]>();
  for (const [first, ...cells] of transitions) {
    const key = cells.join(' | ');
    rows.set(key, [...(rows.get(key) ?? []), first]);
  }
  return [...rows].map(([cells, firsts]) => `| ${firsts.join(', ')} | ${cells} |`);
}

/** The settlement machine for people, as `docs/settlement-states.md` shows it. */
export function settlementStatesPage(): string {
  const rows = rowsOf(
    STAGES.flatMap((stage) =>
      (Object.keys(TRANSITIONS[stage]) as StageEvent[]).map(
        (event) => [stage, event, nextStage(stage, event) ?? stage] as const,
      ),
    ),
  );
  const stages = STAGES.map(
    (stage) => `| ${stage} | ${stateOf(stage)} | ${LISTINGS_OF[stage].join(', ')} |`,
  );
  return `# What can happen to a settlement

For people who change the engine, and for operators who look up a state. \`npm run docs:states\` prints it from \`src/settlement/model/settlement-machine.ts\`, and a test compares. The
Lua scripts of the ledger have the same table and refuse other events.

A **stage** is where a claim stands. People and programs outside the engine see its **state**. The **lists** are those of Redis that hold it in that stage.

| stage | state | lists |
|---|---|---|
${stages.join('\n')}

These transitions and no others are possible:

| from | event | to |
|---|---|---|
${rows.join('\n')}

## An approval that the operator pays for

From \`src/settlement/model/sponsoring-machine.ts\`, which explains states and marks. Its events are those of its settlement, \`funded\`, and \`turned_away\`: \`refused\` for what the operator
is short of. Another event leaves the state. A settlement that waits for a place is listed as \`sponsored\` in place of \`queued\`.

| event | from | to | marks left behind |
|---|---|---|---|
${sponsoringRows().join('\n')}
`;
}

function sponsoringRows(): string[] {
  return rowsOf(
    SPONSORING_STATES.flatMap((state) =>
      SPONSORING_EVENTS.flatMap((event) => {
        const cell = sponsoringCell(state, event);
        return cell === undefined
          ? []
          : [[event, state, cell.next, cell.marks.join(', ')] as const];
      }),
    ),
  );
}

function stateOf(stage: Stage): string {
  return stage === 'none' ? '' : STATE_OF[stage];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PAGE, settlementStatesPage());
