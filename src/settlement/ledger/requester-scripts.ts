import { loadScript } from './script-files.js';

/** What an API process runs in Redis, by name. */
export const REQUESTER_SCRIPTS = {
  look: loadScript('look'),
  claim: loadScript('claim'),
  join: loadScript('join'),
  redeem: loadScript('redeem'),
  rollBack: loadScript('take_back'),
  leave: loadScript('leave'),
  replaySale: loadScript('restate_sale'),
  replayWithdrawal: loadScript('restate_withdrawal'),
  speak: loadScript('speak'),
  adopt: loadScript('adopt'),
  bind: loadScript('bind_key'),
  takeOver: loadScript('rebind_key'),
  unbind: loadScript('unbind_key'),
  label: loadScript('label_claim'),
};
