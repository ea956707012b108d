import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { readMcpSettings } from '../../config/mcp-settings.js';
import { RemoteDesk } from './remote-desk.js';
import { walletServer } from './wallet-server.js';

/**
 * `npm run --silent mcp`: the tools over standard input and output, for clients that start their servers
 * themselves. It holds no key and no rules: it asks a running service with the agent's token.
 */
const read = readMcpSettings();
if (!read.ok) {
  process.stderr.write(`The settings are not usable:\n${read.problem}\n`);
  process.exit(1);
}
const { settings } = read;
const refusing = {
  publicUrl: settings.url,
  onFailure: (error: unknown): void => {
    process.stderr.write(`A tool failed: ${error instanceof Error ? error.name : typeof error}\n`);
  },
};
serveStdio(() => walletServer(new RemoteDesk(settings), refusing), {
  onerror: ({ name }) => {
    // Its text may quote what the client sent.
    process.stderr.write(`A message could not be served: ${name}\n`);
  },
});
