import { loadJointScript, loadScript } from './script-files.js';

/** The scripts that an API process runs in Redis, by name. */
export const REQUESTER_SCRIPTS = {
  look: loadJointScript('look'),
  claim: loadJointScript('claim'),
  join: loadJointScript('join'),
  redeem: loadJointScript('redeem'),
  rollBack: loadScript('roll_back'),
  leave: loadScript('leave'),
  replaySale: loadScript('replay_sale'),
  replayWithdrawal: loadScript('replay_withdrawal'),
  heartbeat: loadScript('heartbeat'),
  depart: loadScript('depart'),
  adopt: loadScript('adopt'),
  bind: loadScript('bind_key'),
  takeOver: loadScript('rebind_key'),
  unbind: loadScript('unbind_key'),
  label: loadScript('label_claim'),
};
