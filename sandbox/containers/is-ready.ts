/** The health check of the chain's container: whether the contracts are there. */
import { readDeployment } from './deployment.js';

try {
  await readDeployment('http://127.0.0.1:8545');
} catch {
  process.exit(1);
}
