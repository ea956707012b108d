import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { type McpSettings, readMcpSettings } from '../../platform/config/mcp-settings.js';
import { letAgentIn } from './device-login.js';
import { RemoteWalletTools } from './remote-wallet-tools.js';
import { walletServer } from './wallet-server.js';

/**
 * The wallet's tools over standard input and output, for clients that start their servers themselves:
 *
 *   npm run --silent mcp
 *   npm run --silent mcp login     gets a token by the owner's approval
 *
 * It holds no key and no rules: it calls a running service with the agent's token. Standard output belongs to the
 * protocol.
 */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

async function login({ url, tokenFile }: McpSettings): Promise<number> {
  if (tokenFile === undefined) {
    say('Set X402_WALLET_TOKEN_FILE: the login writes the token to this file.');
    return 1;
  }
  try {
    const isIn = await letAgentIn(url, tokenFile, say);
    say(
      isIn
        ? 'The owner approved; the token is in X402_WALLET_TOKEN_FILE.'
        : 'The owner did not approve in time. Run the login again.',
    );
    return isIn ? 0 : 1;
  } catch (error) {
    say(
      `The login failed: the wallet service did not answer, or the token file could not be written (${nameOf(error)}).`,
    );
    return 1;
  }
}

function serve(settings: McpSettings): void {
  const refusing = {
    publicUrl: settings.url,
    onFailure: (error: unknown): void => {
      say(`A tool failed: ${nameOf(error)}`);
    },
  };
  serveStdio(() => walletServer(new RemoteWalletTools(settings), refusing), {
    onerror: (error) => {
      // The text of the error may quote the client.
      say(`A message could not be processed: ${nameOf(error)}`);
    },
  });
}

const read = readMcpSettings();
if (!read.ok) {
  say(`The settings are not usable:\n${read.problem}`);
  process.exit(1);
}
if (process.argv[2] === 'login') process.exit(await login(read.settings));
serve(read.settings);
