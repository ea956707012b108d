import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  effectsOf,
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

/** The settlement machine for people, as `docs/settlement-states.md` shows it. */
export function settlementStatesPage(): string {
  const rows = STAGES.flatMap((stage) =>
    (Object.keys(TRANSITIONS[stage]) as StageEvent[]).map((event) => {
      const next = nextStage(stage, event) ?? stage;
      const { leaves, enters } = effectsOf(stage, next);
      const lists = [...leaves.map((one) => `-${one}`), ...enters.map((one) => `+${one}`)];
      return `| ${stage} | ${event} | ${next} | ${lists.join(' ')} |`;
    }),
  );
  const stages = STAGES.map(
    (stage) => `| ${stage} | ${stateOf(stage)} | ${LISTINGS_OF[stage].join(', ')} |`,
  );
  return `# What can happen to a settlement

For people who change the engine, and for operators who look up a state. Printed from \`src/settlement/model/settlement-machine.ts\` by \`npm run docs:states\`; a test compares. The Lua
scripts of the ledger are given the same table, and refuse what is not in it.

A **stage** is where a claim stands. People and programs outside the engine see its **state**. The **lists**
are those of Redis in which it is found while it is in that stage.

| stage | state | lists |
|---|---|---|
${stages.join('\n')}

An event that is not listed for a stage cannot happen in it.

| stage | event | next stage | lists left (-) and entered (+) |
|---|---|---|---|
${rows.join('\n')}

## An approval that the operator pays for

Printed from \`src/settlement/model/sponsoring-machine.ts\`, which says what the states and marks are. Its events are those of its
settlement, and two of its own: \`funded\`, and \`turned_away\`, which is \`refused\` for what the operator is short of. An event that is
not listed for a state leaves it there. A settlement that waits for a place is listed as \`sponsored\` in place of \`queued\`.

| state | event | next state | what it leaves behind |
|---|---|---|---|
${sponsoringRows().join('\n')}
`;
}

function sponsoringRows(): string[] {
  return SPONSORING_STATES.flatMap((state) =>
    SPONSORING_EVENTS.flatMap((event) => {
      const cell = sponsoringCell(state, event);
      if (cell === undefined) return [];
      return [`| ${state} | ${event} | ${cell.next} | ${cell.marks.join(', ')} |`];
    }),
  );
}

function stateOf(stage: Stage): string {
  return stage === 'none' ? '' : STATE_OF[stage];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PAGE, settlementStatesPage());
