/** What happened to one settlement, oldest first: in the ledger, to webhooks, by operators. */

const STEPS = {
  arrived: 'Request received',
  claimed: 'Accepted into the ledger',
  allocated: 'Transaction signed',
  included: 'Included in a block',
  finished: 'Finished',
};

const detailOf = (parts) => parts.filter((part) => part !== undefined && part !== '').join(' · ');

export function stepsOf({ settlement, history }) {
  const { events = [], actions = [], row: noted } = history;
  const steps = [
    ...Object.entries(settlement.times ?? {}).map(([name, at]) => ({
      at,
      what: STEPS[name] ?? name,
      detail: '',
    })),
    ...(noted === undefined
      ? []
      : [{ at: noted.archivedAt, what: 'Written to the history', detail: '' }]),
    ...events.flatMap(({ type, happenedAt, deliveries }) => [
      { at: happenedAt, what: `Event ${type}`, detail: '' },
      ...deliveries
        .filter(({ triedAt }) => triedAt !== undefined)
        .map((one) => ({
          at: one.triedAt,
          what: `Webhook ${type}: ${one.state} after ${one.attempts} ${one.attempts === 1 ? 'attempt' : 'attempts'}`,
          detail: detailOf([one.owner, one.url, one.status, one.problem, one.answer]),
        })),
    ]),
    ...actions.map(({ at, by, action, subject }) => ({
      at,
      what: `Operator: ${action}`,
      detail: detailOf([by, subject]),
    })),
  ];
  return steps.sort((a, b) => a.at.localeCompare(b.at));
}
