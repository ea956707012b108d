/** The shop of the sandbox in a container: the stock middleware alone. */
import { SELLER } from '../accounts.js';
import { demoSeller, listen } from '../seller.js';
import { readDeployment, required } from './deployment.js';

const server = await listen(
  demoSeller({
    facilitatorUrl: required('FACILITATOR_URL'),
    network: 'eip155:31337',
    payTo: SELLER.address,
    ...(await readDeployment(required('RPC_URL'))),
  }),
  4021,
  '0.0.0.0',
);
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
}
console.log('The shop is open: /report costs 0.10 SUSD.');
