import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export const GENERATIONS = ['2026-07-28', '2025-11-25'] as const;
type Generation = (typeof GENERATIONS)[number];
export const TRANSPORTS = ['HTTP', 'stdio'] as const;

export interface ToolResult {
  readonly isError: boolean;
  readonly data: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Contents that are neither text nor data. */
  readonly pictures: readonly object[];
}

interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
  readonly annotations?: object | undefined;
}

interface ListedResources {
  readonly resources: readonly { readonly uri: string; readonly name: string }[];
  readonly nextCursor?: string | undefined;
}

/** An official client that is connected, whichever its generation. */
export interface McpAgent {
  readonly protocol: string | undefined;
  tools(): Promise<readonly ListedTool[]>;
  call(name: string, given?: Record<string, unknown>): Promise<ToolResult>;
  resources(cursor?: string): Promise<ListedResources>;
  /** @returns the contents; rejects where the protocol answers an error. */
  read(uri: string): Promise<readonly object[]>;
  close(): Promise<void>;
}

/** Everything that came back to any of them, as it was on the wire; for what must not be in it. */
export const heard: string[] = [];

export const STDIO = fileURLToPath(new URL('../../dist/wallet/mcp/stdio.js', import.meta.url));
const INFO = { name: 'test', version: '1' };

async function listeningFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  heard.push(JSON.stringify([...response.headers]), await response.clone().text());
  return response;
}

/** A client of one generation that asks a service over HTTP, or the local process that asks it. */
export async function mcpAgent(
  generation: Generation,
  transport: (typeof TRANSPORTS)[number],
  serviceUrl: string,
  token: string,
): Promise<McpAgent> {
  const url = new URL(`${serviceUrl}/mcp`);
  const http = {
    fetch: listeningFetch,
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  };
  const program = {
    command: process.execPath,
    args: [STDIO],
    env: { X402_WALLET_URL: serviceUrl, X402_WALLET_TOKEN: token },
    stderr: 'pipe' as const,
  };
  if (generation === '2026-07-28') {
    const client = new Client(INFO, { versionNegotiation: { mode: { pin: generation } } });
    if (transport === 'HTTP') await client.connect(new StreamableHTTPClientTransport(url, http));
    else {
      const channel = new StdioClientTransport(program);
      channel.stderr?.on('data', (chunk: Buffer) => heard.push(chunk.toString()));
      await client.connect(channel);
    }
    return {
      protocol: client.getNegotiatedProtocolVersion(),
      tools: async () => (await client.listTools()).tools,
      call: async (name, given = {}) => resultOf(await client.callTool({ name, arguments: given })),
      ...resourcesOf(client),
      close: () => client.close(),
    };
  }
  const client = new OldClient(INFO);
  let protocol: string | undefined = generation;
  if (transport === 'HTTP') {
    const channel = new OldHttp(url, http);
    await client.connect(channel);
    protocol = channel.protocolVersion;
  } else {
    const channel = new OldStdio(program);
    channel.stderr?.on('data', (chunk: Buffer) => heard.push(chunk.toString()));
    await client.connect(channel);
  }
  return {
    protocol,
    tools: async () => (await client.listTools()).tools,
    call: async (name, given = {}) => resultOf(await client.callTool({ name, arguments: given })),
    ...resourcesOf(client),
    close: () => client.close(),
  };
}

/** The same words in both generations. */
function resourcesOf(client: Client | OldClient): Pick<McpAgent, 'resources' | 'read'> {
  return {
    resources: (cursor) => client.listResources(cursor === undefined ? {} : { cursor }),
    read: async (uri) => (await client.readResource({ uri })).contents,
  };
}

function resultOf(result: Readonly<Record<string, unknown>>): ToolResult {
  const [first, ...pictures] = result['content'] as readonly { readonly text?: string }[];
  const text = first?.text ?? '';
  heard.push(JSON.stringify(result));
  return {
    isError: result['isError'] === true,
    data: (result['structuredContent'] ?? {}) as ToolResult['data'],
    text,
    pictures,
  };
}
