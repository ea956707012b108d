/** The chain of the sandbox in a container: anvil with the contracts, two tokens, and money for the payer. */
import { createServer } from 'node:http';
import { DEPLOYER, PAYER } from '../accounts.js';
import { startAnvil } from '../anvil.js';
import { deploySandbox, sandboxClient } from '../deploy.js';
import { mint } from '../tokens.js';
import { DEPLOYMENT_PORT } from './deployment.js';

/** 1000 of each token. */
const ENDOWMENT = 1000n * 10n ** 18n;

let stop = (): Promise<void> => Promise.resolve();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => void stop().finally(() => process.exit(0)));
}

const anvil = await startAnvil({ port: 8545, chainId: 31_337, blockTime: 0.45, host: '0.0.0.0' });
stop = () => anvil.stop();
anvil.child.on('exit', () => process.exit(1));
const rpcUrl = 'http://127.0.0.1:8545';
const deployment = await deploySandbox(rpcUrl);
const client = sandboxClient(rpcUrl, DEPLOYER.key);
for (const token of [deployment.usd, deployment.coin]) {
  await mint(client, token, PAYER.address, ENDOWMENT);
}
createServer((_request, response) => {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(deployment));
}).listen(DEPLOYMENT_PORT, '0.0.0.0');
console.log(`The chain is ready: SUSD ${deployment.usd}, SCOIN ${deployment.coin}.`);
