import {
  effectsOf,
  nextStage,
  type SettlementEvent,
  STAGES,
  TRANSITIONS,
} from '../model/settlement-machine.js';

/**
 * The settlement machine for Lua, as one text that costs nothing to build: `;stage.event=next:lists;`,
 * where the lists are those left (`-`) and entered (`+`).
 */
export function machineLua(): string {
  const cells = STAGES.flatMap((stage) =>
    (Object.keys(TRANSITIONS[stage]) as SettlementEvent[]).map((event) => {
      const next = nextStage(stage, event) ?? stage;
      const { leaves, enters } = effectsOf(stage, next);
      const lists = [
        ...leaves.map((listing) => `-${listing}`),
        ...enters.map((listing) => `+${listing}`),
      ];
      return `${stage}.${event}=${next}:${lists.join('')}`;
    }),
  );
  return `local CELLS = ';${cells.join(';')};'\n`;
}
