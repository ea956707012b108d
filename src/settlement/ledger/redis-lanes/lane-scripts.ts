import { loadScript } from '../script-files.js';

/** What a worker runs in Redis, by name. */
export const LANE_SCRIPTS = {
  acquire: loadScript('acquire'),
  renew: loadScript('renew'),
  release: loadScript('release_lane'),
  orphans: loadScript('orphans'),
  open: loadScript('open_lane'),
  setNext: loadScript('set_next'),
  restoreAttempts: loadScript('restore_attempts'),
  ready: loadScript('ready'),
  overdue: loadScript('overdue'),
  sweep: loadScript('sweep'),
  take: loadScript('take'),
  giveBack: loadScript('give_back'),
  allocate: loadScript('allocate'),
  fillGap: loadScript('fill_gap'),
  replace: loadScript('replace'),
  closeAttempt: loadScript('close_attempt'),
  include: loadScript('include'),
  uninclude: loadScript('uninclude'),
  finish: loadScript('finish'),
  requeue: loadScript('requeue'),
  refuse: loadScript('refuse'),
  park: loadScript('park'),
  dueParked: loadScript('due_parked'),
  unpark: loadScript('unpark'),
};
