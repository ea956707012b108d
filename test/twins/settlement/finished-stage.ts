import { LISTINGS_OF, type Stage } from '../../../src/settlement/model/settlement-machine.js';

/** Whether a claim in this stage is finished for good. */
export function isFinishedStage(stage: Stage): boolean {
  return stage !== 'none' && !LISTINGS_OF[stage].includes('live');
}
